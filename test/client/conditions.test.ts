/**
 * Conditions as apimachinery keeps them: the time of the last transition moves with the status
 * alone.
 */
import {
  type Condition,
  findStatusCondition,
  isStatusConditionFalse,
  isStatusConditionPresentAndEqual,
  isStatusConditionTrue,
  removeStatusCondition,
  setStatusCondition,
} from 'capstan/client';
import { describe, expect, it } from 'vitest';

const now = Date.parse('2026-11-21T12:00:00.789Z');
const wallNow = () => now;
const hourBefore = '2026-11-21T11:00:00Z';
const hourAfter = '2026-11-21T13:00:00Z';

const condition = (type: string, more: Partial<Condition> = {}): Condition => ({
  type,
  status: 'True',
  reason: 'reason',
  message: 'message',
  lastTransitionTime: hourBefore,
  ...more,
});
const first = condition('first');
const third = condition('third');

describe('a condition that is set', () => {
  it('comes at the end if there was none of its type', () => {
    const second = condition('second');
    expect(setStatusCondition([first, third], second, { wallNow })).toEqual([first, third, second]);
  });

  it('is dated now, in UTC and to the second, unless it brings a time', () => {
    const { lastTransitionTime: _, ...undated } = condition('second');
    expect(setStatusCondition(undefined, undated, { wallNow })).toEqual([
      condition('second', { lastTransitionTime: '2026-11-21T12:00:00Z' }),
    ]);
  });

  it('brings its own time where the status differs', () => {
    const second = condition('second', { status: 'False', lastTransitionTime: hourAfter });
    expect(setStatusCondition([first, condition('second'), third], second, { wallNow })).toEqual([
      first,
      second,
      third,
    ]);
  });

  it('is dated now where the status differs and it brings none', () => {
    const { lastTransitionTime: _, ...undated } = condition('second', { status: 'False' });
    const set = setStatusCondition([first, condition('second')], undated, { wallNow });
    expect(set[1]).toEqual({ ...undated, lastTransitionTime: '2026-11-21T12:00:00Z' });
  });

  it('keeps the time of its last transition where the status is the same, whatever else changes', () => {
    const second = condition('second', {
      reason: 'other',
      message: 'words',
      observedGeneration: 3,
      lastTransitionTime: hourAfter,
    });
    const before = [first, condition('second'), third];
    const copy = structuredClone(before);
    expect(setStatusCondition(before, second, { wallNow })).toEqual([
      first,
      { ...second, lastTransitionTime: hourBefore },
      third,
    ]);
    expect(before, 'what was given is left alone').toEqual(copy);
  });

  it.each([
    ['reason', { reason: 'other' }],
    ['message', { message: 'other' }],
    ['observed generation', { observedGeneration: 7 }],
  ])('counts as a change if its %s differs', (_, more) => {
    const list = [first];
    expect(setStatusCondition(list, condition('first', more))).not.toBe(list);
  });

  it('changes nothing if it says what is there: the same list comes back', () => {
    const list = [first, condition('second', { observedGeneration: undefined }), third];
    const { lastTransitionTime: _, ...undated } = first;
    expect(setStatusCondition(list, undated)).toBe(list);
    expect(setStatusCondition(list, condition('second', { observedGeneration: 0 }))).toBe(list);
  });

  it('keeps members that are not its own, of types with more of them', () => {
    const list = [{ ...first, severity: 'Info' }];
    expect(
      setStatusCondition(list, { ...condition('first', { status: 'False' }), severity: 'Info' })[0],
    ).toMatchObject({
      status: 'False',
      severity: 'Info',
    });
  });

  it('takes away an observed generation that it no longer has', () => {
    const [set] = setStatusCondition(
      [condition('first', { observedGeneration: 3 })],
      condition('first'),
    );
    expect(set).not.toHaveProperty('observedGeneration');
  });

  it('needs a type and a status', () => {
    const bad = (value: object) => () => setStatusCondition([], value as Condition);
    expect(bad({ status: 'True' })).toThrow(
      '"condition.type" expected a type such as "Ready", got undefined',
    );
    expect(bad({ type: 'Ready' })).toThrow('"condition.status" expected');
  });
});

describe('a condition that is removed', () => {
  it('is gone, and the others stay', () => {
    expect(removeStatusCondition([first, condition('second'), third], 'second')).toEqual([
      first,
      third,
    ]);
  });

  it('and was not there leaves the same list', () => {
    const list = [first, third];
    expect(removeStatusCondition(list, 'fourth')).toBe(list);
    expect(removeStatusCondition(undefined, 'fourth')).toEqual([]);
  });
});

describe('a condition that is looked for', () => {
  it('is found by its type', () => {
    expect(findStatusCondition([first, third], 'third')).toBe(third);
    expect(findStatusCondition([first], 'second')).toBeUndefined();
    expect(findStatusCondition(undefined, 'second')).toBeUndefined();
  });

  it.each([
    ['Unknown', false, false],
    ['True', true, false],
    ['False', false, true],
  ] as const)('with the status %s is true: %s, false: %s', (status, isTrue, isFalse) => {
    const list = [condition('first', { status })];
    expect(isStatusConditionTrue(list, 'first')).toBe(isTrue);
    expect(isStatusConditionFalse(list, 'first')).toBe(isFalse);
    expect(isStatusConditionPresentAndEqual(list, 'first', status)).toBe(true);
    expect(isStatusConditionTrue(list, 'second')).toBe(false);
    expect(isStatusConditionFalse(list, 'second'), 'of what is not there nothing is known').toBe(
      false,
    );
  });
});
