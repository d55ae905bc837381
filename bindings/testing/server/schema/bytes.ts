/**
 * Base64 as Go reads and writes it: line breaks are ignored, padding is required, and unused bits
 * are zero. Go: encoding/base64.
 */

/** The canonical form; for invalid base64 the index of the error. */
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
