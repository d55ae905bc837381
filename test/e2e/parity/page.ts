/**
 * Writes the generated parts of docs/evidence/embedded-server.md: the intended differences, and the
 * counts of the last run with `--write-page`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { listItem } from '../../helpers/list-item.ts';
import { intendedDifferences } from './differences.ts';
import type { GroupCounts } from './outcome.ts';

export const PAGE = fileURLToPath(
  new URL('../../../docs/evidence/embedded-server.md', import.meta.url),
);

const part = (name: string): RegExp =>
  new RegExp(`(<!-- ${name}: [^\\n]*-->\\n)[\\s\\S]*?(<!-- end of ${name} -->)`);

/** Replaces a generated part of the page. Throws if the page does not have it. */
function replaced(page: string, name: string, text: string): string {
  if (!part(name).test(page)) throw new Error(`${PAGE} has no part "${name}" between its comments`);
  return page.replace(part(name), (_, begin: string, end: string) => `${begin}\n${text}\n\n${end}`);
}

/** Replaces the list of intended differences. */
export const withDifferences = (page: string): string =>
  replaced(
    page,
    'differences',
    intendedDifferences.map(({ what, why }) => listItem(`**${capital(what)}.** ${why}`)).join('\n'),
  );

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export interface SeedCounts {
  seed: number;
  groups: readonly GroupCounts[];
}

/** Replaces the table of counts by group, summed over the seeds. */
export function withCounts(page: string, runs: readonly SeedCounts[]): string {
  const names = [...new Set(runs.flatMap(({ groups }) => groups.map(({ group }) => group)))];
  const rows = names.map((name) => {
    const of = runs.flatMap(({ groups }) => groups.filter(({ group }) => group === name));
    const sum = (count: (of: GroupCounts) => number): number =>
      of.reduce((all, each) => all + count(each), 0);
    return [
      name,
      sum(({ cases }) => cases),
      sum(({ requests }) => requests),
      sum(({ same }) => same),
    ];
  });
  const total = [1, 2, 3].map((at) => rows.reduce((all, row) => all + Number(row[at]), 0));
  const lines = [
    `${seedsOf(runs)}, against kube-apiserver 1.36.3:`,
    '',
    '| cases about | cases | requests | answered alike |',
    '| ----------- | ----: | -------: | -------------: |',
    ...[...rows, ['**all**', ...total]].map((row) => `| ${row.join(' | ')} |`),
  ];
  return replaced(page, 'counts', lines.join('\n'));
}

/** `Seed 1`, `Seeds 1 to 3 and 7`. */
function seedsOf(runs: readonly SeedCounts[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const seed of runs.map((run) => run.seed).sort((a, b) => a - b)) {
    const range = ranges.at(-1);
    if (range !== undefined && seed === range[1] + 1) range[1] = seed;
    else ranges.push([seed, seed]);
  }
  const words = ranges.flatMap(([first, last]) =>
    last - first > 1 ? [`${first} to ${last}`] : [...new Set([`${first}`, `${last}`])],
  );
  const last = words.pop() ?? '';
  const list = words.length === 0 ? last : `${words.join(', ')} and ${last}`;
  return `${runs.length === 1 ? 'Seed' : 'Seeds'} ${list}`;
}

export function writePage(runs: readonly SeedCounts[]): void {
  writeFileSync(PAGE, withCounts(withDifferences(readFileSync(PAGE, 'utf8')), runs));
}
