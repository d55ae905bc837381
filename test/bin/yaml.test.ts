/** bin/yaml.ts: an independent parser, that of client-node, reads the YAML back. */
import { loadYaml } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { yamlOf } from '../../bin/yaml.ts';
import { Random, testSeed } from '../helpers/random.ts';

describe('data as YAML', () => {
  it('has block style and lists at the indent of their key, as kubectl prints', () => {
    const value = {
      kind: 'A',
      spec: { names: ['a', 'b'], rules: [{ verbs: ['get'], apiGroups: [] }], empty: {} },
    };
    expect(yamlOf(value)).toBe(`kind: A
spec:
  names:
  - a
  - b
  rules:
  - verbs:
    - get
    apiGroups: []
  empty: {}
`);
  });

  // YAML 1.1 reads some of these characters as line ends, and forbids the others.
  it('has no character that only JSON allows in a string', () => {
    const text = 'a\u007fb\u0085c\u0099d\u2028e\ufefff';
    expect(yamlOf(text)).toBe('"a\\u007fb\\u0085c\\u0099d\\u2028e\\ufefff"\n');
    expect(loadYaml(yamlOf(text))).toBe(text);
  });

  it.each([
    '',
    ' ',
    'true',
    'Yes',
    'no',
    'null',
    '~',
    '1',
    '1e3',
    '0x1f',
    '1_000',
    '12:30:00',
    '2026-01-01',
    '.inf',
    '-',
    '- a',
    'a: b',
    'a #b',
    '#a',
    '&a',
    '*a',
    '!a',
    '|',
    '>',
    '%a',
    '@a',
    '`a',
    '"a"',
    "'a'",
    'a\nb',
    'a\tb',
    ' a',
    'a ',
    'a  b',
    '{a}',
    '[a]',
    'a,b',
    'a, b',
    '?a',
    '<<',
    '=',
    'é',
    '\u2028',
    '\ud83d\ude00',
    'self == oldSelf',
    '.spec.host',
    'kubectl (v1), or later',
    'On',
    'N',
  ])('keeps the text %j, as a value, as a key and in a list', (text) => {
    const value = { value: text, [text]: [text, [text]] };
    expect(loadYaml(yamlOf(value))).toEqual(value);
  });

  it('omits undefined members, and keeps null, numbers and booleans', () => {
    expect(loadYaml(yamlOf({ a: undefined, b: null, c: -1.5e-7, d: false, e: [0, 1e21] }))).toEqual(
      {
        b: null,
        c: -1.5e-7,
        d: false,
        e: [0, 1e21],
      },
    );
  });

  // The data was first copied by JSON.parse. V8 from 13.6 (Node 24 and 26) confuses names that are
  // one escape: after JSON.parse('{"t":1,"\\\\":2}'), JSON.parse('{"t":1,"\\n":2}') is wrong.
  it('distinguishes a name with an escape in JSON from a backslash', () => {
    for (const name of ['\\', '\n', '\t', '"'])
      expect(loadYaml(yamlOf({ t: 1, [name]: 2 }))).toEqual({ t: 1, [name]: 2 });
  });

  it('is read back unchanged for random data', () => {
    const seed = testSeed();
    console.log(`CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const pieces = [
      'a',
      'B',
      '0',
      '9',
      '-',
      '.',
      ':',
      ' ',
      '#',
      '"',
      "'",
      '\n',
      '/',
      ',',
      '{',
      'true',
      'null',
      '~',
      'é',
      '\\',
    ];
    const text = (): string =>
      Array.from({ length: random.int(6) }, () => random.pick(pieces)).join('');
    const data = (depth: number): unknown => {
      const kind = random.int(depth === 0 ? 3 : 5);
      if (kind === 0) return text();
      if (kind === 1) return random.chance(0.5) ? null : random.chance(0.5);
      if (kind === 2) return random.int(1e6) - 5e5;
      const members = Array.from({ length: random.int(4) }, () => data(depth - 1));
      return kind === 3 ? members : Object.fromEntries(members.map((member) => [text(), member]));
    };
    for (let i = 0; i < 2000; i++) {
      const value = { data: data(4) };
      const yaml = yamlOf(value);
      expect(loadYaml(yaml), yaml).toEqual(value);
    }
  });
});
