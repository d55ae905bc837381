/**
 * Makes the smallest Roles for the recorded requests of a program, and compares existing Roles with
 * them.
 */
import { nearestWord } from './nearest.ts';
import type { Asked } from './rbac-record.ts';
import { isKeyword } from './yaml.ts';

/** How Roles are made from recorded requests. */
export interface RoleChoice {
  /** The name of the Roles. */
  readonly name: string;
  /** Uses the recorded names and namespaces. */
  readonly exact: boolean;
  /** Uses one ClusterRole, as the namespaces come and go. */
  readonly everywhere: boolean;
  /** Includes permissions that every user has. */
  readonly all: boolean;
}

/** A permission that the program needs. */
export interface Need {
  readonly verb: string;
  readonly group: string;
  /** The resource with its subresource: `pods/status`; '' for a path. */
  readonly resource: string;
  /** A path that is not one of a resource, such as `/metrics`. */
  readonly path: string;
  /** '' means all namespaces; also for cluster-scoped kinds and paths. */
  readonly namespace: string;
  /** Undefined: of any name. */
  readonly names: readonly string[] | undefined;
  readonly asked: readonly Asked[];
  /** Why it is needed, if it was not recorded. */
  readonly note?: string;
}

/** A rule of an existing Role. */
export interface RoleRule {
  /** Of the Role or ClusterRole: `ClusterRole web`. */
  readonly of: string;
  /** '' for all namespaces; undefined: a Role without one, which may be in any. */
  readonly namespace: string | undefined;
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** A permission that is missing, or one that was never used. */
export interface Difference {
  readonly kind: 'too small' | 'wider';
  readonly message: string;
}

const VERBS: readonly string[] = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
];
/** Verbs of RBAC that no request has. */
const OTHER_VERBS = ['bind', 'escalate', 'impersonate', 'use', 'approve', 'sign', 'attest', '*'];

const LEASES = 'leases';

/**
 * Verbs on `signers`, which admission plugins check for writes of these resources. kubernetes:
 * plugin/pkg/admission/certificates.
 */
const SIGNING: Readonly<Record<string, string>> = {
  'certificatesigningrequests/approval': 'approve',
  'certificatesigningrequests/status': 'sign',
};

/**
 * Verbs that a part of the package also needs in other situations: an informer lists if the server
 * has no watch list, and leader election creates a Lease that does not exist.
 */
const TOGETHER: readonly { by: string; verbs: readonly string[]; resource?: string }[] = [
  { by: 'informer', verbs: ['list', 'watch'] },
  { by: 'leader election', verbs: ['get', 'create', 'update'], resource: LEASES },
  { by: 'shards', verbs: ['list', 'watch', 'create', 'update', 'delete'], resource: LEASES },
  { by: 'shards', verbs: ['list', 'watch', 'create', 'update'], resource: 'configmaps' },
  { by: 'event recorder', verbs: ['create', 'patch'], resource: 'events' },
];

/** What every user may read: system:discovery and system:basic-user. */
const EVERYBODY =
  /^\/(?:api|apis|openapi|healthz|livez|readyz|version|\.well-known\/openid-configuration)(?:\/|$)/;
const OWN_REVIEWS = /^selfsubject(?:access|rules)?reviews$/;

