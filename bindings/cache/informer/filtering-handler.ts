/**
 * A handler that gets only the objects that pass a filter. client-go: tools/cache/controller.go
 * FilteringResourceEventHandler.
 */
import { invalid, requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { Change } from '../bytes/change.ts';
import { type DeletedFinalStateUnknown, isTombstone } from '../rest/keys.ts';
import { type ResourceEventHandler, requireHandler } from './handler.ts';

const NAMES = namesOf<{ filterFunc: unknown; handler: unknown }>()({ filterFunc: 1, handler: 1 });

/**
 * Passes only the objects that a filter accepts to another handler. An update to a state that
 * begins to pass is an addition; an update to one that no longer passes is a deletion, with the
 * last state that passed. The filter is called with the old and the new state of each update and
 * must be deterministic. client-go: FilteringResourceEventHandler.
 *
 * If the filter throws or returns anything but a boolean, that counts as a failed call of the
 * handler: it is reported, counted and not repeated.
 *
 * A tombstone is filtered by its last known state; one without a state is passed on.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * informer.addEventHandler(
 *   new FilteringResourceEventHandler({
 *     filterFunc: (pod) => pod.spec?.nodeName === 'node-1',
 *     handler: { onAdd: (pod) => use(pod), onDelete: (pod) => use(pod) },
 *   }),
 * );
 */
export class FilteringResourceEventHandler<T extends object> implements ResourceEventHandler<T> {
  readonly #filter: (object: T) => boolean;
  readonly #handler: ResourceEventHandler<T>;

  constructor(options: { filterFunc: (object: T) => boolean; handler: ResourceEventHandler<T> }) {
    requireNames('options', options, 'option of a FilteringResourceEventHandler', NAMES);
    requireFunction('options.filterFunc', options.filterFunc);
    requireHandler(options.handler);
    this.#filter = options.filterFunc;
    this.#handler = options.handler;
  }

  #passes(object: T): boolean {
    const passes: unknown = this.#filter(object);
    if (typeof passes !== 'boolean') throw invalid('options.filterFunc()', 'true or false', passes);
    return passes;
  }

  /** Returns the handler's promise, so that the informer waits for it. */
  onAdd(object: T, isInInitialList: boolean): unknown {
    return this.#passes(object) ? this.#handler.onAdd?.(object, isInInitialList) : undefined;
  }

  onUpdate(old: T, now: T, change: Change): unknown {
    const passes = this.#passes(now);
    const passed = this.#passes(old);
    if (passes && passed) return this.#handler.onUpdate?.(old, now, change);
    if (passes) return this.#handler.onAdd?.(now, false);
    return passed ? this.#handler.onDelete?.(old) : undefined;
  }

  onDelete(object: T | DeletedFinalStateUnknown<T>): unknown {
    const last = isTombstone(object) ? object.obj : object;
    return last === undefined || this.#passes(last) ? this.#handler.onDelete?.(object) : undefined;
  }
}
