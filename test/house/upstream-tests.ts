/**
 * Parses the table of docs/project/upstream-tests.md: for each of client-go's tests the counterpart
 * here, or why there is none.
 */

export interface UpstreamTestRow {
  /** The upstream file, from the heading above. */
  file: string;
  name: string;
  /** The number of tests in the row: its name ends with `(n tests)` if there are several. */
  tests: number;
  counterparts: { path: string; title: string }[];
  /** Why there is no counterpart; empty if there is one. */
  reason: string;
}

const REASON = 'left out: ';

/** The rows of the page. Throws for a row that it cannot parse. */
export function rowsOf(page: string): UpstreamTestRow[] {
  const rows: UpstreamTestRow[] = [];
  let file = '';
  for (const [i, line] of page.split('\n').entries()) {
    if (line.startsWith('#')) file = line.replace(/^#+ /, '');
    const [, name, cell] = /^\| `([^`]+)` \| (.*) \|$/.exec(line) ?? [];
    if (name === undefined || cell === undefined) {
      if (line.startsWith('| `')) throw new SyntaxError(`line ${i + 1} is no row: ${line}`);
      continue;
    }
    const tests = Number(/ \((\d+) tests\)$/.exec(name)?.[1] ?? 1);
    if (cell.startsWith(REASON)) {
      rows.push({ file, name, tests, counterparts: [], reason: cell.slice(REASON.length) });
      continue;
    }
    const counterparts = cell.split('<br>').map((part) => {
      const [, path = '', title = ''] = /^`([^`]+)`: (.+)$/.exec(part) ?? [];
      if (path === '') throw new SyntaxError(`line ${i + 1} names no test: ${part}`);
      return { path, title: title.replaceAll('\\|', '|') };
    });
    rows.push({ file, name, tests, counterparts, reason: '' });
  }
  return rows;
}

/** Whether a test file has a test or a group with exactly this title. */
export function hasTest(source: string, title: string): boolean {
  // A wrapped title begins its own line, after the parenthesis.
  const joined = source.replaceAll("\\'", "'").replace(/\(\n */g, '(');
  return ["'", '"', '`'].some((quote) => joined.includes(`(${quote}${title}${quote},`));
}
