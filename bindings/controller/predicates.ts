/**
 * The standard predicates: they decide which events a source handles.
 *
 * - A cache compares the bytes of two states when it stores an update. Where these answer a
 *   predicate's question, nothing is decoded. Other objects are compared by value as in
 *   controller-runtime: a missing map equals an empty one, and a missing generation equals 0.
 * - A predicate has methods only for the kinds of events that it may reject. Other events skip it,
 *   and it does not appear in their causes.
 *
 * controller-runtime: pkg/predicate/predicate.go.
 */
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireObject,
  requireString,
} from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { namesOf, requireMembers, requireNames } from '../base/names.ts';
import { type LabelSelector, labelMatcher } from '../base/selectors.ts';
import { type Change, LazyChange } from '../cache/bytes/change.ts';
import { comparedAsBytes, objectMetadata, sameVersion } from './metadata.ts';
import type { CreateEvent, DeleteEvent, GenericEvent, Predicate, UpdateEvent } from './source.ts';

/** Options of the predicates that compare a part of an object with its previous state. */
export interface ChangedPredicateOptions {
  /**
   * Lets an update pass if the object was deleted and created again (its uid differs). A cache that
   * missed the deletion gets both as one update. Default false, as in controller-runtime: such an
   * update passes only if the part differs. kube-rs lets it pass.
   */
  recreated?: boolean | undefined;
}

/** Two states of an object. Default of `change`: computed from the two. */
export interface TwoStates<T> {
  readonly objectOld: T;
  readonly objectNew: T;
  readonly change?: Change | undefined;
}

/** A predicate of updates. A test can call it with only the two objects. */
export interface ChangedPredicate extends Predicate<object> {
  readonly update: (event: TwoStates<object>) => boolean;
}

const CHANGED_NAMES = namesOf<ChangedPredicateOptions>()({ recreated: 1 });
const NAME = namesOf<{ name: string }>()({ name: 1 });
const PREDICATE_NAMES = namesOf<Predicate>()({
  create: 1,
  update: 1,
  delete: 1,
  generic: 1,
  name: 1,
});

/**
 * Passes updates that changed `metadata.generation`: for custom resources every change except of
 * metadata and status. It rejects updates of labels, annotations, finalizers and status. Other
 * kinds of events pass. controller-runtime: predicate.GenerationChangedPredicate.
 *
 * @example
 * const relevant = or(generationChangedPredicate(), annotationChangedPredicate());
 */
export function generationChangedPredicate(
  options: ChangedPredicateOptions = {},
): ChangedPredicate {
  return changed('generationChanged', options, (event) => {
    if (!event.change.generation) return false;
    return (
      comparedAsBytes(event) || generationOf(event.objectOld) !== generationOf(event.objectNew)
    );
  });
}

/**
 * Passes updates that changed `metadata.labels`. Other kinds of events pass. controller-runtime:
 * predicate.LabelChangedPredicate.
 */
export function labelChangedPredicate(options: ChangedPredicateOptions = {}): ChangedPredicate {
  return changed(
    'labelChanged',
    options,
    (event) => event.change.labels && mapDiffers(event, 'labels'),
  );
}

/**
 * Passes updates that changed `metadata.annotations`. Other kinds of events pass.
 * controller-runtime: predicate.AnnotationChangedPredicate.
 */
export function annotationChangedPredicate(
  options: ChangedPredicateOptions = {},
): ChangedPredicate {
  return changed(
    'annotationChanged',
    options,
    (event) => event.change.annotations && mapDiffers(event, 'annotations'),
  );
}

/**
 * Passes updates that changed `metadata.resourceVersion`, and so rejects those of a resync or a
 * relist. Other kinds of events pass. controller-runtime:
 * predicate.ResourceVersionChangedPredicate.
 */
export function resourceVersionChangedPredicate(): ChangedPredicate {
  return changed('resourceVersionChanged', {}, (event) => !sameVersion(event));
}

/**
 * Passes events whose object matches the label selector; of an update the new state is checked, so
 * that the update with which an object stops matching is rejected. The selector is a string or a
 * LabelSelector object; an empty one matches everything. It reads the labels of every event's
 * object. controller-runtime: predicate.LabelSelectorPredicate.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const mine = labelSelectorPredicate('app=web,tier!=test');
 */
export function labelSelectorPredicate(selector: string | LabelSelector): Predicate<object> {
  const matches = labelMatcher(selector);
  return newPredicateFuncs((object: object) => matches(objectMetadata(object)?.labels ?? {}), {
    name: 'labelSelector',
  });
}

