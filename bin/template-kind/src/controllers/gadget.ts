/**
 * The controller of Gadgets. It only reports the condition Ready so far. Resources that it owns are
 * watched with `.owns(…)`, and need rules in deploy/rbac-gadget.yaml.
 */
import { type Client, setStatusCondition } from 'capstan/client';
import { asReconciler, newControllerManagedBy, type Result } from 'capstan/controller';
import type { ControllerManager } from 'capstan/manager';
import { Gadget } from '../resources/gadget.ts';

/** What a reconcile needs. A test passes its own. */
interface Tools {
  readonly client: Client;
  /** The time of day in milliseconds since 1970. */
  readonly now: () => number;
  readonly signal?: AbortSignal;
}

export const GadgetController = {
  crd: Gadget.crd,
  /** Adds the controller to a manager, which starts it when this process leads. */
  setupWithManager(manager: ControllerManager): void {
    const { client } = manager;
    newControllerManagedBy(manager)
      .for(Gadget.resource)
      .withOptions({ maxConcurrentReconciles: 4, reconciliationTimeout: 30_000 })
      .complete(
        asReconciler(client, {
          resource: Gadget.resource,
          reconcile: (object, { now, signal }) =>
            GadgetController.reconcile(object, { client, now, signal }),
        }),
      );
  },

  /** Brings the actual state to the one that the object describes. It may run twice. */
  async reconcile(object: Gadget, { client, now, signal }: Tools): Promise<Result | undefined> {
    const { metadata, spec, status } = object;
    if (metadata.deletionTimestamp !== undefined) return undefined;
    const { name, namespace, generation: observedGeneration } = metadata;
    const conditions = setStatusCondition(
      status?.conditions,
      {
        type: 'Ready',
        ...(spec.suspend
          ? { status: 'False', reason: 'Suspended', message: 'spec.suspend is set' }
          : { status: 'True', reason: 'Reconciled', message: '' }),
        observedGeneration,
      },
      { wallNow: now },
    );
    if (conditions === status?.conditions && status.observedGeneration === observedGeneration)
      return undefined; // the status says all of this already
    const reported = { metadata: { name, namespace }, status: { observedGeneration, conditions } };
    await client.status().apply(Gadget.resource, reported, { force: true, signal });
    return undefined;
  },
};
