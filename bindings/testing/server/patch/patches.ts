/**
 * Patches of the four types: from a request body to the change of an object. Invalid patches are
 * refused here.
 */

import type { PatchType } from '../answers/media-types.ts';
import type { Sent } from '../answers/yaml.ts';
import { duplicateFields } from '../duplicates.ts';
import { FieldTypeError, readFields } from '../fields.ts';
import {
  goText,
  isObject,
  type Json,
  type JsonObject,
  sorted,
  unmarshalError,
  writeJson,
} from '../json.ts';
import type { Kind, Kinds } from '../registry/kinds.ts';
import { MetadataTypeError, normalizeMetadata } from '../registry/metadata.ts';
import type { ChangeObject } from '../registry/registry.ts';
import { metadataOf } from '../registry/store.ts';
import { typeOf } from '../registry/types.ts';
import { checkObject, parseBody } from '../request/body.ts';
import type { FieldValidation } from '../request/options.ts';
import { ApiError, badRequest, fieldInvalid, invalidObject } from '../status.ts';
import { jsonPatch, mergePatch } from './json-patch.ts';
import { strategicPatch } from './strategic.ts';

const MAP = 'Go value of type map[string]interface {}';

/** The object after a patch, and the warnings that it causes. */
export interface Patched {
  change: ChangeObject;
  warnings: string[];
}

export function patchFrom(
  kind: Kind,
  kinds: Kinds,
  type: Exclude<PatchType, 'apply'>,
  body: string,
  validation: FieldValidation,
): Patched {
  const warnings: string[] = [];
  const change = (existing: JsonObject): JsonObject => {
    const patch = decodePatch(type, body, validation);
    const result = applyPatch(kind, type, existing, patch);
    const isText = (name: string): boolean => {
      const member = isObject(patch) ? (patch[name] ?? '') : '';
      return typeof member === 'string';
    };
    const text = (): string => writeJson(kind.builtIn ? result : sorted(result));
    const refuse = (why: string): Error => {
      const patchText = type === 'strategic' ? goText(patch) : text();
      return invalidObject({ group: '', what: '', name: '' }, [
        fieldInvalid('patch', patchText, why),
      ]);
    };
    if (type === 'strategic' && !(isText('apiVersion') && isText('kind')))
      throw refuse('unrecognized type: string');
    const object = checkObject(kind, kinds, result, text, refuse);
    if (!object.apiVersion && !kind.builtIn) throw missingVersion();
    let problems: string[];
    let read: JsonObject;
    try {
      ({ object: read, problems } = object.apiVersion
        ? readFields(kind, object, undefined, type === 'strategic')
        : readWithoutVersion(object));
      normalizeMetadata(kind, read.metadata);
    } catch (error) {
      if (error instanceof FieldTypeError)
        throw refuse(type === 'strategic' ? error.converting : error.message);
      if (error instanceof MetadataTypeError) throw refuse(error.why);
      // An error in apiVersion, kind or metadata of an embedded resource.
      if (error instanceof ApiError) throw refuse(error.message);
      throw error;
    }
    // Duplicate fields are looked for in the patch: the object has none.
    const duplicates = duplicateFields(body, patch);
    const all = isObject(patch)
      ? [...duplicates, ...problems]
      : [
          ...duplicates.map((why) => `json patch ${why}`),
          ...unknownInOperations(patch),
          ...problems,
        ];
    if (validation === 'Strict' && all.length > 0)
      throw refuse(`strict decoding error: ${all.join(', ')}`);
    if (validation === 'Warn') warnings.splice(0, warnings.length, ...all);
    if (!object.apiVersion) throw nameless(existing, warnings);
    return read;
  };
  return { change, warnings };
}

/** Decodes the patch; called when the object to patch is known. */
function decodePatch(
  type: Exclude<PatchType, 'apply'>,
  body: string,
  validation: FieldValidation,
): Json {
  const decoding = type === 'strategic' ? '' : 'error decoding patch: ';
  const parsed = parseBody(body, (why) => badRequest(`${decoding}${why}`));
  const patch = type === 'strategic' ? (parsed ?? {}) : parsed;
  // With Ignore, a list replaces the object and then fails as one.
  const replaces = type === 'merge' && validation === 'Ignore' && Array.isArray(patch);
  if (type !== 'json' && !isObject(patch) && !replaces)
    throw badRequest(`${decoding}${unmarshalError(patch, MAP)}`);
  return patch;
}

function applyPatch(
  kind: Kind,
  type: Exclude<PatchType, 'apply'>,
  existing: JsonObject,
  patch: Json,
): JsonObject {
  if (type === 'json') return jsonPatch(existing, patch);
  if (type === 'merge') return mergePatch(existing, patch) as JsonObject;
  const { apiVersion, kind: name } = existing;
  // Ignored here: the real server patches the decoded object, which has no apiVersion or kind.
  return { ...strategicPatch(typeOf(kind), existing, patch as JsonObject), apiVersion, kind: name };
}

/** Without apiVersion the real server decodes a built-in kind as a type without fields. */
function readWithoutVersion(object: JsonObject): { object: JsonObject; problems: string[] } {
  const { kind: _, apiVersion: __, ...members } = object;
  const unknown = Object.keys(members).sort();
  return { object, problems: unknown.map((name) => `unknown field "${name}"`) };
}

function nameless(existing: JsonObject, warnings: readonly string[]): ApiError {
  const { name } = metadataOf(existing);
  const why = 'was undeterminable: name must be provided';
  const error = badRequest(`the name of the object (${name} based on URL) ${why}`);
  error.warnings = warnings;
  return error;
}

function missingVersion(): ApiError {
  const message = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
  return new ApiError(500, `Internal error occurred: ${message}`, {
    reason: 'InternalError',
    details: { causes: [{ message }] },
  });
}

const OPERATION = ['op', 'path', 'from', 'value'];

function unknownInOperations(patch: Json): string[] {
  if (!Array.isArray(patch)) return [];
  return (patch as readonly Json[]).flatMap((operation, at) =>
    isObject(operation)
      ? Object.keys(operation)
          .filter((name) => !OPERATION.includes(name))
          .map((name) => `json patch unknown field "[${at}].${name}"`)
      : [],
  );
}

/** Reads the body of an apply patch, as JSON. */
export function configurationFrom(
  { text: body, problems }: Sent,
  validation: FieldValidation,
): { config: JsonObject; warnings: readonly string[] } {
  const fail = (why: string): Error => badRequest(`error decoding YAML: ${why}`);
  if (validation === 'Strict' && problems.length > 0)
    throw badRequest(`error strict decoding YAML: ${problems.join(', ')}`);
  const warnings = validation === 'Warn' ? problems : [];
  if (body.trim() === '') return { config: {}, warnings };
  const config = parseBody(body, () =>
    fail('error converting YAML to JSON: yaml: found unexpected end of stream'),
  );
  if (isObject(config)) return { config, warnings };
  throw fail(`error unmarshaling JSON: while decoding JSON: ${unmarshalError(config, MAP)}`);
}
