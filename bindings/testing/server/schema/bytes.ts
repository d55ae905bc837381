/**
 * Bytes in base64 as Go reads and writes them: line breaks are no part of it, padding is, and the
 * bits that are left over are zero. Go: encoding/base64.
 */

/** The text that comes back of `text`; a number is where it is no base64. */
export function canonicalBase64(text: string): string | number {
  let at = 0;
  const next = (): string | undefined => {
    while (text[at] === '\n' || text[at] === '\r') at++;
    return text[at++];
  };
  for (;;) {
    for (let inFour = 0; inFour < 4; inFour++) {
      const char = next();
      if (char === undefined) {
        at = text.length;
        if (inFour > 0) return at - inFour;
        return Buffer.from(text, 'base64').toString('base64');
      }
      if (char === '=') {
        if (inFour < 2) return at - 1;
        if (inFour === 2) {
          const second = next();
          if (second === undefined) return text.length;
          if (second !== '=') return at - 2;
        }
        return next() === undefined ? Buffer.from(text, 'base64').toString('base64') : at - 1;
      }
      if (!/[A-Za-z0-9+/]/.test(char)) return at - 1;
    }
  }
}
