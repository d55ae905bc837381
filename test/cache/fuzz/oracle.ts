/**
 * The expected result of decoding, computed independently of all decoders: the end of each value by
 * its own grammar, byte by byte; the content by JSON.parse; and the rules for events written again.
 */
import { asShown, isForeign } from '../decode/shown-object.ts';
import { EXPECTED } from './documents.ts';

/** An event or an item as text that can be compared. */
export type Shown = string;

/** The frames up to the first bad byte, and how the stream ends. */
export interface ExpectedStream {
  frames: Shown[];
  /**
   * `error`: a complete value is invalid or not an event, which must be an error. `doomed`: bytes
   * that cannot become valid, with open brackets: an error now, or waiting for more. `none`: valid
   * so far, perhaps incomplete.
   */
  end: 'error' | 'doomed' | 'none';
}

const MORE = -1;
const BAD = -2;
const text = new TextDecoder('utf-8', { ignoreBOM: true });

export function expectedStream(bytes: Uint8Array, cut: boolean): ExpectedStream {
  const frames: Shown[] = [];
  for (let at = 0; ; ) {
    while (at < bytes.length && isSpace(bytes[at] as number)) at++;
    if (at === bytes.length) return { frames, end: 'none' };
    if (bytes[at] !== 0x7b) return { frames, end: 'error' };
    const end = valueEnd(bytes, at);
    if (end === MORE) return { frames, end: 'none' };
    if (end === BAD) return { frames, end: closes(bytes, at) ? 'error' : 'doomed' };
    const frame = eventOf(JSON.parse(text.decode(bytes.subarray(at, end))), cut);
    if (frame === undefined) return { frames, end: 'error' };
    frames.push(frame);
    at = end;
  }
}

/**
 * A member whose name is one backslash. V8 14.6 (Node 26) then takes the name of the next object's
 * member in its place for that very name, if it is one escaped character: JSON.parse('{"\\\\":1}')
 * and then JSON.parse('{"\\n":1}') gives { '\\': 1 }. Nothing can be compared with JSON.parse
 * there.
 */
export const misleadsEngines = (bytes: Uint8Array): boolean => latin1(bytes).includes('"\\\\"');

/**
 * Lists that may be refused although JSON.parse accepts them: with invalid UTF-8 outside of items,
 * or with repeated items.
 */
export function mayRefuse(bytes: Uint8Array): boolean {
  if (latin1(bytes).split('"items"').length > 2) return true;
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return false;
  } catch {
    return true;
  }
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

/** The page as text; undefined if it is not a page. */
export function expectedPage(bytes: Uint8Array, cut: boolean): Shown | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text.decode(bytes));
  } catch {
    return undefined;
  }
  if (!isObject(body) || !Object.hasOwn(body, 'items')) return undefined;
  const isGeneric = at(body, 'kind') === 'List' && (at(body, 'apiVersion') ?? 'v1') === 'v1';
  const kind = isGeneric ? undefined : (at(body, 'kind') ?? undefined);
  if (body.items === null && kind === undefined) return undefined;
  const items = body.items ?? [];
  if (
    !Array.isArray(items) ||
    !items.every(isNamed) ||
    items.some((item) => isForeign(item, EXPECTED))
  )
    return undefined;
  const apiVersion = at(body, 'apiVersion') ?? EXPECTED.apiVersion;
  const isList =
    apiVersion === EXPECTED.apiVersion &&
    (kind ?? `${EXPECTED.kind}List`) === `${EXPECTED.kind}List`;
  const says = (['apiVersion', 'kind'] as const).every(
    (name) => at(items[0], name) === EXPECTED[name],
  );
  if (!isList && !(says && typeof kind === 'string' && kind !== 'Status')) return undefined;
  const metadata = at(body, 'metadata');
  return showPage(
    items.map((item) => objectText(asShown(item, EXPECTED), cut)),
    stringAt(metadata, 'resourceVersion'),
    stringAt(metadata, 'continue'),
  );
}

export const showPage = (items: readonly Shown[], resourceVersion: string, token: string): Shown =>
  JSON.stringify([items, resourceVersion, token]);

export const showEvent = (type: string, object: Shown, resourceVersion: string): Shown =>
  `${type} ${JSON.stringify(resourceVersion)} ${object}`;

export const showBookmark = (resourceVersion: string, end: boolean): Shown =>
  `BOOKMARK ${JSON.stringify(resourceVersion)} ${end}`;

/** As text, with the order of members. `cut`: without metadata.managedFields. */
export function objectText(object: unknown, cut: boolean): Shown {
  const metadata = at(object, 'metadata');
  if (!cut || !isObject(metadata) || !Object.hasOwn(metadata, 'managedFields'))
    return JSON.stringify(object);
  return JSON.stringify(object, function (this: unknown, name, value: unknown) {
    return name === 'managedFields' && this === metadata ? undefined : value;
  });
}