/** The permissions that are needed, sorted. */
export function needsOf(asked: readonly Asked[], { exact, everywhere, all }: RoleChoice): Need[] {
  const wanted = asked.filter(
    ({ path, resource }) => all || !(path ? EVERYBODY.test(path) : OWN_REVIEWS.test(resource)),
  );
  const isEverywhere = everywhere ? () => true : exact ? () => false : spread(wanted);
  const isOfLister = readersOfLeases(wanted);
  const needs = new Map<string, { need: Need; names: Set<string>; asked: Asked[] }>();
  const add = (one: Asked, verb: string, note?: string, others: readonly Asked[] = []): void => {
    const { group, resource, path } = one;
    const namespace = isEverywhere(one) || isNamespaces(one) ? '' : one.namespace;
    const named = [one, ...others].filter((each) => !NAMELESS.has(each.verb));
    const isNameless = NAMELESS.has(verb) || named.length === 0 || isOfReplica(one);
    const names = isNameless ? ['*'] : namesIn(named);
    const id = [path, namespace, group, resource, verb].join(' ');
    let there = needs.get(id);
    if (there === undefined) {
      const need = { verb, group, resource, path, namespace, names: undefined, asked: [] };
      there = { need, names: new Set(), asked: [] };
      needs.set(id, there);
    }
    for (const name of names) there.names.add(name);
    if (note === undefined) there.asked.push(one);
    else there.need = { ...there.need, note };
  };
  for (const one of wanted) {
    add(one, one.verb);
    const signing =
      one.verb === 'update' || one.verb === 'patch' ? SIGNING[one.resource] : undefined;
    if (signing !== undefined && one.group === 'certificates.k8s.io')
      add({ ...one, resource: 'signers', names: ['*'] }, signing, `${one.resource} needs it`);
  }
  for (const one of wanted)
    for (const { by, verbs, resource = one.resource } of TOGETHER) {
      const isOf = ({ group, resource: of, namespace, ...other }: Asked): boolean =>
        by in other.by && group === one.group && of === resource && namespace === one.namespace;
      if (!isOf(one) || !verbs.includes(one.verb)) continue;
      const others = wanted.filter(isOf);
      for (const verb of verbs) add(one, verb, `${by} needs it too`, others);
    }
  return [...needs.values()]
    .map(({ need, names, asked }) => ({
      ...need,
      asked,
      names:
        (exact || (isLeases(need) && !isOfLister(asked))) && !names.has('*')
          ? [...names].sort()
          : undefined,
    }))
    .filter((need, _, every) => !every.some((other) => other !== need && includes(other, need)))
    .sort((a, b) => compare(keyOf(a), keyOf(b)) || order(a.verb) - order(b.verb));
}

/** Each replica of shards has a lease of its own. */
const isOfReplica = (one: Asked): boolean => isLeases(one) && 'shards' in one.by;
/**
 * Whether requests are of a program that lists or watches all Leases where they are. The names of
 * its Leases then depend on the objects that are there; those of leader election do not.
 */
function readersOfLeases(asked: readonly Asked[]): (asked: readonly Asked[]) => boolean {
  const listed = asked.filter(
    (one) => isLeases(one) && OF_MANY.has(one.verb) && one.names.includes('*') && isOwn(one),
  );
  const namespaces = new Set(listed.map(({ namespace }) => namespace));
  const isListed = ({ namespace }: Asked): boolean =>
    namespaces.has('') || namespaces.has(namespace);
  return (requests) => requests.some((one) => isListed(one) && isOwn(one));
}

/** Whether the program itself asked. */
const isOwn = ({ by }: Asked): boolean =>
  Object.keys(by).some((each) => each !== 'leader election' && each !== 'shards');
/** Verbs that resourceNames cannot restrict. */
const NAMELESS: ReadonlySet<string> = new Set(['create', 'deletecollection']);
const namesIn = (asked: readonly Asked[]): string[] => asked.flatMap(({ names }) => names);
const isLeases = ({ group, resource }: Pick<Need, 'group' | 'resource'>): boolean =>
  group === 'coordination.k8s.io' && resource === LEASES;
/** A Namespace is cluster-scoped, but the server takes a request for it as one within it. */
const isNamespaces = ({ group, resource }: Asked): boolean =>
  group === '' && /^namespaces(?:\/|$)/.test(resource);

/** Cluster-scoped kinds: a list of one looks like a list in all namespaces. */
const OF_CLUSTER = new Set(
  (
    'nodes namespaces persistentvolumes componentstatuses customresourcedefinitions apiservices ' +
    'clusterroles clusterrolebindings storageclasses csidrivers csinodes volumeattachments ' +
    'volumeattributesclasses priorityclasses ingressclasses runtimeclasses deviceclasses ' +
    'resourceslices ipaddresses servicecidrs certificatesigningrequests clustertrustbundles ' +
    'flowschemas prioritylevelconfigurations validatingwebhookconfigurations ' +
    'mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings ' +
    'mutatingadmissionpolicies mutatingadmissionpolicybindings'
  ).split(' '),
);
const OF_MANY: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

/**
 * Whether a permission in one namespace is needed in all. If a program lists or watches a kind in
 * all namespaces, its requests in the namespaces of those objects are needed in all. Its requests
 * in other namespaces, such as its own, are not.
 */
