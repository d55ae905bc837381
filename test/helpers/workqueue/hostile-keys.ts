/** Keys that a wrong table merges, splits or changes. */
import type { Request } from 'capstan/workqueue';

const forty = 'k'.repeat(40);
const long = 'x'.repeat(10_240);

/** All different, code unit by code unit. */
export const distinctKeys: readonly string[] = [
  '',
  ' ',
  '\0',
  '\0\0',
  'a',
  'a\0',
  '\0a',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  '0',
  '-0',
  '10',
  '9',
  '1e3',
  '/',
  '//',
  'a/b',
  'a//b',
  '\u00e9', // é in one
  'e\u0301', // é in two
  '\u00ff', // the last that fits a byte
  '\u0100', // the first that does not
  '\ud800', // lone surrogates: not even UTF-8 tells them apart
  '\udbff',
  '\udc00',
  '\ufffd', // what a decoder makes of them
  '\ud83d\ude00',
  '\ude00\ud83d',
  '\uffff',
  'ab', // against \u6261, which has the same bytes
  '\u6261',
  ...[31, 32, 33, 35, 36, 37, 38, 39].flatMap((length) => [
    `${'k'.repeat(length)}`,
    `${'k'.repeat(length - 1)}j`,
  ]),
  ...[15, 16, 17, 18, 19].flatMap((length) => [
    '\u6261'.repeat(length),
    `${'\u6261'.repeat(length - 1)}\u6262`,
  ]),
  forty,
  `${forty}a`,
  `${forty}b`,
  'é'.repeat(20),
  `${'é'.repeat(20)}a`,
  '\u6261'.repeat(20),
  `${'\u6261'.repeat(20)}a`,
  long,
  `${long}a`,
  `${long}b`,
  `a${long}`,
  `${'\u6261'.repeat(10_000)}c`,
  `${'\u6261'.repeat(10_000)}d`,
];

/** All different as pairs; many are equal when joined. */
export const distinctRequests: readonly Request[] = [
  { namespace: '', name: '' },
  { namespace: '', name: '/' },
  { namespace: '/', name: '' },
  { namespace: 'a', name: 'b/c' },
  { namespace: 'a/b', name: 'c' },
  { namespace: 'a/b/c', name: '' },
  { namespace: '', name: 'a/b/c' },
  { namespace: 'ab', name: 'c' },
  { namespace: 'a', name: 'bc' },
  { namespace: '', name: 'abc' },
  { namespace: 'abc', name: '' },
  { namespace: '__proto__', name: 'constructor' },
  { namespace: '\ud800', name: '\udc00' },
  { namespace: '', name: '\ud800\udc00' },
  { namespace: '\udbff', name: '\udc00' },
  { namespace: '\u00e9', name: 'x' },
  { namespace: 'e\u0301', name: 'x' },
  { namespace: 'e', name: '\u0301x' },
  { namespace: '\u6261', name: 'x' },
  { namespace: 'ab', name: 'x' },
  { namespace: long, name: 'x' },
  { namespace: 'x', name: long },
  { namespace: '', name: `${long}x` },
  { namespace: `${long}x`, name: '' },
  { namespace: forty, name: 'a' },
  { namespace: forty, name: 'b' },
  { namespace: 'n'.repeat(300), name: 'm' },
  // splits that agree in their lowest byte
  { namespace: 'n'.repeat(44), name: `${'n'.repeat(256)}m` },
  { namespace: 'n'.repeat(256), name: `${'n'.repeat(44)}m` },
  { namespace: '', name: `${'n'.repeat(300)}m` },
];
