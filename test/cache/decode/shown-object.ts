/** The reference for cached objects: a parsed object with kind and apiVersion. */

const HEAD = ['kind', 'apiVersion'] as const;
type Kind = Record<(typeof HEAD)[number], string>;

/** Whether an object has another kind; null counts as missing. */
export function isForeign(object: object, expected: Kind): boolean {
  const said = new Map(Object.entries(object));
  return HEAD.some((name) => ![undefined, null, expected[name]].includes(said.get(name)));
}

/** Members that the server left out come first. */
export function asShown<T>(parsed: T, expected: Kind): T {
  if (isForeign(parsed as object, expected)) return parsed;
  const said = new Map<string, unknown>(Object.entries(parsed as object));
  const all = new Map<string, unknown>();
  for (const name of HEAD) if (!said.has(name)) all.set(name, undefined);
  for (const [name, value] of said) all.set(name, value);
  for (const name of HEAD) all.set(name, expected[name]);
  return Object.fromEntries(all) as T;
}
