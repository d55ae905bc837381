/** Wraps the rows of the tables that the derive scripts write, so that lines end at 100 columns. */

/** One column is left for the separator of rows. */
const WIDTH = 99;

/** @param pieces of a row, between which it may be wrapped; later lines are indented */
export function wrapRow(pieces: readonly string[], separator = ''): string {
  const lines: string[] = [];
  for (const piece of pieces) {
    const line = lines.at(-1);
    const joined = line === undefined ? piece : `${line}${separator}${piece}`;
    if (line === undefined) lines.push(piece);
    else if (joined.length <= WIDTH) lines[lines.length - 1] = joined;
    else lines.push(`  ${piece}`);
  }
  return lines.join('\n');
}

/** @param json may be wrapped after each comma and opening bracket outside of strings */
export const wrapJson = (json: string): string =>
  wrapRow(json.match(/(?:"(?:[^"\\]|\\.)*"|[^",[{])*[,[{]?/g) ?? []);