function spread(asked: readonly Asked[]): (one: Asked) => boolean {
  const kind = ({ group, resource }: Asked): string => `${group} ${resource.split('/')[0]}`;
  const inAll = asked.filter(({ path, namespace }) => path === '' && namespace === '');
  const withoutNamespace = new Set(
    inAll.filter(({ verb, names }) => !OF_MANY.has(verb) || !names.includes('*')).map(kind),
  );
  const watched = new Set(
    inAll
      .filter(({ verb, resource }) => OF_MANY.has(verb) && !OF_CLUSTER.has(resource))
      .map(kind)
      .filter((each) => !withoutNamespace.has(each)),
  );
  const met = new Set(
    asked.filter((one) => watched.has(kind(one))).map(({ namespace }) => namespace),
  );
  met.delete('');
  return (one) => watched.size > 0 && !isLeases(one) && (met.size === 0 || met.has(one.namespace));
}

/** Whether one need covers another. */
function includes(whole: Need, part: Need): boolean {
  if (whole.verb !== part.verb || whole.group !== part.group || whole.path !== part.path)
    return false;
  if (whole.resource !== part.resource) return false;
  if (whole.namespace !== part.namespace && whole.namespace !== '') return false;
  return whole.names === undefined || (part.names?.every((n) => whole.names?.includes(n)) ?? false);
}

const keyOf = ({ namespace, path, group, resource, names }: Need): string =>
  [namespace, path, group, resource, names?.join(',') ?? ''].join('\n');
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const order = (verb: string): number => {
  const at = VERBS.indexOf(verb);
  return at < 0 ? VERBS.length : at;
};

/** Needs of a Role, by rule. */
interface PrintedRule {
  readonly needs: readonly Need[];
}

interface PrintedRole {
  readonly namespace: string;
  readonly rules: readonly PrintedRule[];
}

function rolesOf(needs: readonly Need[]): PrintedRole[] {
  const roles = new Map<string, Map<string, Need[]>>();
  for (const need of needs) {
    const rules = roles.get(need.namespace) ?? new Map<string, Need[]>();
    roles.set(need.namespace, rules);
    rules.set(keyOf(need), [...(rules.get(keyOf(need)) ?? []), need]);
  }
  return [...roles].map(([namespace, rules]) => ({
    namespace,
    rules: [...rules.values()].map((needs) => ({ needs })),
  }));
}

/** An account that the printed Roles are bound to. */
export interface RoleAccount {
  readonly namespace: string;
  readonly name: string;
}

/** The Roles as YAML, with the reason of each rule as a comment. */
export function rolesText(
  needs: readonly Need[],
  name: string,
  account: RoleAccount | undefined,
): string {
  return rolesOf(needs)
    .flatMap(({ namespace, rules }) => [
      roleText(name, namespace, rules),
      ...(account === undefined ? [] : [bindingText(name, namespace, account)]),
    ])
    .join('---\n');
}

const API = 'rbac.authorization.k8s.io';

function head(kind: string, name: string, namespace: string): string {
  const where = namespace === '' ? '' : `  namespace: ${namespace}\n`;
  return `apiVersion: ${API}/v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${where}`;
}

function roleText(name: string, namespace: string, rules: readonly PrintedRule[]): string {
  const text = rules.map(({ needs }) => `${comments(needs)}${ruleText(needs)}`).join('');
  return `${head(namespace === '' ? 'ClusterRole' : 'Role', name, namespace)}rules:\n${text}`;
}

function bindingText(name: string, namespace: string, account: RoleAccount): string {
  const kind = namespace === '' ? 'ClusterRole' : 'Role';
  return (
    `${head(`${kind}Binding`, name, namespace)}roleRef:\n  apiGroup: ${API}\n  kind: ${kind}\n` +
    `  name: ${name}\nsubjects:\n  - kind: ServiceAccount\n    name: ${account.name}\n` +
    `    namespace: ${account.namespace}\n`
  );
}

function ruleText(needs: readonly Need[]): string {
  const [{ group, resource, path, names }] = needs as [Need, ...Need[]];
  const verbs = `    verbs: ${flow(needs.map(({ verb }) => verb))}\n`;
  if (path !== '') return `  - nonResourceURLs: ${flow([path])}\n${verbs}`;
  const only = names === undefined ? '' : `    resourceNames: ${flow(names)}\n`;
  return `  - apiGroups: ${flow([group])}\n    resources: ${flow([resource])}\n${only}${verbs}`;
}

const flow = (words: readonly string[]): string => `[${words.map(word).join(', ')}]`;
const word = (plain: string): string =>
  /^[a-z][a-z\d./-]*$/.test(plain) && !isKeyword(plain) ? plain : JSON.stringify(plain);

