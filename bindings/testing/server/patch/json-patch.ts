/**
 * JSON merge patch (RFC 7386) and JSON patch (RFC 6902), on values that are never mutated: each
 * step makes a new value.
 */
import {
  isObject,
  type Json,
  type JsonObject,
  sameJson,
  unmarshalError,
  withoutNulls,
} from '../json.ts';
import { ApiError, badRequest, patchFailed } from '../status.ts';

/**
 * Null members are removed, objects are merged, other values are replaced. Unlike RFC 7386, and
 * like the library of the real server, null members are also removed from objects in lists, unless
 * the list replaces an object.
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(target)) return withoutNulls(patch);
  if (!isObject(patch)) return patch;
  const members = new Map<string, Json | undefined>(Object.entries(target));
  for (const [member, value] of Object.entries(patch)) {
    if (value === null || value === undefined) members.delete(member);
    else members.set(member, mergePatch(members.get(member), value));
  }
  return Object.fromEntries(members);
}

const OPERATIONS = ['add', 'remove', 'replace', 'move', 'copy', 'test'] as const;

/**
 * Applies the operations in order. Throws 400 for an invalid patch, 422 for one that cannot be
 * applied.
 */
export function jsonPatch(target: JsonObject, patch: Json): JsonObject {
  if (patch === null) return target;
  if (!Array.isArray(patch)) throw undecodable(patch, 'Go value of type []handlers.jsonPatchOp');
  for (const operation of patch as readonly Json[]) requireOperation(operation);
  if (patch.length > MAX_OPERATIONS) {
    const why =
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, ` +
      `got ${patch.length}`;
    throw new ApiError(413, `Request entity too large: ${why}`, {
      reason: 'RequestEntityTooLarge',
    });
  }
  let result: Json = target;
  for (const operation of patch) {
    if (!isObject(operation)) throw patchFailed();
    result = applyOperation(result, operation);
  }
  if (!isObject(result)) throw patchFailed();
  return result;
}

const undecodable = (value: Json, into: string): ApiError =>
  badRequest(`error decoding patch: ${unmarshalError(value, into)}`);

/** Checks the types that Go decodes into an operation; null is an empty operation. */
function requireOperation(operation: Json): void {
  if (operation === null) return;
  if (!isObject(operation)) throw undecodable(operation, 'Go value of type handlers.jsonPatchOp');
  for (const name of ['op', 'path', 'from']) {
    const member = operation[name] ?? '';
    if (typeof member !== 'string')
      throw undecodable(member, `Go struct field jsonPatchOp.${name} of type string`);
  }
}

/** apiserver: endpoints/handlers/patch.go maxJSONPatchOperations. */
const MAX_OPERATIONS = 10_000;

function applyOperation(target: Json, operation: JsonObject): Json {
  const { op, path, from, value } = operation;
  if (typeof path !== 'string' || !OPERATIONS.some((known) => known === op)) throw patchFailed();
  const at = pointer(path);
  if (op === 'remove') return remove(target, at);
  if (op === 'move' || op === 'copy') {
    if (typeof from !== 'string') throw patchFailed();
    const source = pointer(from);
    if (source.length === 0) throw patchFailed();
    // Copying a missing member copies null, as in evanphx/json-patch.
    const moved = op === 'copy' ? readOrNull(target, source) : read(target, source);
    return add(op === 'move' ? remove(target, source) : target, at, moved);
  }
  if (op === 'test') {
    const wanted = value ?? null;
    if (isEscaped(wanted) || !sameJson(readOrNull(target, at), wanted)) throw patchFailed();
    return target;
  }
  // In evanphx/json-patch, unlike RFC 6902, a replace can add a member. The default value is null.
  const given = value ?? null;
  if (op === 'replace') return at.length === 0 ? given : set(target, at, given);
  return add(target, at, given);
}

/**
 * Whether Go escapes a string of the value when it writes the object: evanphx/json-patch compares
 * bytes, so that a `test` with an unescaped string fails. Names of members are compared unescaped.
 * Not modelled: strings that the same patch has added are not escaped.
 */
function isEscaped(value: Json): boolean {
  if (typeof value === 'string') return /[<>&\u2028\u2029]/.test(value);
  return (
    typeof value === 'object' &&
    Object.values(value ?? {}).some((member) => isEscaped(member ?? null))
  );
}

/**
 * Splits a JSON pointer (RFC 6901). Text before the first slash is ignored, as in
 * evanphx/json-patch.
 */
function pointer(path: string): string[] {
  if (path === '') return [];
  if (!path.includes('/')) throw patchFailed();
  return path
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function read(target: Json, path: readonly string[]): Json {
  let value: Json | undefined = target;
  for (const token of path) {
    if (Array.isArray(value)) value = (value as readonly Json[])[index(token, value.length - 1)];
    else if (isObject(value) && Object.hasOwn(value, token)) value = value[token];
    else throw patchFailed();
  }
  if (value === undefined) throw patchFailed();
  return value;
}

/** Reads for `test` and `copy`: a missing member equals null, as in evanphx/json-patch. */
function readOrNull(target: Json, path: readonly string[]): Json {
  const parent = path.length === 0 ? undefined : read(target, path.slice(0, -1));
  if (isObject(parent) && !Object.hasOwn(parent, path.at(-1) ?? '')) return null;
  return read(target, path);
}

/**
 * Parses an index as evanphx/json-patch does: leading zeros are allowed, negative ones count from
 * the end.
 */
function index(token: string, max: number): number {
  const given = /^[+-]?\d+$/.test(token) ? Number(token) : Number.NaN;
  const at = given < 0 ? given + max + 1 : given;
  if (!(at >= 0 && at <= max)) throw patchFailed();
  return at;
}

/**
 * Rebuilds the path down to the parent of the last token, which `change` replaces. The root has no
 * parent: evanphx/json-patch supports only replacing it.
 */
function rebuild(
  target: Json,
  path: readonly string[],
  change: (parent: Json, token: string) => Json,
): Json {
  const [token, ...rest] = path;
  if (token === undefined) throw patchFailed();
  if (rest.length === 0) return change(target, token);
  const below = rebuild(read(target, [token]), rest, change);
  return set(target, [token], below);
}

const set = (target: Json, path: readonly string[], value: Json): Json =>
  rebuild(target, path, (parent, token) => {
    if (Array.isArray(parent)) return parent.with(index(token, parent.length - 1), value);
    if (isObject(parent)) return withMember(parent, token, value);
    throw patchFailed();
  });

const add = (target: Json, path: readonly string[], value: Json): Json =>
  rebuild(target, path, (parent, token) => {
    if (Array.isArray(parent))
      return parent.toSpliced(
        token === '-' ? parent.length : index(token, parent.length),
        0,
        value,
      );
    if (isObject(parent)) return withMember(parent, token, value);
    throw patchFailed();
  });

const remove = (target: Json, path: readonly string[]): Json =>
  rebuild(target, path, (parent, token) => {
    if (Array.isArray(parent)) return parent.toSpliced(index(token, parent.length - 1), 1);
    if (!isObject(parent) || !Object.hasOwn(parent, token)) throw patchFailed();
    return Object.fromEntries(Object.entries(parent).filter(([member]) => member !== token));
  });

/** Works for `__proto__` too. */
function withMember(parent: JsonObject, member: string, value: Json): JsonObject {
  const members = new Map(Object.entries(parent));
  members.set(member, value);
  return Object.fromEntries(members);
}
