/** Wraps the lists of generated parts of the documents. */

/** An item of a list in Markdown, whose lines end at 100 columns. */
export function listItem(text: string): string {
  const lines: string[] = [];
  let line = '-';
  for (const word of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    if (line.length + 1 + word.length <= 100) line += ` ${word}`;
    else {
      lines.push(line);
      line = `  ${word}`;
    }
  }
  return [...lines, line].join('\n');
}
