/**
 * Reads request bodies up to the real server's limit and decodes JSON, with the errors of Go's
 * decoder.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isObject, type Json, type JsonObject, readJson, unmarshalError } from '../json.ts';
import { apiVersionOf, type Kind, type Kinds, splitApiVersion } from '../registry/kinds.ts';
import { type ApiError, badRequest, tooLarge } from '../status.ts';

/** The part of a request that this server reads; it comes from a socket or from this process. */
export interface Incoming extends AsyncIterable<Uint8Array> {
  readonly headers: IncomingHttpHeaders;
}

/** apiserver: DefaultMaxRequestBodyBytes. */
const LIMIT = 3 * 1024 * 1024;

/**
 * Reads the whole body. One above the limit is read to its end, so that the client can read the
 * 413.
 */
export async function readRequestBytes(request: Incoming): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length <= LIMIT) chunks.push(chunk);
  }
  if (length > LIMIT) throw tooLarge(LIMIT);
  return Buffer.concat(chunks);
}

export const readBody = async (request: Incoming): Promise<string> =>
  (await readRequestBytes(request)).toString('utf8');

/** A character as Go's decoder quotes it. */
function quoted(character: string): string {
  const code = character.charCodeAt(0);
  const printable = code >= 0x20 && (code < 0x7f || code > 0xa0);
  return printable ? `'${character}'` : `'\\u${code.toString(16).padStart(4, '0')}'`;
}

/** Go's error for invalid JSON, in the common cases. */
export function jsonError(text: string): string {
  const body = text.trimStart();
  if (body === '') return 'unexpected end of JSON input';
  for (const word of ['null', 'true', 'false']) {
    if (body.charAt(0) !== word.charAt(0)) continue;
    let at = 1;
    while (at < word.length && body.charAt(at) === word.charAt(at)) at++;
    if (at >= body.length) return 'unexpected end of JSON input';
    if (at < word.length) {
      return (
        `invalid character ${quoted(body.charAt(at))} in literal ${word} (expecting ` +
        `'${word.charAt(at)}')`
      );
    }
  }
  if (!/^["{[\dtfn-]/.test(body))
    return `invalid character ${quoted(body.charAt(0))} looking for beginning of value`;
  try {
    JSON.parse(body);
  } catch (error) {
    const message = String((error as Error).message);
    const at = /at position (\d+)/.exec(message);
    if (at !== null && Number(at[1]) < body.length)
      return `invalid character ${quoted(body.charAt(Number(at[1])))} in JSON`;
  }
  return 'unexpected end of JSON input';
}

export function parseBody(text: string, fail: (why: string) => Error): Json {
  try {
    return readJson(text);
  } catch {
    throw fail(jsonError(text));
  }
}

const excerpt = (text: string): string => (text.length > 30 ? `${text.slice(0, 30)} ...` : text);

/**
 * Decodes a body as an object of the resource's kind. Built-in kinds may omit kind and apiVersion.
 */
export function decodeObject(kind: Kind, kinds: Kinds, text: string): JsonObject {
  const object = parseBody(text, (why) =>
    unrecognized(kind, text, `couldn't get version/kind; json parse error: ${why}`),
  );
  return checkObject(kind, kinds, object ?? {}, () => text);
}

/**
 * @param text the object as JSON; called only on an error
 * @param patched makes the error if the object is the result of a patch; `requireKind` checks the
 *   kind of a patched custom object later
 */
export function checkObject(
  kind: Kind,
  kinds: Kinds,
  object: Json,
  text: () => string,
  patched?: (why: string) => Error,
): JsonObject {
  const refuse = patched ?? ((why: string): Error => unrecognized(kind, text(), why));
  requireTypeMeta(object, refuse);
  if (kind.builtIn) requireBuiltIn(kind, kinds, object, patched);
  else if (!object.kind) throw refuse(`Object 'Kind' is missing in '${text()}'`);
  else if (patched === undefined) requireVersion(kind, object);
  return object;
}

/** Requires an object whose kind and apiVersion, if set, are strings. */
export function requireTypeMeta(
  value: Json,
  fail: (why: string) => Error,
): asserts value is JsonObject {
  const refuse = (wrong: Json, into: string): Error =>
    fail(`couldn't get version/kind; json parse error: ${unmarshalError(wrong, into)}`);
  if (!isObject(value)) throw refuse(value, `Go value of type ${TYPE_META}`);
  for (const name of ['apiVersion', 'kind']) {
    const member = value[name];
    if (member === undefined || member === null || typeof member === 'string') continue;
    throw refuse(member, `Go struct field .${name} of type string`);
  }
}

const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string ' +
  '"json:\\"kind,omitempty\\"" }';

/** The real server quotes a body that starts like JSON as text, and any other in hexadecimal. */
export function unrecognized(kind: Kind, body: string | Buffer, why: string): ApiError {
  const text = body.toString();
  const bytes = (): string =>
    text === '' ? '<empty>' : Buffer.from(body).toString('hex').slice(0, 60);
  const quotedBody = text.trimStart().startsWith('{') ? excerpt(text) : bytes();
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind.kind}): ${why} (${quotedBody})`,
  );
}

function requireBuiltIn(
  kind: Kind,
  kinds: Kinds,
  object: JsonObject,
  patched: ((why: string) => Error) | undefined,
): void {
  const name = (object.kind as string | undefined) || kind.kind;
  const apiVersion = (object.apiVersion as string | undefined) || apiVersionOf(kind);
  const isOwn = apiVersion === apiVersionOf(kind) || apiVersion === kind.formerly;
  if (name === kind.kind && isOwn) return;
  const { version } = splitApiVersion(apiVersion);
  const internal = kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? '');
  const why = kinds.isBuiltIn(apiVersion, name)
    ? `converting (${version}.${name}) to (${internal}.${kind.kind}): unknown conversion`
    : `no kind "${name}" is registered for version "${apiVersion}" in scheme ` +
      '"pkg/runtime/scheme.go:111"';
  throw (
    patched?.(why) ??
    badRequest(`${name} in version "${version}" cannot be handled as a ${kind.kind}: ${why}`)
  );
}

function requireVersion(kind: Kind, object: JsonObject): void {
  const expected = apiVersionOf(kind);
  if (object.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${object.apiVersion ?? ''}) does not match the expected API ` +
        `version (${expected})`,
    );
  }
}
