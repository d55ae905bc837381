/**
 * The rules of groups with a single kind: Lease, PodDisruptionBudget, PriorityClass and
 * RuntimeClass. kubernetes: pkg/apis/{coordination,policy,scheduling,node}/validation.
 */
import { memberObject, stringAt } from '../json.ts';
import { dnsLabel } from '../registry/names.ts';
import { countOrPercent, labelSelector, labels, notAboveAll } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { containerResourceName, resourceQuantity } from './resources.ts';
import { tolerations } from './scheduling.ts';
import { conditions, wasValid } from './shared.ts';

function lease(object: Place): void {
  const spec = object.at('spec');
  const duration = spec.at('leaseDurationSeconds');
  if (duration.isSet && duration.number <= 0) duration.invalid('must be greater than 0');
  spec.at('leaseTransitions').atLeast(0);
}

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

function budgetStatus(object: Place): void {
  const at = object.at('status');
  conditions(at.at('conditions'));
  for (const name of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'])
    at.at(name).atLeast(0);
}

/** The highest value of user-defined classes; system classes have higher ones. */
const HIGHEST = 1_000_000_000;

const SYSTEM: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

const nameOf = (object: Place): string =>
  stringAt(memberObject(object.members, 'metadata'), 'name');

function priorityClass(object: Place): void {
  const [value, policy] = [object.at('value'), object.at('preemptionPolicy')];
  if (object.isUpdate) {
    if (value.isChanged) value.forbidden('may not be changed in an update.');
    policy.immutable();
    return;
  }
  const name = nameOf(object);
  if (name.startsWith('system-')) {
    if (SYSTEM[name] !== value.number || object.at('globalDefault').value === true)
      object
        .in('metadata.name')
        .forbidden("names with the prefix 'system-' are reserved for the system's own");
  } else if (value.number > HIGHEST)
    value.forbidden(`maximum allowed value of a user defined priority is ${HIGHEST}`);
  if (policy.isSet && policy.need()) policy.among(['PreemptLowerPriority', 'Never']);
}

function runtimeClass(object: Place): void {
  const handler = object.at('handler');
  if (handler.need()) handler.matches(dnsLabel);
  const overhead = object.at('overhead');
  // The real server checks it like the limits of a container.
  for (const [name, at] of overhead.at('podFixed').entries) {
    const limit = at.as(`overhead.limits[${name}]`);
    containerResourceName(limit, name);
    resourceQuantity(limit, name);
  }
  const where = object.at('scheduling');
  labels(where.at('nodeSelector'));
  tolerations(where.at('tolerations'));
  const members = ['key', 'operator', 'value', 'effect'];
  where
    .at('tolerations')
    .distinct((item) => JSON.stringify(members.map((name) => item.at(name).text)));
  handler.immutable();
}

export const singleKinds: RuleTable = {
  'coordination.k8s.io/leases': { object: lease },
  'policy/poddisruptionbudgets': { object: budget, status: budgetStatus },
  'scheduling.k8s.io/priorityclasses': { object: priorityClass },
  'node.k8s.io/runtimeclasses': { object: runtimeClass },
};
