/** An informer on a server inside the process, and handlers that record their calls. */
import {
  DeletedFinalStateUnknown,
  ListWatch,
  type ResourceEventHandler,
  SharedIndexInformer,
  type SharedIndexInformerOptions,
} from 'capstan/cache';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { type ConfigMap, ConfigMaps } from '../resources.ts';
import { LiveServer } from './live-server.ts';

export const nameOrTombstone = (object: ConfigMap | DeletedFinalStateUnknown<ConfigMap>): string =>
  object instanceof DeletedFinalStateUnknown ? `(${object.key})` : object.metadata.name;

/**
 * What a handler was told, in a word each: `+a` in the initial list, `a` added later, `~a` updated,
 * `-a` deleted, `-(default/a)` a tombstone.
 */
export function teller(into: string[]): ResourceEventHandler<ConfigMap> {
  return {
    onAdd: (object, isInInitialList) =>
      void into.push(`${isInInitialList ? '+' : ''}${nameOrTombstone(object)}`),
    onUpdate: (_, now) => void into.push(`~${nameOrTombstone(now)}`),
    onDelete: (object) => void into.push(`-${nameOrTombstone(object)}`),
  };
}

/** An informer that watches a server; nothing runs yet. */
export function setUp(
  options: SharedIndexInformerOptions<ConfigMap> & { resource?: typeof ConfigMaps } = {},
) {
  const { resource = ConfigMaps, ...rest } = options;
  const clock = (options.clock as FakeClock | undefined) ?? new FakeClock();
  const server = new LiveServer();
  const informer = new SharedIndexInformer(new ListWatch(server, resource), {
    clock,
    random: () => 0,
    ...rest,
  });
  return { clock, server, informer };
}

/**
 * A handler that takes one notification at a time, when `next` is called; what it was told is in
 * `told`.
 */
export function heldHandler(): {
  handler: ResourceEventHandler<ConfigMap>;
  told: string[];
  next(): void;
} {
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  const hold = (): undefined =>
    new Promise<void>((resolve) => waiting.push(resolve)) as unknown as undefined;
  const value = (object: ConfigMap): string => `${object.metadata.name}${object.data?.v ?? ''}`;
  return {
    told,
    next: () => waiting.shift()?.(),
    handler: {
      onAdd(object, isInInitialList) {
        told.push(`${isInInitialList ? '+' : ''}${value(object)}`);
        return hold();
      },
      onUpdate(old, now) {
        told.push(`${value(old)}~${value(now)}`);
        return hold();
      },
      onDelete(object) {
        const last = object instanceof DeletedFinalStateUnknown ? object.obj : object;
        told.push(`-${last === undefined ? '?' : value(last)}`);
        return hold();
      },
    },
  };
}