/** A line for each reason; verbs with the same reason share it. */
function comments(needs: readonly Need[]): string {
  const byReason = new Map<string, string[]>();
  for (const need of needs) {
    const reason = reasonOf(need);
    byReason.set(reason, [...(byReason.get(reason) ?? []), need.verb]);
  }
  return [...byReason].map(([reason, verbs]) => `  # ${verbs.join(', ')}: ${reason}\n`).join('');
}

const MOST_PLACES = 3;

/** Which code sent the requests, how many, and in which namespaces. */
export function reasonOf({ asked, note, namespace }: Need): string {
  if (asked.length === 0) return note ?? '';
  const places = new Map<string, number>();
  for (const { by } of asked)
    for (const [place, count] of Object.entries(by))
      places.set(place, (places.get(place) ?? 0) + count);
  const sorted = [...places].sort(([, a], [, b]) => b - a).map(([place]) => place);
  const more = sorted.length - MOST_PLACES;
  const who = `${sorted.slice(0, MOST_PLACES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const count = asked.reduce((sum, one) => sum + one.count, 0);
  const refused = asked.reduce((sum, one) => sum + one.refused, 0);
  const spaces = [...new Set(asked.map((one) => one.namespace))];
  const where =
    namespace === '' && !spaces.includes('') ? `, in ${some(spaces, MOST_PLACES)} so far` : '';
  const no = refused === 0 ? '' : `, ${refused} refused`;
  const first = who === '' ? '' : `${who}, `;
  return `${first}${count} ${count === 1 ? 'request' : 'requests'}${no}${where}`;
}

function some(words: readonly string[], most: number): string {
  const more = words.length - most;
  return `${words.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** What the rules lack, and what they allow that was never used. */
export function differences(needs: readonly Need[], rules: readonly RoleRule[]): Difference[] {
  const found: Difference[] = [];
  for (const need of needs) {
    const missing =
      need.names === undefined || need.names.length === 0
        ? allows(rules, need, undefined)
          ? undefined
          : []
        : need.names.filter((name) => !allows(rules, need, name));
    if (missing === undefined || (need.names !== undefined && missing.length === 0)) continue;
    found.push({ kind: 'too small', message: tooSmall(need, missing, rules) });
  }
  for (const rule of rules) found.push(...widerIn(rule, needs));
  return found;
}

/** RBAC: pkg/registry/rbac/validation, VerbMatches and the others. */
function allows(rules: readonly RoleRule[], need: Need, name: string | undefined): boolean {
  return rules.some(
    (rule) =>
      has(rule.verbs, need.verb) &&
      (need.path === ''
        ? isIn(rule, need.namespace) &&
          has(rule.apiGroups, need.group) &&
          rule.resources.some((resource) => matches(resource, need.resource)) &&
          (rule.resourceNames.length === 0 ||
            (name !== undefined && rule.resourceNames.includes(name)))
        : rule.namespace === '' && rule.nonResourceURLs.some((url) => matchesURL(url, need.path))),
  );
}

const has = (words: readonly string[], word: string): boolean =>
  words.includes('*') || words.includes(word);
const isIn = ({ namespace }: RoleRule, wanted: string): boolean =>
  namespace === '' || namespace === wanted || (namespace === undefined && wanted !== '');

function matches(resource: string, wanted: string): boolean {
  if (resource === '*' || resource === wanted) return true;
  return resource.startsWith('*/') && wanted.endsWith(resource.slice(1));
}

const matchesURL = (url: string, path: string): boolean =>
  url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)));

function tooSmall(need: Need, names: readonly string[], rules: readonly RoleRule[]): string {
  const { verb, group, resource, path } = need;
  const hint = path === '' ? meant(resource, group, rules) : '';
  const what = path === '' ? whatOf(group, resource, names) : path;
  return `${verb} of ${what}${whereOf(need)} is missing: ${reasonOf(need)}${hint}`;
}

function whatOf(group: string, resource: string, names: readonly string[] = []): string {
  const of = group === '' ? '' : ` (${group})`;
  return `${resource}${of}${names.length === 0 ? '' : ` named ${names.join(', ')}`}`;
}

const whereOf = ({ namespace, path }: Need): string =>
  path !== '' ? '' : namespace === '' ? '' : ` in the namespace ${namespace}`;

