/**
 * Status conditions: a list with one entry per type, whose `lastTransitionTime` changes when the
 * status does. apimachinery: pkg/api/meta/conditions.go.
 *
 * The list that is passed in is never changed. The functions return the same list if nothing had to
 * change, else a new one. Some kinds allow null in the list; it is kept and has no type.
 */

import { systemWallNow } from '../base/clock.ts';
import { invalid, requireObject } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { formatTime } from '../base/times.ts';
import { listOf } from './metadata.ts';

/** metav1.Condition. */
export interface Condition {
  /** Such as `Ready`. */
  type: string;
  status: 'True' | 'False' | 'Unknown';
  /** A reason in CamelCase, for programs. */
  reason: string;
  /** A message for people; may be empty. */
  message: string;
  /** RFC 3339, in UTC and to the second. */
  lastTransitionTime: string;
  /** The `metadata.generation` that the condition is based on. */
  observedGeneration?: number | undefined;
}

/** The type of conditions in a user's own types. Zod's optional members allow `undefined`. */
export interface ConditionLike {
  type: string;
  status: string;
  reason?: string | undefined;
  message?: string | undefined;
  lastTransitionTime?: unknown;
  observedGeneration?: number | undefined;
}

/** A condition without `lastTransitionTime`, which is filled in. */
export type NewCondition<C extends ConditionLike = Condition> = Omit<C, 'lastTransitionTime'> & {
  [K in 'lastTransitionTime' & keyof C]?: C[K] | undefined;
};

/** An empty list has no type of its own. */
type Known<C extends ConditionLike> = [C] extends [never] ? Condition : C;

/** Options of {@link setStatusCondition}. */
export interface SetConditionOptions {
  /**
   * Returns the time of day in milliseconds since 1970. Default: the host's. In a reconcile pass
   * `context.now`, so that a test with a `FakeClock` decides the time.
   */
  readonly wallNow?: (() => number) | undefined;
}

const NAMES = namesOf<SetConditionOptions>()({ wallNow: 1 });

/**
 * Sets the condition of its type, or appends it. `lastTransitionTime` becomes the given one, or
 * now, if there was no condition of this type or its status differs; else it stays.
 *
 * @param conditions such as `object.status?.conditions`: undefined and null are none
 * @returns a new list; the same one if it says all of this already
 * @throws CapstanError INVALID_ARGUMENT for a condition without type or status, and for conditions
 *   that are no list
 * @example
 * const ready = { type: 'Ready', status: 'True', reason: 'Deployed', message: '' } as const;
 * const conditions = setStatusCondition([], ready);
 * isStatusConditionTrue(conditions, 'Ready'); // true
 */
export function setStatusCondition<C extends ConditionLike = Condition>(
  conditions: readonly C[] | null | undefined,
  condition: NewCondition<Known<NoInfer<C>>>,
  options: SetConditionOptions = {},
): Known<C>[] {
  requireNames('options', options, 'option of setStatusCondition()', NAMES);
  const wanted = checked(condition);
  const list = listOf('conditions', conditions);
  const at = list.findIndex((each) => each?.type === wanted.type);
  const existing = list[at];
  if (existing === undefined || existing === null)
    return [...list, dated(wanted, options)] as Known<C>[];
  const moved = existing.status !== wanted.status;
  const next: ConditionLike = {
    ...existing,
    status: wanted.status,
    reason: wanted.reason,
    message: wanted.message,
    observedGeneration: wanted.observedGeneration,
    lastTransitionTime: moved
      ? dated(wanted, options).lastTransitionTime
      : existing.lastTransitionTime,
  };
  for (const member of ['reason', 'message', 'observedGeneration', 'lastTransitionTime'] as const)
    if (next[member] === undefined) delete next[member];
  if (!moved && SAID.every((member) => same(existing[member], next[member])))
    return list as Known<C>[];
  return list.with(at, next as C) as Known<C>[];
}

/** The members besides type, status and time. */
const SAID = ['reason', 'message', 'observedGeneration'] as const;

/** Go omits an empty text and a generation of 0. */
const same = (a: unknown, b: unknown): boolean => a === b || (!a && !b);

/** Removes the condition of this type. Returns the same list if there is none. */
export function removeStatusCondition<C extends ConditionLike>(
  conditions: readonly C[] | null | undefined,
  type: string,
): C[] {
  const list = listOf('conditions', conditions) as C[];
  const rest = list.filter((condition: C | null) => condition?.type !== type);
  return rest.length === list.length ? list : rest;
}

/** Finds the condition of this type. */
export function findStatusCondition<C extends ConditionLike>(
  conditions: readonly C[] | null | undefined,
  type: string,
): C | undefined {
  return listOf('conditions', conditions).find((each) => each?.type === type) ?? undefined;
}

/** Whether there is a condition of this type and it is `True`. */
export function isStatusConditionTrue(
  conditions: readonly ConditionLike[] | null | undefined,
  type: string,
): boolean {
  return isStatusConditionPresentAndEqual(conditions, type, 'True');
}

/**
 * Whether there is a condition of this type and it is `False`. A missing condition is unknown, not
 * false.
 */
export function isStatusConditionFalse(
  conditions: readonly ConditionLike[] | null | undefined,
  type: string,
): boolean {
  return isStatusConditionPresentAndEqual(conditions, type, 'False');
}

/** Whether there is a condition of this type with this status. */
export function isStatusConditionPresentAndEqual(
  conditions: readonly ConditionLike[] | null | undefined,
  type: string,
  status: string,
): boolean {
  return findStatusCondition(conditions, type)?.status === status;
}

function checked(condition: object): ConditionLike {
  requireObject('condition', condition);
  const { type, status } = condition as Partial<ConditionLike>;
  if (typeof type !== 'string' || type === '')
    throw invalid('condition.type', 'a type such as "Ready"', type);
  if (typeof status !== 'string' || status === '')
    throw invalid('condition.status', '"True", "False" or "Unknown"', status);
  return condition as ConditionLike;
}

function dated(
  condition: ConditionLike,
  { wallNow = systemWallNow }: SetConditionOptions,
): ConditionLike {
  return {
    ...condition,
    lastTransitionTime: condition.lastTransitionTime ?? formatTime(wallNow()),
  };
}
