/**
 * Label selectors in both forms. test/e2e/same-answers compares the rejected selectors and the
 * messages with a real API server.
 */
import { describe, expect, test } from 'vitest';
import {
  type LabelSelector,
  labelMatcher,
  labelSelectorText,
  parseLabelSelector,
} from '../../bindings/base/selectors.ts';

const web = { app: 'web', tier: 'front', size: '12' };

describe('a label selector', () => {
  test.each<[selector: string | LabelSelector, matches: boolean]>([
    ['', true],
    ['app', true],
    ['!app', false],
    ['!other', true],
    ['app=web', true],
    ['app==web,tier=front', true],
    ['app=web,tier=back', false],
    ['app!=web', false],
    ['other!=web', true],
    ['app in (api, web)', true],
    ['app notin (api,web)', false],
    ['other notin (api)', true],
    ['size>11', true],
    ['size<12', false],
    ['app>1', false],
    ['empty=', false],
    [{}, true],
    [{ matchLabels: { app: 'web' } }, true],
    [{ matchLabels: { app: 'web', tier: 'back' } }, false],
    [{ matchExpressions: [{ key: 'app', operator: 'In', values: ['api', 'web'] }] }, true],
    [{ matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] }, false],
    [
      { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'in', operator: 'DoesNotExist' }] },
      true,
    ],
  ])('%j matches: %s', (selector, matches) => {
    expect(labelMatcher(selector)(web)).toBe(matches);
  });

  test('treats names of inherited members as ordinary labels', () => {
    expect(labelMatcher('constructor')({})).toBe(false);
    expect(labelMatcher('!toString')({})).toBe(true);
  });

  test('compares 64-bit integers only', () => {
    const [more, less] = [labelMatcher('a>5'), labelMatcher('a<9223372036854775807')];
    const values = [
      '5',
      '6',
      '9223372036854775806',
      '9223372036854775807',
      '9223372036854775808',
      'x',
      '6.5',
    ];
    expect(values.map((a) => more({ a }))).toEqual([false, true, true, true, false, false, false]);
    expect(values.map((a) => less({ a }))).toEqual([true, true, true, false, false, false, false]);
    expect([more({}), less({})]).toEqual([false, false]);
  });

  test('that matches everything compiles to no function, so that no object is checked', () => {
    expect(parseLabelSelector(' ')).toBeUndefined();
    expect(parseLabelSelector('a')).toBeDefined();
  });

  // Servers accept only the text form: each program with a spec.selector had to convert it itself.
  test.each<[selector: LabelSelector, text: string]>([
    [{}, ''],
    [{ matchLabels: { app: 'web', tier: '' } }, 'app=web,tier='],
    [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['x', 'y'] }] }, 'a in (x,y)'],
    [{ matchExpressions: [{ key: 'a', operator: 'NotIn', values: [''] }] }, 'a notin ()'],
    [
      {
        matchLabels: { b: '1' },
        matchExpressions: [
          { key: 'example.com/c', operator: 'Exists' },
          { key: 'd', operator: 'DoesNotExist' },
        ],
      },
      'b=1,example.com/c,!d',
    ],
  ])('%j as text selects the same objects', (selector, text) => {
    expect(labelSelectorText(selector)).toBe(text);
    for (const labels of [
      {},
      { app: 'web', tier: '' },
      { a: 'x' },
      { a: '' },
      { b: '1', 'example.com/c': '' },
      { d: '' },
    ])
      expect(labelMatcher(text)(labels)).toBe(labelMatcher(selector)(labels));
  });

  test('that is a text is returned unchanged, and one that the grammar rejects is an error', () => {
    expect(labelSelectorText('a in')).toBe('a in');
    for (const wrong of [
      { app: 'web' },
      { matchLabels: { '-a': '1' } },
      { matchLabels: { a: 'b,c' } },
      null,
      7,
      ['a=b'],
    ])
      expect(() => labelSelectorText(wrong as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
  });

  test.each<[selector: unknown, why: RegExp]>([
    ['a=b=c', /found '=', expected: ',' or 'end of string'/],
    ['a in b', /expected: '\('/],
    ['-a=1', /Invalid value: "-a"/],
    ['a>x', /must be an integer/],
    ['a>9223372036854775808', /must be an integer/],
    ['a<-5', /Invalid value: "-5"/],
    ['a>+5', /Invalid value: "\+5"/],
    [{ matchLabels: { 'a=b,c': 'd' } }, /expected a label key or value, got "a=b,c"/],
    [{ matchLabels: { a: 7 } }, /got 7/],
    [{ matchExpressions: [{ key: '', operator: 'Exists' }] }, /expected a label key, got ""/],
    [{ matchExpressions: [{ key: 'a', operator: 'In' }] }, /expected values, got none/],
    [
      { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
      /expected no values, got b/,
    ],
    [{ matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] }, /got "Gt"/],
    // Unknown members were ignored: such a selector matched everything.
    [{ app: 'web' }, /got app: did you mean \{ matchLabels: \{ … \} \}\?/],
    [{ matchLabels: { app: 'web' }, matchExpression: [] }, /got matchExpression: did you mean/],
    [[], /got an array of 0: did you mean/],
    [new Map([['app', 'web']]), /got an object of class Map: did you mean/],
    [null, /got null/],
    [7, /got 7/],
    // These have no members, so that they read as an empty selector: deleteAllOf deleted all.
    [new Date(0), /expected a plain object, got an object of class Date/],
    [Promise.resolve('app=web'), /expected a plain object, got a promise/],
    [{ matchLabels: new Map([['app', 'web']]) }, /plain object, got an object of class Map/],
    [{ matchLabels: 'app=web' }, /plain object, got "app=web"/],
    [{ matchLabels: ['app=web'] }, /plain object, got an array of 1/],
    [
      { matchExpressions: new Set([{ key: 'a', operator: 'Exists' }]) },
      /got an object of class Set/,
    ],
    [{ matchExpressions: '' }, /expected an array of matchExpressions, got ""/],
  ])('%j is rejected with the reason', (selector, why) => {
    const call = () => labelMatcher(selector as string);
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    expect(call).toThrow(why);
  });
});
