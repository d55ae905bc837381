/**
 * What the controller does. It is level-triggered: it never asks what has happened, only what
 * should be and what is, so that a second run, or one after a failure half-way, ends in the same
 * place.
 */
import { defineResource } from 'capstan/cache';
import {
  type Client,
  type ObjectMeta,
  setControllerReference,
  setStatusCondition,
} from 'capstan/client';
import { asReconciler, type Manager, newControllerManagedBy } from 'capstan/controller';
import { Greeting } from './greeting.ts';

/**
 * Of a built-in kind it is enough to say what is used of it; or take the types of
 * @kubernetes/client-node.
 */
export interface ConfigMapObject {
  metadata: ObjectMeta;
  data?: Record<string, string>;
}

export const ConfigMap = defineResource<ConfigMapObject>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

/** Adds the controller to a manager, which starts it as soon as this process leads. */
export function setupWithManager(manager: Manager): void {
  const { client } = manager;
  newControllerManagedBy(manager)
    .for(Greeting.resource)
    .owns(ConfigMap) // changed or deleted by others, it is restored
    .withOptions({ maxConcurrentReconciles: 4, reconciliationTimeout: 30_000 })
    .complete(
      asReconciler(client, {
        resource: Greeting.resource,
        reconcile: (object, { signal }) => reconcile(client, object, { signal }),
      }),
    );
}

/**
 * Makes the world match one object. What it throws is logged, and tried again after 5 ms, 10 ms, 20
 * ms …
 */
export async function reconcile(
  client: Client,
  object: Greeting,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  const { metadata, spec } = object;
  // the cluster deletes what has an owner reference to it
  if (metadata.deletionTimestamp !== undefined) return;
  if (!spec.suspend) await client.apply(ConfigMap, configMapOf(object), { force: true, signal });
  await report(client, object, signal);
}

/** The ConfigMap as it should be: the fields that belong to this controller, and no others. */
function configMapOf(object: Greeting): ConfigMapObject {
  const { name, namespace } = object.metadata;
  const configMap = { metadata: { name, namespace }, data: { message: object.spec.message } };
  return setControllerReference(object, configMap, Greeting.resource);
}

/** Writes the status, unless it says all of this already. */
async function report(
  client: Client,
  object: Greeting,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { spec, status } = object;
  const { name, namespace, generation: observedGeneration } = object.metadata;
  const conditions = setStatusCondition(status?.conditions, {
    type: 'Ready',
    ...(spec.suspend
      ? { status: 'False', reason: 'Suspended', message: 'spec.suspend is set' }
      : { status: 'True', reason: 'Written', message: `ConfigMap ${name} says the message` }),
    observedGeneration,
  });
  if (conditions === status?.conditions && status.observedGeneration === observedGeneration) return;
  const reported = { metadata: { name, namespace }, status: { observedGeneration, conditions } };
  await client.status().apply(Greeting.resource, reported, { force: true, signal });
}
