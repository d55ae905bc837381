/** What a Markdown page links to, and the anchors that others can link to. */

/** The anchors of a page: its headings, as GitHub makes them, and elements with an id. */
export function headings(text: string): Set<string> {
  const found = new Set<string>();
  for (const [, title = ''] of withoutCode(text).matchAll(/^#+ (.+)$/gm)) {
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    let unique = anchor;
    for (let n = 1; found.has(unique); n++) unique = `${anchor}-${n}`;
    found.add(unique);
  }
  for (const [, id = ''] of text.matchAll(/<\w+[^>]*\sid="([^"]+)"/g)) found.add(id);
  return found;
}

/** The targets of links and pictures, in Markdown and in HTML, as they are written. */
export function linksIn(text: string): string[] {
  const prose = withoutCode(text).replace(/`[^`\n]*`/g, '`');
  const forms = [
    /\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g, // [text](target), ![text](target "title")
    /^\[[^\]]+\]:\s+(\S+)/gm, // [name]: target
    /<(?:img|a|source)\b[^>]*\s(?:src|href|srcset)="([^"\s]+)/g,
  ];
  return forms.flatMap((form) => [...prose.matchAll(form)].map(([, target = '']) => target));
}

const withoutCode = (text: string): string => text.replace(/^(`{3,})[\s\S]*?^\1/gm, '');
