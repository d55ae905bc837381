/**
 * The redaction of the live page over a generated corpus: what looks like a secret is not shown,
 * harmless text stays readable, and the time is linear in the length of any text.
 */
import { expect, it } from 'vitest';
import { redact } from '../../bindings/manager/page/redact.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { harmless, leaks } from './redact-corpus.ts';
import { redactionCost } from './redaction-cost.ts';

// Keys with slashes in them and passphrases of several words were shown.
it('no part of a secret is shown, in any form', () => {
  const seed = testSeed();
  const shown: string[] = [];
  let count = 0;
  for (let round = 0; round < 4; round++) {
    for (const { what, text, secrets, strict } of leaks(new Random(seed + round))) {
      count++;
      const left = redact(text, strict);
      if (secrets.some((secret) => left.includes(secret))) shown.push(`${what}: ${text} → ${left}`);
    }
  }
  expect(count).toBeGreaterThan(10_000);
  expect(shown.slice(0, 20), `CAPSTAN_SEED=${seed}: ${shown.length} of ${count}`).toEqual([]);
});

it.each(harmless)('a harmless text is shown unchanged: %s', (text) => {
  expect(redact(text)).toBe(text);
});

// 16 KB of single quotes with backslashes took 135 ms, and a page shows a hundred texts at each
// poll: unclosed quotes were scanned again from each quote.
it('a text of four times the length takes about four times as long, whatever is repeated', () => {
  const parts = (
    '" \' ` \\ a A1 = : / - token secret password= -- a://b: eyJ ' +
    'Bearer invalid_value:_" User_"a" “ [ %22 map[ data:'
  )
    .split(' ')
    .map((part) => part.replaceAll('_', ' '));
  const slow: string[] = [];
  for (const first of parts) {
    for (const second of ['', '\n', ...parts]) {
      const text = (length: number) => (first + second).repeat(length).slice(0, length);
      const long = redactionCost(text(16_000));
      if (long > 30 && long > 8 * redactionCost(text(4000)) + 30)
        slow.push(`${first}${second}: ${long} ms`);
    }
  }
  expect(slow).toEqual([]);
});

it('only the first 16 KB of a text are read', () => {
  const rest = 'password "x" secrets '.repeat(500_000);
  expect(redactionCost(`no luck. ${'a '.repeat(9000)}`) + 60).toBeGreaterThan(
    redactionCost(`no luck. ${'a '.repeat(9000)}${rest}`),
  );
});
