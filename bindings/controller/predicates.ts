/**
 * Which events count. The standard predicates run on the change bits that a cache has found by
 * comparing bytes, and decode nothing where those settle it; of any other two objects they compare
 * the values, as controller-runtime does: no map and an empty one are the same, and so are no
 * generation and 0.
 *
 * A predicate has a method only for the kinds of events that it may turn away, so that all others
 * cost nothing and are not said to have passed it. controller-runtime: pkg/predicate/predicate.go.
 */
import { invalid, requireBoolean, requireFunction, requireString } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { namesOf, requireMembers, requireNames } from '../base/names.ts';
import { type LabelSelector, labelMatcher } from '../base/selectors.ts';
import { comparedAsBytes, objectMetadata, sameVersion } from './metadata.ts';
import type { Predicate, UpdateEvent } from './source.ts';

/** Of the predicates that compare a part of an object with what it was. */
export interface ChangedPredicateOptions {
  /**
   * Whether an update from one object to another of the same name (another uid) passes in any case.
   * A deletion and a creation that a cache missed arrive as one such update. Default false, as in
   * controller-runtime: it passes only if the part differs. kube-rs lets it pass.
   */
  recreated?: boolean | undefined;
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
 * Updates that changed `metadata.generation`, which for custom resources is a change of anything
 * but metadata and status. Labels, annotations and finalizers do not change it, nor does somebody
 * who overwrites the status. All other events pass. controller-runtime:
 * predicate.GenerationChangedPredicate.
 *
 * @example
 * const relevant = or(generationChangedPredicate(), annotationChangedPredicate());
 */
export function generationChangedPredicate(
  options: ChangedPredicateOptions = {},
): Predicate<object> {
  return changed('generationChanged', options, (event) => {
    if (!event.change.generation) return false;
    return (
      comparedAsBytes(event) || generationOf(event.objectOld) !== generationOf(event.objectNew)
    );
  });
}

/**
 * Updates that changed `metadata.labels`, by value. All other events pass. controller-runtime:
 * predicate.LabelChangedPredicate.
 */
export function labelChangedPredicate(options: ChangedPredicateOptions = {}): Predicate<object> {
  return changed(
    'labelChanged',
    options,
    (event) => event.change.labels && mapDiffers(event, 'labels'),
  );
}

/**
 * Updates that changed `metadata.annotations`, by value. All other events pass. controller-runtime:
 * predicate.AnnotationChangedPredicate.
 */
export function annotationChangedPredicate(
  options: ChangedPredicateOptions = {},
): Predicate<object> {
  return changed(
    'annotationChanged',
    options,
    (event) => event.change.annotations && mapDiffers(event, 'annotations'),
  );
}

/**
 * Updates that changed anything: not those of a resync or of a list that brought the object again.
 * All other events pass. controller-runtime: predicate.ResourceVersionChangedPredicate.
 */
export function resourceVersionChangedPredicate(): Predicate<object> {
  return changed('resourceVersionChanged', {}, (event) => !sameVersion(event));
}

/**
 * Events of objects whose labels match, of an update the new state: an object that stops matching
 * is not heard of. A selector as text or as objects carry it; the empty one matches everything.
 * Reads the labels of each event. controller-runtime: predicate.LabelSelectorPredicate.
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
 * Events whose object passes a filter, of an update the new one. controller-runtime:
 * predicate.NewPredicateFuncs.
 *
 * @param options `name` in the causes of a run; by default the function's own
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const ours = newPredicateFuncs((pod: V1Pod) => pod.metadata?.namespace === 'ours', { name: 'ours' });
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
 * A predicate of functions, one for each kind of event; those that are left out let theirs pass.
 * Wherever a predicate is expected, an object with such functions will do; this checks it.
 * controller-runtime: predicate.Funcs.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function predicateFuncs<T = object>(funcs: Predicate<T>): Predicate<T> {
  requirePredicate('funcs', funcs);
  return funcs;
}

/**
 * Events that pass all of them; with none, every event. controller-runtime: predicate.And. @throws
 * CapstanError INVALID_ARGUMENT
 */
export function and<T = object>(...predicates: Predicate<T>[]): Predicate<T> {
  return combined('and', predicates, (kind) => {
    const tests = predicates.flatMap((predicate) => testOf(predicate, kind) ?? []);
    return tests.length === 0 ? undefined : (event) => tests.every((test) => test(event));
  });
}

/**
 * Events that pass one of them; with none, no event. controller-runtime: predicate.Or. @throws
 * CapstanError INVALID_ARGUMENT
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
 * Events that do not pass it. One that says nothing of a kind of event lets it pass, so that this
 * turns all of them away. controller-runtime: predicate.Not.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function not<T = object>(predicate: Predicate<T>): Predicate<T> {
  return combined('not', [predicate], (kind) => {
    const test = testOf(predicate, kind);
    return (event) => test !== undefined && !test(event);
  });
}

export const EVENT_KINDS = ['create', 'update', 'delete', 'generic'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** What a predicate says of events of a kind; `undefined`: all of them pass. */
export type EventTest = (event: unknown) => boolean;

/**
 * Throws CapstanError INVALID_ARGUMENT, when called, for an answer that is no boolean: a promise
 * would let every event pass.
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

/** How a predicate is called in causes and messages. */
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
): Predicate<object> {
  requireNames('options', options, `option of ${name}Predicate()`, CHANGED_NAMES);
  const { recreated = false } = options;
  requireBoolean('options.recreated', recreated);
  return {
    name,
    update(event) {
      if (!hasBoth(event, name)) return false;
      return differs(event) || (recreated && isRecreated(event));
    },
  };
}

/** controller-runtime reports such an event and turns it away. */
function hasBoth(
  { objectOld, objectNew }: UpdateEvent<object | undefined | null>,
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
  return keys.some((key) => now[key] !== old[key]); // what a plain object inherits is no string
}
