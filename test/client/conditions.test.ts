/** Conditions as in apimachinery: the transition time changes only with the status. */
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

describe('setStatusCondition', () => {
  it('appends a condition of a new type', () => {
    const second = condition('second');
    expect(setStatusCondition([first, third], second, { wallNow })).toEqual([first, third, second]);
  });

  it('sets the time to now, in UTC and to the second, unless one is given', () => {
    const { lastTransitionTime: _, ...undated } = condition('second');
    expect(setStatusCondition(undefined, undated, { wallNow })).toEqual([
      condition('second', { lastTransitionTime: '2026-11-21T12:00:00Z' }),
    ]);
  });

  it('uses the given time if the status differs', () => {
    const second = condition('second', { status: 'False', lastTransitionTime: hourAfter });
    expect(setStatusCondition([first, condition('second'), third], second, { wallNow })).toEqual([
      first,
      second,
      third,
    ]);
  });

  it('sets the time to now if the status differs and none is given', () => {
    const { lastTransitionTime: _, ...undated } = condition('second', { status: 'False' });
    const set = setStatusCondition([first, condition('second')], undated, { wallNow });
    expect(set[1]).toEqual({ ...undated, lastTransitionTime: '2026-11-21T12:00:00Z' });
  });

  it('keeps the transition time while the status is the same', () => {
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
  ])('changes the list if %s differs', (_, more) => {
    const list = [first];
    expect(setStatusCondition(list, condition('first', more))).not.toBe(list);
  });

  it('returns the same list for an unchanged condition', () => {
    const list = [first, condition('second', { observedGeneration: undefined }), third];
    const { lastTransitionTime: _, ...undated } = first;
    expect(setStatusCondition(list, undated)).toBe(list);
    expect(setStatusCondition(list, condition('second', { observedGeneration: 0 }))).toBe(list);
  });

  it('keeps unknown members of the condition', () => {
    const list = [{ ...first, severity: 'Info' }];
    expect(
      setStatusCondition(list, { ...condition('first', { status: 'False' }), severity: 'Info' })[0],
    ).toMatchObject({
      status: 'False',
      severity: 'Info',
    });
  });

  it('removes an observedGeneration that is not given', () => {
    const [set] = setStatusCondition(
      [condition('first', { observedGeneration: 3 })],
      condition('first'),
    );
    expect(set).not.toHaveProperty('observedGeneration');
  });

  it('requires a type and a status', () => {
    const bad = (value: object) => () => setStatusCondition([], value as Condition);
    expect(bad({ status: 'True' })).toThrow(
      '"condition.type" expected a type such as "Ready", got undefined',
    );
    expect(bad({ type: 'Ready' })).toThrow('"condition.status" expected');
  });
});

describe('removeStatusCondition', () => {
  it('removes one condition and keeps the others', () => {
    expect(removeStatusCondition([first, condition('second'), third], 'second')).toEqual([
      first,
      third,
    ]);
  });

  it('returns the same list if there is none of the type', () => {
    const list = [first, third];
    expect(removeStatusCondition(list, 'fourth')).toBe(list);
    expect(removeStatusCondition(undefined, 'fourth')).toEqual([]);
  });
});

describe('findStatusCondition and isStatusConditionTrue', () => {
  it('find a condition by its type', () => {
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
