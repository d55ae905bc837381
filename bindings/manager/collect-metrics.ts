/**
 * Collects the texts of all collectors for `/metrics` and merges them into one exposition.
 *
 * Invariant: each collector gives its text in time or is named with its error; a slow collector
 * does not block the others.
 */
import type { Clock } from '../base/clock.ts';
import { CapstanError, requireString, show } from '../base/errors.ts';
import type { Collector } from '../controller/index.ts';

/** In milliseconds: Prometheus' default scrape timeout. */
const TIMEOUT_MS = 10_000;

/** The text or the error of one collector. */
export type Collected =
  | { readonly collectorName: string; readonly text: string }
  | { readonly collectorName: string; readonly error: unknown };

/** Calls all collectors in parallel and returns their results in order. Never rejects. */
export function collect(collectors: Iterable<Collector>, clock: Clock): Promise<Collected[]> {
  return Promise.all(
    Array.from(collectors, async (collector, at): Promise<Collected> => {
      const { name } = collector;
      const label = name === undefined ? `${at + 1}, ${show(collector)}` : show(name);
      const collectorName = `collector ${label}`;
      try {
        return { collectorName, text: await textOf(collector, clock) };
      } catch (error) {
        return { collectorName, error };
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
  /** The first HELP and TYPE lines of the metric. */
  readonly header: Map<string, string>;
  /** The first sample of each series. */
  readonly samples: Map<string, string>;
}

/**
 * Merges expositions in Prometheus' text format 0.0.4. Scrapers refuse a metric whose samples are
 * not together, or whose HELP, TYPE or series occur twice. Metrics of one name are merged at the
 * place of the first; of equal series the first is kept.
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
 * The name and labels of a sample. Label values may contain spaces and braces; after the last brace
 * there are none.
 */
function seriesOf(line: string): string {
  const end = line.lastIndexOf('}');
  return end < 0 ? line.slice(0, line.indexOf(' ')) : line.slice(0, end + 1);
}
