/** What a cache shows of an object that JSON.parse gave: its kind and apiVersion, always. */

const HEAD = ['kind', 'apiVersion'] as const;
type Kind = Record<(typeof HEAD)[number], string>;

/** Whether an object says that it is of another kind: null says nothing. */
export function isForeign(object: object, expected: Kind): boolean {
  const said = new Map(Object.entries(object));
  return HEAD.some((name) => ![undefined, null, expected[name]].includes(said.get(name)));
}

/** Where the server left the kind or the apiVersion out, they come first. */
export function asShown<T>(parsed: T, expected: Kind): T {
  if (isForeign(parsed as object, expected)) return parsed;
  const said = new Map<string, unknown>(Object.entries(parsed as object));
  const all = new Map<string, unknown>();
  for (const name of HEAD) if (!said.has(name)) all.set(name, undefined);
  for (const [name, value] of said) all.set(name, value);
  for (const name of HEAD) all.set(name, expected[name]);
  return Object.fromEntries(all) as T;
}
