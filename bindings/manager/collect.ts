/**
 * Asks all collectors at once for their texts. What it keeps true: each gives a text in time, or is
 * named with what is wrong; none keeps the others waiting for ever.
 */
import type { Clock } from '../base/clock.ts';
import { CapstanError, requireString, show } from '../base/errors.ts';
import type { Collector } from '../controller/index.ts';

/** As long as Prometheus waits for an answer unless it is told otherwise. */
const TIMEOUT_MS = 10_000;

/** What became of one collector. */
export type Collected =
  | { readonly who: string; readonly text: string }
  | { readonly who: string; readonly error: unknown };

/** In the order of the collectors. Never rejects. */
export function collect(collectors: Iterable<Collector>, clock: Clock): Promise<Collected[]> {
  return Promise.all(
    Array.from(collectors, async (collector, at): Promise<Collected> => {
      const who = `collector ${collector.name === undefined ? `${at + 1}, ${show(collector)}` : show(collector.name)}`;
      try {
        return { who, text: await textOf(collector, clock) };
      } catch (error) {
        return { who, error };
      }
    }),
  );
}

async function textOf(collector: Collector, clock: Clock): Promise<string> {
  const late = Promise.withResolvers<never>();
  const timer = clock.setTimer(
    () => late.reject(new CapstanError('TIMEOUT', `its text did not come within ${TIMEOUT_MS} ms`)),
    TIMEOUT_MS,
  );
  try {
    const text: unknown = await Promise.race([collector.text(), late.promise]);
    requireString('collector.text()', text);
    return text;
  } finally {
    clock.clearTimer(timer);
  }
}
