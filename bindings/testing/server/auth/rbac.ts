/**
 * Authorizes requests by the Roles, ClusterRoles and bindings on the server. kubernetes:
 * plugin/pkg/auth/authorizer/rbac, pkg/registry/rbac/validation.
 *
 * A ClusterRole with an `aggregationRule` also has the rules of the ClusterRoles that it selects,
 * immediately: in a cluster a controller copies them into it.
 */
import { type LabelSelector, labelMatcher } from '../../../base/selectors.ts';
import { isObject, type Json, type JsonObject, memberObject, stringAt } from '../json.ts';
import type { ResourceName } from '../registry/kinds.ts';
import type { Registry } from '../registry/registry.ts';
import { metadataOf, storeKey } from '../registry/store.ts';
import { type Attributes, isPath } from './attributes.ts';
import { MASTERS, type ServerUser, serviceAccountName } from './users.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

const rbacResource = (plural: string): ResourceName => ({
  group: RBAC_GROUP,
  version: 'v1',
  plural,
});

/** A PolicyRule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface Decision {
  readonly allowed: boolean;
  /** The reason, or the missing roles to which bindings refer. */
  readonly reason: string;
}

/** Decides whether a user may do something. */
export interface Authorizer {
  decide(user: ServerUser, attributes: Attributes): Decision;
  /** The user's rules in the namespace, and for non-resource paths. */
  rulesOf(user: ServerUser, namespace: string): readonly PolicyRule[];
}

const ALLOWED: Decision = { allowed: true, reason: '' };
const ANY = ['*'];
const NONE: readonly string[] = [];

/** Allows everything. */
export const allowAll: Authorizer = {
  decide: () => ALLOWED,
  rulesOf: () => [
    { verbs: ANY, apiGroups: ANY, resources: ANY, resourceNames: NONE, nonResourceURLs: NONE },
    { verbs: ANY, apiGroups: NONE, resources: NONE, resourceNames: NONE, nonResourceURLs: ANY },
  ],
};

/** The rules that a binding grants, or the error if its role is missing. */
interface Granted {
  rules: readonly PolicyRule[];
  error: string;
  grantedBy: string;
}

