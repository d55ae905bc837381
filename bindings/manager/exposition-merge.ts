/**
 * One answer from the texts of many collectors. Scrapers refuse a metric whose samples lie apart,
 * whose HELP or TYPE comes twice, or a series that is there twice; collectors know nothing of each
 * other.
 */

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
