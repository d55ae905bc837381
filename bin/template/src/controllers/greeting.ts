/**
 * The controller of Greetings. Its reconcile function is level-triggered: it compares the desired
 * state with the current one and ignores which event came, so that it may run twice or continue
 * after a failure.
 */
import type { V1ConfigMap } from '@kubernetes/client-node';
import {
  type Client,
  type EventSink,
  ignoreNotFound,
  objectKey,
  setControllerReference,
  setStatusCondition,
} from 'capstan/client';
import { asReconciler, newControllerManagedBy, type Result } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';
import type { ControllerManager } from 'capstan/manager';
import { Greeting } from '../resources/greeting.ts';

/** What a reconcile needs. A test passes its own. */
interface Tools {
  readonly client: Client;
  readonly events?: EventSink;
  /** The time of day in milliseconds since 1970. */
  readonly now: () => number;
  readonly signal?: AbortSignal;
}

export const GreetingController = {
  crd: Greeting.crd,
  /** Adds the controller to a manager, which starts it when this process leads. */
  setupWithManager(manager: ControllerManager): void {
    const { client } = manager;
    const events = manager.eventRecorder('example.com/greeting-controller');
    newControllerManagedBy(manager)
      .for(Greeting.resource)
      .owns(ConfigMap) // a change or deletion by others is reverted
      .withOptions({ maxConcurrentReconciles: 4, reconciliationTimeout: 30_000 })
      .complete(
        asReconciler(client, {
          resource: Greeting.resource,
          reconcile: (object, { now, signal }) =>
            GreetingController.reconcile(object, { client, events, now, signal }),
        }),
      );
  },

  /** Reconciles one object. An error is logged, and retried after 5 ms, 10 ms, 20 ms … */
  async reconcile(object: Greeting, tools: Tools): Promise<Result | undefined> {
    const { client, events, now, signal } = tools;
    const { metadata, spec } = object;
    const key = objectKey(object);
    // the garbage collector deletes the ConfigMap by its owner reference
    if (metadata.deletionTimestamp !== undefined) return undefined;

    const left = leftMs(object, now());
    if (left <= 0) {
      await client.delete(ConfigMap, key, { signal }).catch(ignoreNotFound);
      const message = `the time of ${spec.ttlSeconds} s has ended`;
      if (await report(object, { status: 'False', reason: 'Expired', message }, tools))
        events?.event(object, { reason: 'Expired', action: 'Deleting', note: message });
      return undefined;
    }
    await client.apply(ConfigMap, configMapOf(object), { force: true, signal });
    const message = `ConfigMap ${key.name} says the message`;
    await report(object, { status: 'True', reason: 'Written', message }, tools);
    return left === Number.POSITIVE_INFINITY ? undefined : { requeueAfter: left };
  },
};

/** Milliseconds until the end of the object's time. */
function leftMs({ metadata, spec }: Greeting, now: number): number {
  if (spec.ttlSeconds === undefined) return Number.POSITIVE_INFINITY;
  return Date.parse(metadata.creationTimestamp ?? '') + spec.ttlSeconds * 1000 - now;
}

/** The desired ConfigMap: only the fields that this controller owns. */
function configMapOf(object: Greeting): V1ConfigMap {
  const configMap = { metadata: objectKey(object), data: { message: object.spec.message } };
  return setControllerReference(object, configMap, Greeting.resource);
}

/** Writes the status if it changes, and returns whether it did. */
async function report(
  object: Greeting,
  ready: { status: 'True' | 'False'; reason: string; message: string },
  { client, now, signal }: Tools,
): Promise<boolean> {
  const { metadata, status } = object;
  const observedGeneration = metadata.generation;
  const conditions = setStatusCondition(
    status?.conditions,
    { type: 'Ready', ...ready, observedGeneration },
    { wallNow: now },
  );
  if (conditions === status?.conditions && status.observedGeneration === observedGeneration)
    return false;
  const reported = { metadata: objectKey(object), status: { observedGeneration, conditions } };
  await client.status().apply(Greeting.resource, reported, { force: true, signal });
  return true;
}
