/** The rules of PriorityClasses. kubernetes: pkg/apis/scheduling/validation/validation.go. */
import { objectAt, stringAt } from '../json.ts';
import type { Place, RuleTable } from './place.ts';

/** The highest value for users; those of the system's own classes are above it. */
const HIGHEST = 1_000_000_000;

const SYSTEM: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

const nameOf = (object: Place): string => stringAt(objectAt(object.members, 'metadata'), 'name');

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

export const scheduling: RuleTable = {
  'scheduling.k8s.io/priorityclasses': { object: priorityClass },
};
