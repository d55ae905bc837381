/** Cases about RBAC: an administrator grants permissions to a user, who then sends requests. */
import type { Random } from '../../helpers/random.ts';
import type { JsonObject } from '../same-answers/api.ts';
import type { ParityCase, RequestStep } from './case.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const GROUP = 'rbac.authorization.k8s.io';
const CORE = '/api/v1/namespaces/NS';
const MERGE = 'application/merge-patch+json';

/** The rules of a Role, beside the marker by which the case sees that the Role is in effect. */
const RULES: readonly JsonObject[] = [
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['*'] },
  { apiGroups: [''], resources: ['pods/log', 'pods/status'], verbs: ['get', 'patch'] },
  { apiGroups: [''], resources: ['*/status'], verbs: ['get', 'patch', 'update'] },
  { apiGroups: [''], resources: ['*'], verbs: ['get'] },
  { apiGroups: ['*'], resources: ['configmaps'], verbs: ['get', 'list', 'create', 'delete'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'], verbs: ['*'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['deletecollection'] },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'create', 'patch'] },
  { apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['get', 'update', 'patch'] },
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
  { apiGroups: [''], resources: ['pods/eviction', 'pods/binding'], verbs: ['create'] },
  { apiGroups: [GROUP], resources: ['roles', 'rolebindings'], verbs: ['create', 'patch', 'get'] },
  { apiGroups: [GROUP], resources: ['roles'], verbs: ['create', 'escalate', 'patch'] },
  { apiGroups: [GROUP], resources: ['roles', 'rolebindings'], verbs: ['create', 'bind'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list'] },
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['localsubjectaccessreviews'],
    verbs: ['create'],
  },
];

/** Rules that only a ClusterRole may grant. */
const CLUSTER_RULES: readonly JsonObject[] = [
  ...RULES,
  { nonResourceURLs: ['/metrics'], verbs: ['get'] },
  { nonResourceURLs: ['/nothing/*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['get'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
  { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] },
  { apiGroups: [''], resources: ['users'], resourceNames: ['other'], verbs: ['impersonate'] },
  { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] },
  { apiGroups: ['authentication.k8s.io'], resources: ['*'], verbs: ['impersonate:user-info'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  { apiGroups: [GROUP], resources: ['clusterroles', 'clusterrolebindings'], verbs: ['create'] },
];

const MARKER: JsonObject = {
  apiGroups: ['example.com'],
  resources: ['markers'],
  verbs: ['get'],
};

const pod = (name: string): JsonObject => ({
  metadata: { name },
  spec: { containers: [{ name: 'web', image: 'i' }] },
});
const role = (name: string, rules: readonly JsonObject[]): JsonObject => ({
  metadata: { name },
  rules: rules as JsonObject[],
});
const binding = (name: string, kind: string, of: string, subject: JsonObject): JsonObject => ({
  metadata: { name },
  roleRef: { apiGroup: GROUP, kind, name: of },
  subjects: [subject],
});
const other: JsonObject = { kind: 'User', apiGroup: GROUP, name: 'other' };

const access = (attributes: JsonObject, more: JsonObject = {}): JsonObject => ({
  spec: { ...more, resourceAttributes: attributes },
});
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';

/** The requests of the user; the objects `a` exist. */
const REQUESTS: readonly RequestStep[] = [
  { method: 'GET', path: `${CORE}/pods/a` },
  { method: 'GET', path: `${CORE}/pods/b` },
  { method: 'GET', path: `${CORE}/pods` },
  { method: 'GET', path: '/api/v1/pods?labelSelector=in%3DNS' },
  { method: 'GET', path: `${CORE}/pods/a/log` },
  { method: 'GET', path: `${CORE}/pods/a/status` },
  { method: 'PATCH', path: `${CORE}/pods/a/status`, body: {}, type: MERGE },
  {
    method: 'PATCH',
    path: `${CORE}/pods/a`,
    body: { metadata: { labels: { a: 'b' } } },
    type: MERGE,
  },
  { method: 'POST', path: `${CORE}/pods`, body: pod('b') },
  { method: 'POST', path: `${CORE}/pods/a/eviction`, body: { metadata: { name: 'a' } } },
  {
    method: 'POST',
    path: `${CORE}/pods/a/binding`,
    body: { metadata: { name: 'a' }, target: { kind: 'Node', name: 'n' } },
  },
  { method: 'DELETE', path: `${CORE}/pods/a?gracePeriodSeconds=0` },
  { method: 'GET', path: `${CORE}/configmaps/a` },
  { method: 'GET', path: `${CORE}/configmaps/b` },
  { method: 'GET', path: `${CORE}/configmaps` },
  { method: 'GET', path: `${CORE}/configmaps?fieldSelector=metadata.name%3Da` },
  { method: 'GET', path: `${CORE}/configmaps?fieldSelector=metadata.name%3Db` },
  { method: 'POST', path: `${CORE}/configmaps`, body: { metadata: { name: 'b' } } },
  { method: 'PUT', path: `${CORE}/configmaps/a`, body: { metadata: { name: 'a' } } },
  { method: 'PUT', path: `${CORE}/configmaps/c`, body: { metadata: { name: 'c' } } },
  { method: 'PATCH', path: `${CORE}/configmaps/a`, body: { data: { a: 'b' } }, type: MERGE },
  {
    method: 'PATCH',
    path: `${CORE}/configmaps/d?fieldManager=m`,
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'd' } },
    type: 'application/apply-patch+yaml',
  },
  { method: 'DELETE', path: `${CORE}/configmaps/a` },
  { method: 'DELETE', path: `${CORE}/configmaps` },
  { method: 'GET', path: `${CORE}/secrets` },
  { method: 'GET', path: '/apis/apps/v1/namespaces/NS/deployments/a/scale' },
  { method: 'GET', path: '/apis/apps/v1/namespaces/NS/deployments' },
  { method: 'POST', path: `${CORE}/serviceaccounts/a/token`, body: {} },
  { method: 'GET', path: '/api/v1/nodes' },
  { method: 'GET', path: CORE },
  { method: 'GET', path: '/api/v1/namespaces/other' },
  { method: 'PATCH', path: CORE, body: {}, type: MERGE },
  { method: 'GET', path: '/apis/apps/v1/namespaces/NS/nothings/x' },
  { method: 'GET', path: '/nothing/at/all' },
  { method: 'GET', path: '/nothing' },
  { method: 'GET', path: '/livez' },
  { method: 'GET', path: '/apis/apps' },
  {
    method: 'POST',
    path: `${RBAC}/namespaces/NS/roles`,
    body: role('r', [RULES[0] as JsonObject]),
  },
  { method: 'POST', path: `${RBAC}/namespaces/NS/roles`, body: role('r', [MARKER]) },
  {
    method: 'POST',
    path: `${RBAC}/namespaces/NS/roles`,
    body: role('r', [RULES[11] as JsonObject]),
  },
  {
    method: 'PATCH',
    path: `${RBAC}/namespaces/NS/roles/granted`,
    body: { rules: [RULES[11] as JsonObject] },
    type: MERGE,
  },
  {
    method: 'PATCH',
    path: `${RBAC}/namespaces/NS/roles/granted`,
    body: { metadata: { labels: { a: 'b' } } },
    type: MERGE,
  },
  {
    method: 'POST',
    path: `${RBAC}/namespaces/NS/rolebindings`,
    body: binding('b', 'Role', 'granted', other),
  },
  {
    method: 'POST',
    path: `${RBAC}/namespaces/NS/rolebindings`,
    body: binding('b', 'Role', 'none', other),
  },
  {
    method: 'POST',
    path: `${RBAC}/namespaces/NS/rolebindings`,
    body: binding('b', 'ClusterRole', 'cluster-admin', other),
  },
  { method: 'POST', path: `${RBAC}/namespaces/NS/rolebindings`, body: { metadata: { name: 'b' } } },
  { method: 'POST', path: `${RBAC}/clusterroles`, body: role('NS-r', [RULES[4] as JsonObject]) },
  {
    method: 'POST',
    path: `${RBAC}/clusterroles`,
    body: {
      metadata: { name: 'NS-a' },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    },
  },
  {
    method: 'POST',
    path: `${AUTHORIZATION}/selfsubjectaccessreviews`,
    body: access({ namespace: 'NS', verb: 'get', resource: 'pods', name: 'a' }),
  },
  {
    method: 'POST',
    path: `${AUTHORIZATION}/selfsubjectaccessreviews`,
    body: access({ verb: 'list', resource: 'pods' }),
  },
  {
    method: 'POST',
    path: `${AUTHORIZATION}/selfsubjectaccessreviews`,
    body: { spec: { nonResourceAttributes: { path: '/nothing/x', verb: 'get' } } },
  },
  {
    method: 'POST',
    path: `${AUTHORIZATION}/selfsubjectrulesreviews`,
    body: { spec: { namespace: 'NS' } },
  },
  {
    method: 'POST',
    path: `${AUTHORIZATION}/subjectaccessreviews`,
    body: access({ verb: 'get', resource: 'pods' }, { user: 'other' }),
  },
  {
    method: 'POST',
    path: `${AUTHORIZATION}/namespaces/NS/localsubjectaccessreviews`,
    body: access({ namespace: 'NS', verb: 'get', resource: 'pods' }, { user: 'other' }),
  },
  { method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews', body: {} },
  {
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: { spec: { token: 'x' } },
  },
];

/** The impersonation headers of a user with a token. */
const IMPERSONATED: readonly Record<string, string>[] = [
  { 'Impersonate-User': 'other' },
  { 'Impersonate-User': 'third' },
  { 'Impersonate-User': 'other', 'Impersonate-Group': 'system:masters' },
  { 'Impersonate-User': 'system:serviceaccount:NS:a' },
  { 'Impersonate-User': 'system:node:n' },
  { 'Impersonate-User': 'other', 'Impersonate-Uid': '7' },
  { 'Impersonate-Group': 'g' },
];

export function rbacCases(random: Random, count: number): ParityCase[] {
  return Array.from({ length: count }, () => {
    const user: JsonObject = random.pick<JsonObject>([
      { kind: 'User', apiGroup: GROUP, name: 'u-NS' },
      { kind: 'Group', apiGroup: GROUP, name: 'g-NS' },
      { kind: 'ServiceAccount', name: 'a', namespace: 'NS' },
    ]);
    const byToken = user.kind === 'ServiceAccount' && random.chance(0.7);
    const headers: Record<string, string> =
      user.kind === 'ServiceAccount'
        ? { 'Impersonate-User': 'system:serviceaccount:NS:a' }
        : { 'Impersonate-User': 'u-NS', 'Impersonate-Group': 'g-NS' };
    const steps: RequestStep[] = [
      { method: 'POST', path: `${CORE}/serviceaccounts`, body: { metadata: { name: 'a' } } },
      { method: 'POST', path: `${CORE}/serviceaccounts/a/token`, body: {} },
      { method: 'POST', path: `${CORE}/configmaps`, body: { metadata: { name: 'a' } } },
      { method: 'POST', path: `${CORE}/pods`, body: pod('a') },
    ];
    const as = byToken ? { authorization: 'Bearer {{1.status.token}}' } : headers;
    steps.push(...granted(random, user));
    steps.push({
      method: 'GET',
      path: '/apis/example.com/v1/namespaces/NS/markers/x',
      headers: as,
      until: 404,
    });
    const more = 1 + random.int(3);
    for (let at = 0; at < more; at++) {
      const request = random.pick(REQUESTS);
      const extra = byToken && random.chance(0.3) ? random.pick(IMPERSONATED) : {};
      steps.push({ ...request, headers: { ...as, ...extra } });
    }
    return { group: 'rbac', steps };
  });
}

/** A Role, or a ClusterRole in one namespace or in all. */
function granted(random: Random, user: JsonObject): RequestStep[] {
  const rules = (from: readonly JsonObject[]): JsonObject[] => [
    ...Array.from({ length: 1 + random.int(2) }, () => random.pick(from)),
    MARKER,
  ];
  const where = random.pick(['role', 'cluster role', 'cluster']);
  if (where === 'role')
    return [
      { method: 'POST', path: `${RBAC}/namespaces/NS/roles`, body: role('granted', rules(RULES)) },
      {
        method: 'POST',
        path: `${RBAC}/namespaces/NS/rolebindings`,
        body: binding('granted', 'Role', 'granted', user),
      },
    ];
  const name = 'NS-granted';
  const path = where === 'cluster' ? '/clusterrolebindings' : '/namespaces/NS/rolebindings';
  return [
    { method: 'POST', path: `${RBAC}/clusterroles`, body: role(name, rules(CLUSTER_RULES)) },
    { method: 'POST', path: RBAC + path, body: binding(name, 'ClusterRole', name, user) },
  ];
}
