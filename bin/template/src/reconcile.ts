/**
 * The reconcile function. It is level-triggered: it compares the desired state with the current one
 * and ignores which event came, so that it may run twice or continue after a failure.
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
 * A built-in kind needs only the members that are used; or use the types of
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

/** Adds the controller to a manager, which starts it when this process leads. */
export function setupWithManager(manager: Manager): void {
  const { client } = manager;
  newControllerManagedBy(manager)
    .for(Greeting.resource)
    .owns(ConfigMap) // a change or deletion by others is reverted
    .withOptions({ maxConcurrentReconciles: 4, reconciliationTimeout: 30_000 })
    .complete(
      asReconciler(client, {
        resource: Greeting.resource,
        reconcile: (object, { signal }) => reconcile(client, object, { signal }),
      }),
    );
}

/** Reconciles one object. An error is logged and the request retried after 5 ms, 10 ms, 20 ms … */
export async function reconcile(
  client: Client,
  object: Greeting,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  const { metadata, spec } = object;
  // the garbage collector deletes the ConfigMap by its owner reference
  if (metadata.deletionTimestamp !== undefined) return;
  if (!spec.suspend) await client.apply(ConfigMap, configMapOf(object), { force: true, signal });
  await report(client, object, signal);
}

/** The desired ConfigMap: only the fields that this controller owns. */
function configMapOf(object: Greeting): ConfigMapObject {
  const { name, namespace } = object.metadata;
  const configMap = { metadata: { name, namespace }, data: { message: object.spec.message } };
  return setControllerReference(object, configMap, Greeting.resource);
}

/** Writes the status if it changes. */
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