/**
 * Passes events whose object the filter accepts; of an update the new state is checked.
 * controller-runtime: predicate.NewPredicateFuncs.
 *
 * @param options `name` is shown in the causes of a run; default: the name of the function
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const ours = newPredicateFuncs((pod: V1Pod) => pod.metadata?.namespace === 'ours', {
 *   name: 'ours',
 * });
 */
export function newPredicateFuncs<T = object>(
  filter: (object: T) => boolean,
  options: { name?: string | undefined } = {},
): Predicate<T> {
  requireFunction('filter', filter);
  requireNames('options', options, 'option of newPredicateFuncs()', NAME);
  return predicateFuncs<T>({
    name: options.name ?? filter.name,
    create: ({ object }) => filter(object),
    update: ({ objectNew }) => filter(objectNew),
    delete: ({ object }) => filter(object),
    generic: ({ object }) => filter(object),
  });
}

/**
 * Makes a predicate from functions, one for each kind of event; a missing function lets its events
 * pass. A plain object with such functions is a predicate too; use this to check it early.
 * controller-runtime: predicate.Funcs.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function predicateFuncs<T = object>(funcs: Predicate<T>): Predicate<T> {
  requirePredicate('funcs', funcs);
  return funcs;
}

/**
 * Passes events that all predicates pass. Without predicates every event passes.
 * controller-runtime: predicate.And.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function and<T = object>(...predicates: Predicate<T>[]): Predicate<T> {
  return combined('and', predicates, (kind) => {
    const tests = predicates.flatMap((predicate) => testOf(predicate, kind) ?? []);
    return tests.length === 0 ? undefined : (event) => tests.every((test) => test(event));
  });
}

/**
 * Passes events that at least one predicate passes. Without predicates no event passes.
 * controller-runtime: predicate.Or.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function or<T = object>(...predicates: Predicate<T>[]): Predicate<T> {
  return combined('or', predicates, (kind) => {
    const tests = predicates.flatMap((predicate) => testOf(predicate, kind) ?? []);
    return tests.length < predicates.length
      ? undefined
      : (event) => tests.some((test) => test(event));
  });
}

/**
 * Passes events that the predicate rejects. A predicate without a method for a kind of event passes
 * all of them, so that its negation rejects them all. controller-runtime: predicate.Not.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function not<T = object>(predicate: Predicate<T>): Predicate<T> {
  return combined('not', [predicate], (kind) => {
    const test = testOf(predicate, kind);
    return (event) => test !== undefined && !test(event);
  });
}

/**
 * Makes the event of an update from two states, for tests of predicates and handlers. `change` says
 * what differs, as in the events of a cache.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const specChanged: Predicate<object> = { update: ({ change }) => change.spec };
 * specChanged.update?.(updateEvent({ spec: { replicas: 1 } }, { spec: { replicas: 2 } })); // true
 */
export function updateEvent<T extends object>(objectOld: T, objectNew: T): UpdateEvent<T> {
  requireObject('objectOld', objectOld);
  requireObject('objectNew', objectNew);
  return withChange({ objectOld, objectNew });
}

/**
 * Whether an event passes a predicate, for unit tests: an update needs its two objects, another
 * event its object. Absent members get defaults: `change` is computed from the two objects, and
 * `isInInitialList` and `deleteStateUnknown` are false. An error of the predicate is thrown. (A
 * controller would report it and let the event pass.)
 *
 * @throws CapstanError INVALID_ARGUMENT, also if the predicate returns anything but a boolean
 * @example
 * const predicate = and(generationChangedPredicate(), labelSelectorPredicate('app=web'));
 * const object = { metadata: { generation: 1, labels: { app: 'web' } } };
 * passes(predicate, 'create', { object }); // true
 * passes(predicate, 'update', { objectOld: object, objectNew: object }); // false
 */
