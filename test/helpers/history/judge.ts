/** Judges a history by all rules, and returns the violations. */

import { judgeHandlers } from './handler-rules.ts';
import type { History, Violation } from './history.ts';
import { stateDifferences, type Truth } from './truth.ts';
import { wireRules } from './wire-rules.ts';

export function judgeHistory(truth: Truth, history: History): Violation[] {
  const cache = stateDifferences('the cache', history.cache, truth.asOf()).map((message) => ({
    rule: 'cache',
    message,
  }));
  return [
    ...wireRules.flatMap((rule) => rule(truth, history)),
    ...judgeHandlers(truth, history),
    ...cache,
  ];
}

/** The first of them, by rule, for a message. */
export function report(violations: readonly Violation[], most = 20): string {
  const lines = violations.slice(0, most).map(({ rule, message }) => `${rule}: ${message}`);
  if (violations.length > most) lines.push(`and ${violations.length - most} more`);
  return lines.join('\n');
}
