/**
 * JSON whose numbers keep their text. JavaScript rounds integers beyond 2^53: an object that is
 * read and written back would change on the server. So the text of each number that JavaScript
 * would write in another way is kept beside its object or array, as long as that lives. For an
 * object without such numbers only its text is scanned.
 */
import { isObjectLike, sameJson } from './json-value.ts';

/** Texts of numbers by object or array, and by member. */
export type NumberTexts = WeakMap<object, Map<string, string>>;

const texts: NumberTexts = new WeakMap();
/** Whether this process has kept any text. */
let isUsed = false;

/**
 * Matches JSON with a number that JavaScript may write differently: 16 digits or more, an exponent,
 * zeros at the end or many at the beginning, -0. A string may match too.
 */
const UNUSUAL = /[:,[]\s*(?:-?\d{16}|-0|-?\d+\.(?:\d{15}|0{6}|\d*0(?!\d))|-?\d[\d.]*[eE])/;

/** JSON.parse that keeps the texts of numbers. Throws what JSON.parse throws. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (UNUSUAL.test(text)) eachNumber(text, value, noteText);
  return value;
}

/**
 * Copies a value by its JSON, with the texts of its numbers.
 *
 * @param text the value as {@link jsonText} gives it
 */
export function copyOf(value: object, text: string): object {
  const copy = JSON.parse(text) as object;
  if (!UNUSUAL.test(text)) return copy;
  for (const { path, text } of numbersIn(value)) {
    if (text === undefined) continue;
    let holder: unknown = copy;
    for (const name of path.slice(0, -1)) holder = memberOf(holder, name);
    const name = path.at(-1) as string;
    if (memberOf(holder, name) !== undefined) noteText(holder as object, name, text);
  }
  return copy;
}

/** Keeps the text of a number if JavaScript would write another one. */
export function noteText(holder: object, name: string, text: string): void {
  const value: unknown = (holder as Record<string, unknown>)[name];
  if (!Object.is(value, Number(text))) return;
  if (String(value) === text && !mayBeRounded(value as number)) return;
  let known = texts.get(holder);
  if (known === undefined) {
    known = new Map();
    texts.set(holder, known);
    isUsed = true;
  }
  known.set(name, text);
}

/**
 * The text of a number as it was parsed. `undefined` if it is unknown, or what JavaScript writes.
 */
export function textOfNumber(holder: object, name: string): string | undefined {
  if (!isUsed) return undefined;
  const text = texts.get(holder)?.get(name);
  const value: unknown = (holder as Record<string, unknown>)[name];
  return text !== undefined && Object.is(Number(text), value) ? text : undefined;
}

/**
 * Whether the member `name` has the same text in two objects or arrays. True if either text is
 * unknown.
 */
export function sameText(a: object, b: object, name: string): boolean {
  const [text, other] = [textOfNumber(a, name), textOfNumber(b, name)];
  return text === other || text === undefined || other === undefined;
}

/** Whether two values are the same JSON. Numbers are compared by their texts if both are known. */
export const sameExactJson = (a: unknown, b: unknown): boolean => sameJson(a, b, sameText);

/** Whether the text of any number in a value is kept. True for a cycle. */
function hasTexts(value: unknown, depth = 0): boolean {
  if (!isObjectLike(value)) return false;
  if (texts.has(value) || depth > 1000) return true;
  return Object.values(value).some((member) => hasTexts(member, depth + 1));
}

/**
 * Marks a string that stands for a number until the text is complete. It is random, so no value
 * contains it.
 */
let mark: string | undefined;

/**
 * JSON.stringify with the kept texts of numbers, and BigInts as numbers. Throws for cycles.
 *
 * @param more texts that are used instead of those that came with the objects
 */
export function jsonText(value: unknown, more?: NumberTexts): string | undefined {
  if (more === undefined && !(isUsed && hasTexts(value))) {
    try {
      return JSON.stringify(value);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // else it is a BigInt, or a cycle
    }
  }
  mark ??= `\u0000${Math.random()}${Math.random()}:`;
  const begin = mark;
  let found = false;
  const text = JSON.stringify(value, function replace(this: object, name: string, member: unknown) {
    if (typeof member === 'number') {
      const known = more?.get(this)?.get(name) ?? textOfNumber(this, name);
      if (known === undefined) return member;
      found = true;
      return begin + known;
    }
    if (typeof member !== 'bigint') return member;
    found = true;
    return begin + member;
  });
  if (!found) return text;
  return text
    .split(JSON.stringify(begin).slice(0, -1))
    .map((part, i) => (i === 0 ? part : part.replace('"', '')))
    .join('');
}

/** A number in a value that is to be written. */
export interface NumberAt {
  readonly holder: object;
  readonly name: string;
  readonly path: readonly string[];
  readonly value: number;
  /** The kept text; undefined if it is unknown, or what JavaScript writes. */
  readonly text: string | undefined;
}

/** All numbers and BigInts of a value without cycles, with their paths. */
export function numbersIn(value: unknown): NumberAt[] {
  const numbers: NumberAt[] = [];
  const open: { holder: unknown; path: readonly string[] }[] = [{ holder: value, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { holder, path } = next;
    if (!isObjectLike(holder)) continue;
    for (const [name, member] of Object.entries(holder)) {
      const at = [...path, name];
      if (typeof member === 'object') open.push({ holder: member, path: at });
      else if (typeof member === 'number')
        numbers.push({ holder, name, path: at, value: member, text: textOfNumber(holder, name) });
      else if (typeof member === 'bigint')
        numbers.push({ holder, name, path: at, value: Number(member), text: String(member) });
    }
  }
  return numbers;
}

/**
 * Whether a number may have been rounded: an integer that JavaScript cannot tell from its
 * neighbours. From 1e21 on JavaScript and Go write an exponent, and Go's integers end at 2^64.
 */
export function mayBeRounded(value: number): boolean {
  const size = Math.abs(value);
  return size > Number.MAX_SAFE_INTEGER && size < 1e21;
}

const BACKSLASH = 0x5c;

/**
 * Calls `tell` for each number in a text that JSON.parse has read, with its object or array in
 * `root`. For a member that the text has twice, the text may be the wrong one.
 */
export function eachNumber(
  text: string,
  root: unknown,
  tell: (holder: object, name: string, text: string) => void,
): void {
  const number = /-?\d[\d.eE+-]*/y;
  const around: { holder: unknown; at: number; name: string }[] = [];
  let holder: unknown = { '': root };
  let at = -1; // place in an array; -1 in an object
  let name = '';
  let isName = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      const end = endOfString(text, i);
      if (isName) name = JSON.parse(text.slice(i, end)) as string;
      i = end - 1;
    } else if (c === '{' || c === '[') {
      around.push({ holder, at, name });
      const child = memberOf(holder, at < 0 ? name : String(at));
      holder = child;
      at = c === '[' ? 0 : -1;
      isName = c === '{';
    } else if (c === '}' || c === ']') {
      ({ holder, at, name } = around.pop() as (typeof around)[number]);
      isName = false;
    } else if (c === ',') {
      if (at < 0) isName = true;
      else at++;
    } else if (c === ':') isName = false;
    else if (c === '-' || (c !== undefined && c >= '0' && c <= '9')) {
      number.lastIndex = i;
      const token = number.exec(text)?.[0] ?? c;
      if (isObjectLike(holder)) tell(holder, at < 0 ? name : String(at), token);
      i += token.length - 1;
    }
  }
}

function memberOf(holder: unknown, name: string): unknown {
  return isObjectLike(holder) ? (holder as Record<string, unknown>)[name] : undefined;
}

/** The index after the quote that ends the string beginning at `from`. */
function endOfString(text: string, from: number): number {
  for (let end = from; ; ) {
    end = text.indexOf('"', end + 1);
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0 || end < 0) return end + 1;
  }
}