function eventOf(value: unknown, cut: boolean): Shown | undefined {
  const type = at(value, 'type');
  const object = at(value, 'object');
  if (typeof type !== 'string' || !isObject(object)) return undefined;
  if (type === 'ERROR')
    return object.kind === 'Status' ? `ERROR ${JSON.stringify(object)}` : undefined;
  if (!['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'].includes(type)) return undefined;
  if (isForeign(object, EXPECTED)) return 'foreign';
  const metadata = at(object, 'metadata');
  const resourceVersion = stringAt(metadata, 'resourceVersion');
  if (type === 'BOOKMARK') {
    return showBookmark(
      resourceVersion,
      at(at(metadata, 'annotations'), 'k8s.io/initial-events-end') === 'true',
    );
  }
  return isNamed(object)
    ? showEvent(type, objectText(asShown(object, EXPECTED), cut), resourceVersion)
    : undefined;
}

function isNamed(object: unknown): boolean {
  const metadata = at(object, 'metadata');
  const namespace = at(metadata, 'namespace') ?? '';
  return typeof at(metadata, 'name') === 'string' && typeof namespace === 'string';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const at = (value: unknown, member: string): unknown =>
  isObject(value) && Object.hasOwn(value, member) ? value[member] : undefined;

const stringAt = (value: unknown, member: string): string => {
  const found = at(value, member);
  return typeof found === 'string' ? found : '';
};

const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Whether the brackets that open at `from` are closed, by counting them. */
function closes(bytes: Uint8Array, from: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inString) {
      if (byte === 0x5c) at++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return true;
  }
  return false;
}

type State = 'value' | 'first element' | 'first name' | 'name' | 'colon' | 'after';

/**
 * The end of the JSON object at `start`; MORE if it is incomplete, BAD if it is invalid. RFC 8259.
 */
function valueEnd(bytes: Uint8Array, start: number): number {
  const open: number[] = [];
  let state: State = 'value';
  for (let at = start; at < bytes.length; ) {
    const byte = bytes[at] as number;
    if (isSpace(byte)) {
      at++;
      continue;
    }
    const closing = open.at(-1) === 0x7b ? 0x7d : 0x5d;
    const mayClose: boolean =
      state === 'after' || state === 'first element' || state === 'first name';
    if (mayClose && byte === closing) {
      open.pop();
      at++;
      if (open.length === 0) return at;
      state = 'after';
    } else if (state === 'after') {
      if (byte !== 0x2c) return BAD;
      state = closing === 0x7d ? 'name' : 'value';
      at++;
    } else if (state === 'colon') {
      if (byte !== 0x3a) return BAD;
      state = 'value';
      at++;
    } else if (state === 'name' || state === 'first name') {
      if (byte !== 0x22) return BAD;
      at = stringEnd(bytes, at);
      state = 'colon';
    } else if (byte === 0x7b || byte === 0x5b) {
      open.push(byte);
      state = byte === 0x7b ? 'first name' : 'first element';
      at++;
    } else {
      at = byte === 0x22 ? stringEnd(bytes, at) : scalarEnd(bytes, at);
      state = 'after';
    }
    if (at < 0) return at;
  }
  return MORE;
}

function stringEnd(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === 0x22) return at + 1;
    if (byte < 0x20) return BAD;
    if (byte !== 0x5c) continue;
    at++;
    if (at === bytes.length) return MORE;
    const escaped = String.fromCharCode(bytes[at] as number);
    if (escaped === 'u') {
      for (let digit = 0; digit < 4; digit++) {
        at++;
        if (at === bytes.length) return MORE;
        if (!/[0-9a-fA-F]/.test(String.fromCharCode(bytes[at] as number))) return BAD;
      }
    } else if (!'"\\/bfnrt'.includes(escaped)) return BAD;
  }
  return MORE;
}

/** A number or a word: read to its last character, then matched by a regular expression. */
function scalarEnd(bytes: Uint8Array, start: number): number {
  let end = start;
  while (end < bytes.length && /[-+.0-9a-zA-Z]/.test(String.fromCharCode(bytes[end] as number)))
    end++;
  const word = String.fromCharCode(...bytes.subarray(start, end));
  if (/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?)$/.test(word))
    return end < bytes.length ? end : MORE;
  const begun = ['true', 'false', 'null'].some((whole) => whole.startsWith(word)) && word !== '';
  const number = /^-?(0|[1-9]\d*)?((?<=\d)\.\d*)?((?<=\d)[eE][-+]?\d*)?$/.test(word) && word !== '';
  return end === bytes.length && (begun || number) ? MORE : BAD;
}