export class Rbac implements Authorizer {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  decide(user: ServerUser, attributes: Attributes): Decision {
    if (user.groups?.includes(MASTERS)) return ALLOWED;
    const errors: string[] = [];
    const namespace = isPath(attributes) ? '' : attributes.namespace;
    for (const { rules, error, grantedBy } of this.#granted(user, namespace)) {
      if (error !== '') errors.push(error);
      if (rules.some((rule) => allows(rule, attributes)))
        return { allowed: true, reason: `RBAC: allowed by ${grantedBy}` };
    }
    if (errors.length === 0) return { allowed: false, reason: '' };
    const all = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`;
    return { allowed: false, reason: `RBAC: ${all}` };
  }

  rulesOf(user: ServerUser, namespace: string): PolicyRule[] {
    return [...this.#granted(user, namespace)].flatMap(({ rules }) => rules);
  }

  /** The rules of the role to which a binding in this namespace refers. */
  rulesOfRole(ref: JsonObject, namespace: string): { rules: readonly PolicyRule[]; error: string } {
    const [kind, name] = [stringAt(ref, 'kind'), stringAt(ref, 'name')];
    const plural = kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    const store = this.#registry.store(rbacResource(plural));
    const role = store.get(storeKey(kind === 'ClusterRole' ? '' : namespace, name))?.object;
    if (role !== undefined) return { rules: this.#rules(role), error: '' };
    const error = `${kind.toLowerCase()}.${RBAC_GROUP} ${JSON.stringify(name)} not found`;
    return { rules: [], error };
  }

  /** @param seen the roles that have selected this one, as roles may select each other */
  #rules(role: JsonObject, seen: readonly JsonObject[] = []): readonly PolicyRule[] {
    if (seen.includes(role)) return [];
    const own = rulesIn(role);
    const selectors = memberObject(role, 'aggregationRule').clusterRoleSelectors;
    if (!Array.isArray(selectors) || selectors.length === 0) return own;
    const select = selectors
      .filter(isObject)
      .map((selector) => labelMatcher(selector as LabelSelector));
    const others = this.#all('clusterroles').filter((other) => {
      const labels = memberObject(metadataOf(other), 'labels');
      return other !== role && select.some((matches) => matches(labels));
    });
    return [...own, ...others.flatMap((other) => this.#rules(other, [...seen, role]))];
  }

  *#granted(user: ServerUser, namespace: string): Generator<Granted> {
    for (const binding of this.#all('clusterrolebindings'))
      yield* this.#grantsOf('ClusterRoleBinding', binding, user, '');
    if (namespace === '') return;
    for (const binding of this.#all('rolebindings', namespace))
      yield* this.#grantsOf('RoleBinding', binding, user, namespace);
  }

  *#grantsOf(
    what: string,
    binding: JsonObject,
    user: ServerUser,
    namespace: string,
  ): Generator<Granted> {
    const subjects = Array.isArray(binding.subjects) ? binding.subjects.filter(isObject) : [];
    const subject = subjects.find((each) => isSubject(each, user, namespace));
    if (subject === undefined) return;
    const ref = memberObject(binding, 'roleRef');
    const name = stringAt(metadataOf(binding), 'name');
    const bindingName = namespace === '' ? name : `${name}/${namespace}`;
    const grantedBy =
      `${what} ${JSON.stringify(bindingName)} of ${stringAt(ref, 'kind')} ` +
      `${JSON.stringify(stringAt(ref, 'name'))} to ${subjectText(subject, namespace)}`;
    yield { ...this.rulesOfRole(ref, namespace), grantedBy: grantedBy };
  }

  #all(plural: string, namespace = ''): JsonObject[] {
    const store = this.#registry.store(rbacResource(plural));
    return store.asOf(this.#registry.versions.current, namespace, '').map(({ object }) => object);
  }
}

function isSubject(subject: JsonObject, user: ServerUser, namespace: string): boolean {
  const name = stringAt(subject, 'name');
  switch (subject.kind) {
    case 'User':
      return user.name === name;
    case 'Group':
      return user.groups?.includes(name) ?? false;
    case 'ServiceAccount': {
      const where = stringAt(subject, 'namespace') || namespace;
      return where !== '' && user.name === serviceAccountName(where, name);
    }
    default:
      return false;
  }
}

function subjectText(subject: JsonObject, namespace: string): string {
  const name = stringAt(subject, 'name');
  if (subject.kind !== 'ServiceAccount')
    return `${stringAt(subject, 'kind')} ${JSON.stringify(name)}`;
  const account = `${name}/${stringAt(subject, 'namespace') || namespace}`;
  return `ServiceAccount ${JSON.stringify(account)}`;
}

const texts = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

/** The rules of a Role or ClusterRole, without aggregated ones. */
export const rulesIn = (role: JsonObject): PolicyRule[] =>
  (Array.isArray(role.rules) ? role.rules.filter(isObject) : []).map((rule) => ({
    verbs: texts(rule.verbs),
    apiGroups: texts(rule.apiGroups),
    resources: texts(rule.resources),
    resourceNames: texts(rule.resourceNames),
    nonResourceURLs: texts(rule.nonResourceURLs),
  }));

const has = (list: readonly string[], value: string): boolean =>
  list.includes('*') || list.includes(value);

/** Whether the rule allows the request. kubernetes: pkg/apis/rbac/v1/evaluation_helpers.go. */
export function allows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!has(rule.verbs, attributes.verb)) return false;
  if (isPath(attributes)) return rule.nonResourceURLs.some((url) => covers(url, attributes.path));
  const { group, resource, subresource, name } = attributes;
  if (!has(rule.apiGroups, group)) return false;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const isResource =
    has(rule.resources, whole) ||
    (subresource !== '' && rule.resources.includes(`*/${subresource}`));
  return isResource && (rule.resourceNames.length === 0 || rule.resourceNames.includes(name));
}

/** `*` at the end matches the rest of a path. */
const covers = (url: string, path: string): boolean =>
  url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)));

/**
 * The parts of the rules that the owner's rules do not cover. kubernetes:
 * component-helpers/auth/rbac/validation Covers.
 */
export function notCovered(
  rules: readonly PolicyRule[],
  owner: readonly PolicyRule[],
): PolicyRule[] {
  return rules.flatMap(atoms).filter((atom) => !owner.some((rule) => coversAtom(rule, atom)));
}

/** Splits a rule into one for each verb, group, resource and name. */
function atoms(rule: PolicyRule): PolicyRule[] {
  const result: PolicyRule[] = [];
  const empty = { apiGroups: NONE, resources: NONE, resourceNames: NONE, nonResourceURLs: NONE };
  for (const verb of rule.verbs) {
    const verbs = [verb];
    for (const group of rule.apiGroups)
      for (const resource of rule.resources) {
        const one = { ...empty, verbs, apiGroups: [group], resources: [resource] };
        if (rule.resourceNames.length === 0) result.push(one);
        for (const name of rule.resourceNames) result.push({ ...one, resourceNames: [name] });
      }
    for (const url of rule.nonResourceURLs)
      result.push({ ...empty, verbs, nonResourceURLs: [url] });
  }
  return result;
}

function coversAtom(owner: PolicyRule, atom: PolicyRule): boolean {
  const [[verb = ''], [url]] = [atom.verbs, atom.nonResourceURLs];
  if (!has(owner.verbs, verb)) return false;
  if (url !== undefined) return owner.nonResourceURLs.some((own) => covers(own, url));
  const [[group = ''], [resource = ''], [name]] = [
    atom.apiGroups,
    atom.resources,
    atom.resourceNames,
  ];
  if (!has(owner.apiGroups, group)) return false;
  const [, subresource] = resource.split('/');
  const isResource =
    has(owner.resources, resource) ||
    (subresource !== undefined && owner.resources.includes(`*/${subresource}`));
  if (!isResource || owner.resourceNames.length === 0) return isResource;
  return name !== undefined && owner.resourceNames.includes(name);
}