export function passes<T>(predicate: Predicate<T>, kind: 'update', event: TwoStates<T>): boolean;
export function passes<T>(
  predicate: Predicate<T>,
  kind: 'create' | 'delete' | 'generic',
  event: GenericEvent<T> & Partial<CreateEvent<T> & DeleteEvent<T>>,
): boolean;
export function passes<T>(
  predicate: Predicate<T>,
  kind: EventKind,
  event: TwoStates<T> | GenericEvent<T>,
): boolean {
  requirePredicate('predicate', predicate);
  if (!EVENT_KINDS.includes(kind))
    throw invalid('kind', '"create", "update", "delete" or "generic"', kind);
  requireObject('event', event);
  const filledIn =
    'objectOld' in event
      ? withChange(event as TwoStates<object>)
      : { isInInitialList: false, deleteStateUnknown: false, ...event };
  if ((kind === 'update') !== 'objectOld' in event)
    throw invalid('event', kind === 'update' ? 'objectOld and objectNew' : 'object', event);
  return testOf(predicate, kind)?.(filledIn) ?? true;
}

const EVENT_KINDS = ['create', 'update', 'delete', 'generic'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** One method of a predicate: whether an event passes. */
export type EventTest = (event: unknown) => boolean;

/**
 * The predicate's method for a kind of event; `undefined` if it has none. The method throws
 * CapstanError INVALID_ARGUMENT for a result that is not a boolean, because a promise would let
 * every event pass.
 */
export function testOf<T>(predicate: Predicate<T>, kind: EventKind): EventTest | undefined {
  const method = predicate[kind] as EventTest | undefined;
  if (method === undefined) return undefined;
  return (event) => {
    const passes = method.call(predicate, event);
    if (typeof passes !== 'boolean')
      throw invalid(`${predicateName(predicate)}.${kind}`, 'true or false', passes);
    return passes;
  };
}

/** The name of a predicate in causes and messages. */
export function predicateName<T>({ name }: Predicate<T>): string {
  return name === undefined || name === '' ? 'unnamed' : name;
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requirePredicate(name: string, predicate: unknown): void {
  requireMembers(name, predicate, 'member of a predicate', PREDICATE_NAMES);
  const given = predicate as Record<string, unknown>;
  for (const kind of EVENT_KINDS)
    if (given[kind] !== undefined) requireFunction(`${name}.${kind}`, given[kind]);
  if (given.name !== undefined) requireString(`${name}.name`, given.name);
}

function combined<T>(
  name: string,
  predicates: Predicate<T>[],
  testFor: (kind: EventKind) => EventTest | undefined,
): Predicate<T> {
  for (const [i, predicate] of predicates.entries())
    requirePredicate(`predicates[${i}]`, predicate);
  const tests = EVENT_KINDS.map((kind) => [kind, testFor(kind)] as const).filter(
    ([, test]) => test !== undefined,
  );
  return {
    name: `${name}(${predicates.map(predicateName).join(', ')})`,
    ...Object.fromEntries(tests),
  };
}

function changed(
  name: string,
  options: ChangedPredicateOptions,
  differs: (event: UpdateEvent<object>) => boolean,
): ChangedPredicate {
  requireNames('options', options, `option of ${name}Predicate()`, CHANGED_NAMES);
  const { recreated = false } = options;
  requireBoolean('options.recreated', recreated);
  return {
    name,
    update(event) {
      if (!hasBoth(event, name)) return false;
      const update = withChange(event);
      return differs(update) || (recreated && isRecreated(update));
    },
  };
}

function withChange<T extends object>(event: TwoStates<T>): UpdateEvent<T> {
  if (event.change !== undefined) return event as UpdateEvent<T>;
  return { ...event, change: new LazyChange(event.objectOld, event.objectNew) };
}

/** Reports an event without one of its objects and rejects it, as controller-runtime does. */
function hasBoth(
  { objectOld, objectNew }: TwoStates<object | undefined | null>,
  name: string,
): boolean {
  if (objectOld != null && objectNew != null) return true;
  const [which, got] = objectOld == null ? ['objectOld', objectOld] : ['objectNew', objectNew];
  handleError(invalid(`event.${which}`, 'an object', got), `predicate ${name}`);
  return false;
}

function isRecreated({ objectOld, objectNew, change }: UpdateEvent<object>): boolean {
  return change.metadata && objectMetadata(objectOld)?.uid !== objectMetadata(objectNew)?.uid;
}

function generationOf(object: object): number {
  return objectMetadata(object)?.generation ?? 0;
}

function mapDiffers(
  { objectOld, objectNew }: UpdateEvent<object>,
  part: 'labels' | 'annotations',
): boolean {
  const old = objectMetadata(objectOld)?.[part] ?? {};
  const now = objectMetadata(objectNew)?.[part] ?? {};
  const keys = Object.keys(old);
  if (keys.length !== Object.keys(now).length) return true;
  return keys.some((key) => now[key] !== old[key]); // inherited members are not strings
}
