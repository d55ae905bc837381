/**
 * A strict reader of Prometheus' text format, version 0.0.4: what a scraper refuses is an error
 * here. Beyond the grammar it checks what the format promises: one HELP and one TYPE a family and
 * before its samples, no series twice, histograms whose buckets ascend and accumulate, with `+Inf`
 * equal to `_count`.
 */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly help: string;
  readonly type: string;
  readonly samples: MetricSample[];
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const labelPair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/;

export function parseText(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  const series = new Set<string>();
  let current: { name: string; help: string; type?: string } | undefined;
  if (text !== '' && !text.endsWith('\n'))
    throw new SyntaxError('the text does not end with a line feed');
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (comment !== null) {
      const [, kind, name, rest] = comment as unknown as [string, 'HELP' | 'TYPE', string, string];
      if (!metricName.test(name)) throw new SyntaxError(`not a metric name: ${line}`);
      if (kind === 'HELP') {
        if (families.has(name) || current?.name === name)
          throw new SyntaxError(`a second HELP: ${line}`);
        current = { name, help: rest };
      } else {
        if (families.has(name)) throw new SyntaxError(`a second TYPE: ${line}`);
        if (!['counter', 'gauge', 'histogram', 'summary', 'untyped'].includes(rest))
          throw new SyntaxError(`no type: ${line}`);
        families.set(name, {
          help: current?.name === name ? current.help : '',
          type: rest,
          samples: [],
        });
        current = { name, help: '', type: rest };
      }
      continue;
    }
    const sample = parseSample(line);
    const family = current === undefined ? undefined : families.get(current.name);
    const suffixes = family?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    if (
      family === undefined ||
      !suffixes.some((suffix) => sample.name === `${current?.name}${suffix}`)
    ) {
      throw new SyntaxError(`a sample outside its family: ${line}`);
    }
    const id = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`;
    if (series.has(id)) throw new SyntaxError(`a series twice: ${line}`);
    series.add(id);
    family.samples.push(sample);
  }
  for (const [name, family] of families)
    if (family.type === 'histogram') checkHistogram(name, family.samples);
  return families;
}

function parseSample(line: string): MetricSample {
  const match = sampleLine.exec(line);
  if (match === null) throw new SyntaxError(`not a sample: ${line}`);
  const [, name, labelText = '', number] = match as unknown as [
    string,
    string,
    string | undefined,
    string,
  ];
  const labels: [string, string][] = [];
  for (let rest = labelText; rest !== ''; ) {
    const pair = labelPair.exec(rest);
    if (pair === null) throw new SyntaxError(`not a label: ${rest} in ${line}`);
    const [whole, label, value] = pair as unknown as [string, string, string];
    if (labels.some(([known]) => known === label)) throw new SyntaxError(`a label twice: ${line}`);
    labels.push([
      label,
      value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char)),
    ]);
    rest = rest.slice(whole.length);
  }
  return { name, labels: Object.fromEntries(labels), value: parseNumber(number, line) };
}

function parseNumber(text: string, line: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  if (text === 'NaN') return Number.NaN;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text))
    throw new SyntaxError(`not a number: ${line}`);
  return Number(text);
}

function checkHistogram(name: string, samples: readonly MetricSample[]): void {
  const groups = new Map<string, MetricSample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const id = JSON.stringify(labels);
    groups.set(id, [...(groups.get(id) ?? []), sample]);
  }
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => parseNumber(labels.le ?? '', `${name} le`));
    const counts = buckets.map(({ value }) => value);
    const ascending = (list: readonly number[], strictly: boolean) =>
      list.every(
        (value, i) =>
          i === 0 ||
          (strictly ? value > (list[i - 1] as number) : value >= (list[i - 1] as number)),
      );
    const count = group.find((sample) => sample.name === `${name}_count`)?.value;
    const sum = group.find((sample) => sample.name === `${name}_sum`)?.value;
    if (!ascending(bounds, true) || bounds.at(-1) !== Number.POSITIVE_INFINITY)
      throw new SyntaxError(`${name}: bounds ${bounds}`);
    if (!ascending(counts, false) || counts.at(-1) !== count || sum === undefined)
      throw new SyntaxError(`${name}: counts ${counts}`);
  }
}
