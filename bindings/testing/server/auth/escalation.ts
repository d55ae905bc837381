/**
 * Refuses writes of roles and bindings that would grant permissions which the user does not have.
 * kubernetes: pkg/registry/rbac (policybased storage).
 */
import { type Json, type JsonObject, memberObject, sameJson, stringAt } from '../json.ts';
import type { Kind } from '../registry/kinds.ts';
import { metadataOf } from '../registry/store.ts';
import { ApiError, forbiddenObject, notFound } from '../status.ts';
import { notCovered, type PolicyRule, RBAC_GROUP, type Rbac, rulesIn } from './rbac.ts';
import { MASTERS, type ServerUser } from './users.ts';

/**
 * Throws 403.
 *
 * @param old the object before an update
 */
export function requireGrantable(
  rbac: Rbac,
  user: ServerUser,
  kind: Kind,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  if (kind.group !== RBAC_GROUP || user.groups?.includes(MASTERS)) return;
  const namespace = kind.namespaced ? stringAt(metadataOf(object), 'namespace') : '';
  const may = (verb: string, resource: string, name: string): boolean => {
    const attributes = { verb, group: RBAC_GROUP, resource, subresource: '', namespace, name };
    return rbac.decide(user, attributes).allowed;
  };
  const name = stringAt(metadataOf(object), 'name');
  const refuse = (why: string): Error =>
    forbiddenObject({ group: RBAC_GROUP, what: kind.plural, name }, why);
  const isBinding = kind.plural.endsWith('bindings');
  const same = (...members: string[]): boolean =>
    old !== undefined &&
    members.every((member) => sameJson(object[member] ?? null, old[member] ?? null));
  if (isBinding ? same('roleRef', 'subjects') : same('rules', 'aggregationRule')) return;
  let granted: readonly PolicyRule[];
  if (isBinding) {
    const ref = memberObject(object, 'roleRef');
    const [refKind, refName] = [stringAt(ref, 'kind'), stringAt(ref, 'name')];
    if (refKind !== 'ClusterRole' && refKind !== 'Role')
      throw new ApiError(500, `unsupported role reference kind: ${JSON.stringify(refKind)}`);
    const plural = refKind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (may('bind', plural, refName)) return;
    const { rules, error } = rbac.rulesOfRole(ref, namespace);
    if (error !== '') throw notFound({ group: RBAC_GROUP, what: kind.plural, name: refName });
    granted = rules;
  } else {
    if (may('escalate', kind.plural, name)) return;
    if (object.aggregationRule !== undefined && !same('aggregationRule')) {
      const any: PolicyRule[] = [
        { ...NO_RULE, apiGroups: ['*'], resources: ['*'] },
        { ...NO_RULE, nonResourceURLs: ['*'] },
      ];
      if (notCovered(any, rbac.rulesOf(user, '')).length > 0)
        throw refuse('must have cluster-admin privileges to use the aggregationRule');
    }
    granted = rulesIn(object);
  }
  const missing = notCovered(granted, rbac.rulesOf(user, namespace));
  if (missing.length === 0) return;
  const groups = (user.groups ?? []).map((group) => JSON.stringify(group)).join(' ');
  const who = `user ${JSON.stringify(user.name)} (groups=[${groups}])`;
  const what = 'is attempting to grant RBAC permissions not currently held';
  throw refuse(`${who} ${what}:\n${missing.map(ruleText).join('\n')}`);
}

const NO_RULE: PolicyRule = {
  verbs: ['*'],
  apiGroups: [],
  resources: [],
  resourceNames: [],
  nonResourceURLs: [],
};

const SHOWN = {
  apiGroups: 'APIGroups',
  resources: 'Resources',
  resourceNames: 'ResourceNames',
  nonResourceURLs: 'NonResourceURLs',
  verbs: 'Verbs',
} as const;

function ruleText(rule: PolicyRule): string {
  const list = (values: readonly Json[]): string =>
    `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;
  const parts = (Object.keys(SHOWN) as (keyof PolicyRule)[])
    .filter((member) => rule[member].length > 0)
    .map((member) => `${SHOWN[member]}:${list(rule[member])}`);
  return `{${parts.join(', ')}}`;
}
