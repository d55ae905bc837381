/** Finds the known word that was probably meant, for messages of the command line. */

/** The nearest word, if at most a third of the letters differ or one begins with the other. */
export function nearestWord(given: string, known: readonly string[]): string | undefined {
  const close = known
    .map((word) => ({ word, away: distance(given, word) }))
    .filter(
      ({ word, away }) =>
        away <= Math.max(1, Math.floor(word.length / 3)) ||
        word.startsWith(given) ||
        given.startsWith(word),
    );
  return close.sort((a, b) => a.away - b.away)[0]?.word;
}

/** The edit distance: insertions, deletions, replacements, and swaps of neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  const at = (row: readonly number[], j: number): number => row[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const differs = a[i - 1] === b[j - 1] ? 0 : 1;
      const swap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(last, j) + 1,
          at(row, j - 1) + 1,
          at(last, j - 1) + differs,
          swap ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    before = last;
    last = row;
  }
  return at(last, b.length);
}
