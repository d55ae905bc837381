/** The rules of rbac.authorization.k8s.io. kubernetes: pkg/apis/rbac/validation/validation.go. */
import { pathSegmentErrors, subdomain } from '../registry/names.ts';
import { labelSelector } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { wasValid } from './shared.ts';

const GROUP = 'rbac.authorization.k8s.io';

function policyRule(rule: Place, isNamespaced: boolean): void {
  rule.at('verbs').need('verbs must contain at least one value');
  const urls = rule.at('nonResourceURLs');
  if (!urls.isEmpty) {
    if (isNamespaced) urls.invalid('namespaced rules cannot apply to non-resource URLs');
    if (['apiGroups', 'resources', 'resourceNames'].some((name) => !rule.at(name).isEmpty))
      urls.invalid('rules cannot apply to both regular resources and non-resource URLs');
    return;
  }
  rule.at('apiGroups').need('resource rules must supply at least one api group');
  rule.at('resources').need('resource rules must supply at least one resource');
}

function role(object: Place): void {
  for (const rule of object.at('rules').items) policyRule(rule, true);
}

function clusterRole(object: Place): void {
  for (const rule of object.at('rules').items) policyRule(rule, false);
  const aggregation = object.at('aggregationRule');
  if (!aggregation.isSet) return;
  const selectors = aggregation.at('clusterRoleSelectors');
  selectors.need('at least one clusterRoleSelector required if aggregationRule is non-nil');
  const anyValue = !wasValid(selectors, (was) => {
    for (const each of was.items) labelSelector(each);
  });
  for (const selector of selectors.items) {
    const before = selector.errorCount;
    labelSelector(selector, anyValue);
    if (selector.errorCount > before) selector.invalid('invalid label selector.');
  }
}

function subject(at: Place, isNamespaced: boolean): void {
  const [name, group] = [at.at('name'), at.at('apiGroup')];
  name.need();
  switch (at.at('kind').text) {
    case 'ServiceAccount':
      if (!name.isEmpty) name.matches(subdomain);
      if (!group.isEmpty) group.notSupported(['']);
      if (!isNamespaced) at.at('namespace').need();
      break;
    case 'User':
    case 'Group':
      group.among([GROUP]);
      break;
    default:
      at.at('kind').notSupported(['ServiceAccount', 'User', 'Group']);
  }
}

function binding(object: Place, kinds: readonly string[], isNamespaced: boolean): void {
  const ref = object.at('roleRef');
  ref.at('apiGroup').among([GROUP]);
  ref.at('kind').among(kinds);
  if (ref.at('name').need()) ref.at('name').matches(pathSegmentErrors);
  for (const each of object.at('subjects').items) subject(each, isNamespaced);
  ref.immutable('cannot change roleRef');
}

export const rbac: RuleTable = {
  [`${GROUP}/roles`]: { object: role },
  [`${GROUP}/clusterroles`]: { object: clusterRole },
  [`${GROUP}/rolebindings`]: {
    object: (object) => binding(object, ['Role', 'ClusterRole'], true),
  },
  [`${GROUP}/clusterrolebindings`]: {
    object: (object) => binding(object, ['ClusterRole'], false),
  },
};
