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

interface Family {
  /** HELP and TYPE, of the first who had them. */
  readonly header: Map<string, string>;
  /** By series. */
  readonly samples: Map<string, string>;
}

/**
 * The texts as one, in Prometheus' text format 0.0.4. Metrics of one name become one, in the place
 * of the first; of equal series the first counts.
 */
export function mergeExpositions(texts: Iterable<string>): string {
  const families = new Map<string, Family>();
  for (const text of texts) {
    let current: Family = familyOf(families, '');
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const header = /^# (HELP|TYPE) (\S+)/.exec(line);
      if (header !== null) {
        const [, kind, name] = header as unknown as [string, string, string];
        current = familyOf(families, name);
        if (!current.header.has(kind)) current.header.set(kind, line);
      } else if (!line.startsWith('#')) {
        const series = seriesOf(line);
        if (!current.samples.has(series)) current.samples.set(series, line);
      }
    }
  }
  const lines: string[] = [];
  for (const { header, samples } of families.values()) {
    if (samples.size === 0) continue;
    for (const line of header.values()) lines.push(line);
    for (const line of samples.values()) lines.push(line);
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function familyOf(families: Map<string, Family>, name: string): Family {
  let family = families.get(name);
  if (family === undefined) {
    family = { header: new Map(), samples: new Map() };
    families.set(name, family);
  }
  return family;
}

/**
 * Name and labels; a value of a label may have spaces and braces in it, but what follows the last
 * brace has none.
 */
function seriesOf(line: string): string {
  const end = line.lastIndexOf('}');
  return end < 0 ? line.slice(0, line.indexOf(' ')) : line.slice(0, end + 1);
}
