/**
 * The table of docs/upstream-tests.md, as rows: which of client-go's tests has which counterpart,
 * or why it has none.
 */

export interface Row {
  /** The heading above it: the file upstream. */
  file: string;
  name: string;
  /** How many tests it stands for: its name ends with `(n tests)` where that is more than one. */
  tests: number;
  counterparts: { path: string; title: string }[];
  /** Why there is no counterpart; empty where there is one. */
  reason: string;
}

const REASON = 'left out: ';

/** Throws for a row that is neither. */
export function rowsOf(page: string): Row[] {
  const rows: Row[] = [];
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
  // What is wrapped begins a line of its own, behind the bracket.
  const joined = source.replaceAll("\\'", "'").replace(/\(\n */g, '(');
  return ["'", '"', '`'].some((quote) => joined.includes(`(${quote}${title}${quote},`));
}
