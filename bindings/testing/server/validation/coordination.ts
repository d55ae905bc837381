/** The rules of Leases. kubernetes: pkg/apis/coordination/validation/validation.go. */
import type { Place, RuleTable } from './place.ts';

function lease(object: Place): void {
  const spec = object.at('spec');
  spec.at('leaseDurationSeconds').atLeast(1);
  spec.at('leaseTransitions').atLeast(0);
}

export const coordination: RuleTable = { 'coordination.k8s.io/leases': { object: lease } };
