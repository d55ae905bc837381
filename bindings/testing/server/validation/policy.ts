/** The rules of PodDisruptionBudgets. kubernetes: pkg/apis/policy/validation/validation.go. */
import { countOrPercent, labelSelector, notAboveAll } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { conditions, wasValid } from './shared.ts';

function budget(object: Place): void {
  const spec = object.at('spec');
  const limits = [spec.at('minAvailable'), spec.at('maxUnavailable')];
  if (limits.every(({ isSet }) => isSet))
    spec.invalid('minAvailable and maxUnavailable cannot be both set');
  for (const limit of limits) {
    if (!limit.isSet) continue;
    countOrPercent(limit);
    notAboveAll(limit);
  }
  const selector = spec.at('selector');
  labelSelector(selector, !wasValid(selector, labelSelector));
  const policy = spec.at('unhealthyPodEvictionPolicy');
  if (policy.isSet) policy.among(['AlwaysAllow', 'IfHealthyBudget']);
}

function status(object: Place): void {
  const at = object.at('status');
  conditions(at.at('conditions'));
  for (const name of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'])
    at.at(name).atLeast(0);
}

export const policy: RuleTable = {
  'policy/poddisruptionbudgets': { object: budget, status },
};
