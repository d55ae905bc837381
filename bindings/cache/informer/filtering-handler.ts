/**
 * A handler that sees a part of the objects. client-go: tools/cache/controller.go
 * FilteringResourceEventHandler.
 */
import { invalid, requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { Change } from '../bytes/change.ts';
import { type DeletedFinalStateUnknown, isTombstone } from '../rest/keys.ts';
import { type ResourceEventHandler, requireHandler } from './handler.ts';

const NAMES = namesOf<{ filterFunc: unknown; handler: unknown }>()({ filterFunc: 1, handler: 1 });

/**
 * Passes on what a filter accepts, so that the handler sees a consistent part of the world: an
 * object that begins to pass is an addition, one that no longer passes is a deletion, with its last
 * state that passed. The filter is asked about the old and the new state of each update and must
 * answer the same for the same state.
 *
 * What the filter throws is the handler's error, as is an answer that is not true or false: it is
 * reported, counted, and costs the handler this one notification.
 *
 * A tombstone is judged by the last state that was known; where none is, it is passed on.
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

  /** What the handlers return is passed on, so that the promise of an async one is waited for. */
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