/** A resource or group of the rules that may be a misspelling of what is needed. */
function meant(resource: string, group: string, rules: readonly RoleRule[]): string {
  const others = rules.flatMap((rule) => rule.resources.map((each) => ({ rule, each })));
  const same = others.find(
    ({ rule, each }) => each === resource && !has(rule.apiGroups, group) && rule.verbs.length > 0,
  );
  if (same !== undefined)
    return `; ${same.rule.of} has ${resource} of the group ${quoted(same.rule.apiGroups)}`;
  if (others.some(({ each }) => matches(each, resource))) return '';
  const near = nearestWord(
    resource,
    others.map(({ each }) => each).filter((each) => each.includes('/') === resource.includes('/')),
  );
  return near === undefined ? '' : `; did you mean ${resource} where there is ${near}?`;
}

const quoted = (words: readonly string[]): string =>
  words.map((word) => JSON.stringify(word)).join(', ');

/** What a rule allows that was never used: each verb of each resource; a wildcard counts once. */
function widerIn(rule: RoleRule, needs: readonly Need[]): Difference[] {
  const found: Difference[] = [];
  const wider = (message: string): number =>
    found.push({ kind: 'wider', message: `${rule.of}: ${message}` });
  for (const url of rule.nonResourceURLs)
    for (const verb of rule.verbs) {
      const used = needs.filter(
        (need) => need.path !== '' && matchesURL(url, need.path) && has([verb], need.verb),
      );
      if (used.length === 0) wider(`${verb} of ${url} was never used`);
      else if (verb === '*' || url.endsWith('*'))
        wider(`${verb} of ${url} allows more than was used: ${list(used)}`);
    }
  for (const group of rule.apiGroups)
    for (const resource of rule.resources) {
      const ofResource = needs.filter(
        (need) => need.path === '' && has([group], need.group) && matches(resource, need.resource),
      );
      const what = whatOf(group, resource);
      if (ofResource.length === 0) {
        wider(`${what} was never used${misspelt(group, resource, needs)}`);
        continue;
      }
      const isWild = group === '*' || resource.includes('*');
      if (isWild) wider(`${what} allows more than was used: ${list(ofResource)}`);
      for (const verb of rule.verbs) widerVerb(rule, verb, what, ofResource, wider);
    }
  return found;
}

function widerVerb(
  rule: RoleRule,
  verb: string,
  what: string,
  ofResource: readonly Need[],
  wider: (message: string) => unknown,
): void {
  const used = ofResource.filter((need) => has([verb], need.verb));
  if (used.length === 0) {
    const known = [...VERBS, ...OTHER_VERBS];
    const near = known.includes(verb) ? undefined : nearestWord(verb, known);
    const hint = near === undefined ? '' : `: did you mean ${near}?`;
    wider(`${verb} of ${what} was never used${hint}`);
    return;
  }
  if (verb === '*') wider(`* allows every verb of ${what}, used: ${list(used)}`);
  const here = used.filter((need) => isIn(rule, need.namespace));
  if (here.length === 0) {
    wider(`${verb} of ${what} was only used in other namespaces: ${spacesOf(used)}`);
    return;
  }
  if (rule.namespace === '' && here.every(({ namespace }) => namespace !== ''))
    wider(`${verb} of ${what} in all namespaces, used in: ${spacesOf(here)}`);
  const names = here.flatMap((need) => need.names ?? []);
  const anyName = here.some((need) => need.names === undefined);
  if (rule.resourceNames.length === 0 && !anyName)
    wider(`${verb} of ${what} of any name, used: ${[...new Set(names)].join(', ')}`);
  for (const name of anyName ? [] : rule.resourceNames)
    if (!names.includes(name)) wider(`${verb} of ${what} named ${name} was never used`);
}

const list = (needs: readonly Need[]): string =>
  [...new Set(needs.map(({ verb, resource, path }) => `${verb} ${path || resource}`))].join(', ');
const spacesOf = (needs: readonly Need[]): string =>
  some([...new Set(needs.map(({ namespace }) => namespace || 'all'))], 5);

function misspelt(group: string, resource: string, needs: readonly Need[]): string {
  const near = nearestWord(
    resource,
    needs.filter((need) => need.group === group).map((need) => need.resource),
  );
  if (near !== undefined && near !== resource) return `: did you mean ${near}?`;
  const other = needs.find((need) => need.resource === resource);
  return other === undefined ? '' : `: did you mean the group ${JSON.stringify(other.group)}?`;
}
