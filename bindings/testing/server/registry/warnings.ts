/**
 * Warnings to clients, sent whether the request succeeds or fails: deprecated versions, and members
 * that cause problems. kubernetes: WarningsOnCreate and WarningsOnUpdate of the kinds' strategies.
 */

import { anySchema, schemasOf } from '../definitions/leniency.ts';
import { isObject, type Json, type JsonObject, memberObject, sameJson } from '../json.ts';
import { isKnownFormat } from '../schema/formats.ts';
import { ApiError } from '../status.ts';
import { builtInWarnings } from '../warnings/kinds.ts';
import { isDefinition } from './definitions.ts';
import type { Kind } from './kinds.ts';

/** Kinds of the core group. */
const DEPRECATED: Readonly<Record<string, readonly string[]>> = {
  endpoints: ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
  componentstatuses: ['v1 ComponentStatus is deprecated in v1.19+'],
};

/** The warning for every request for the kind. */
export function deprecationOf(kind: Kind): readonly string[] {
  if (kind.builtIn) return kind.group === '' ? (DEPRECATED[kind.plural] ?? []) : [];
  return kind.deprecation === undefined ? [] : [kind.deprecation];
}

/** The result of a write: the status code and the text of the object or Status. */
export interface Written {
  code: number;
  json: string;
  /** What the client is warned of. */
  warnings?: readonly string[];
}

/** The warnings about owner references, which do not depend on the result of the write. */
export const ownerWarnings = (object: JsonObject): string[] =>
  duplicateOwners(memberObject(object, 'metadata').ownerReferences);

/**
 * Adds the warnings to the result of the write, or to its error.
 *
 * @param warnings may be filled by the write
 */
export function addWarnings(warnings: readonly string[], write: () => Written): Written {
  const all = (more: readonly string[] = []): string[] => [...new Set([...warnings, ...more])];
  try {
    const written = write();
    const told = all(written.warnings);
    return told.length === 0 ? written : { ...written, warnings: told };
  } catch (error) {
    if (error instanceof ApiError) error.warnings = all(error.warnings);
    throw error;
  }
}

/**
 * The warnings for a valid object that a create, update or patch leads to.
 *
 * @param old undefined at a create
 * @param part whether the write is to the object or to its `/status`
 */
export function warningsOf(
  kind: Kind,
  object: JsonObject,
  old?: JsonObject,
  part: 'object' | 'status' = 'object',
): string[] {
  if (isDefinition(kind)) {
    if (part === 'status') return [];
    const had = old === undefined ? [] : unknownFormats(old);
    return unknownFormats(object).filter((warning) => !had.includes(warning));
  }
  if (kind.builtIn) return builtInWarnings(kind, object, old, part);
  return part === 'status' ? [] : unqualifiedFinalizers(object, old);
}

/** Formats that the server does not check, each once. */
function unknownFormats(crd: JsonObject): string[] {
  const found = new Set<string>();
  for (const schema of schemasOf(memberObject(crd, 'spec')))
    anySchema(schema, ({ format, type }) => {
      if (typeof format === 'string' && !isKnownFormat(format, String(type ?? '')))
        found.add(`unrecognized format ${JSON.stringify(format)}`);
      return false;
    });
  return [...found];
}

const STANDARD = ['orphan', 'foregroundDeletion', 'kubernetes'];

/** New finalizers without a group. customresource/validator.go. */
function unqualifiedFinalizers(object: JsonObject, old?: JsonObject): string[] {
  const of = (each: JsonObject | undefined): Json[] => {
    const { finalizers } = memberObject(each ?? {}, 'metadata');
    return Array.isArray(finalizers) ? [...(finalizers as readonly Json[])] : [];
  };
  const had = of(old);
  return [...new Set(of(object).filter((name) => !had.includes(name)))]
    .map(String)
    .sort()
    .filter((name) => !name.includes('/') && !STANDARD.includes(name))
    .map((name) => {
      const path = name.includes('.') ? ' including a path (/)' : '';
      return (
        `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified ` +
        `finalizer name${path} to avoid accidental conflicts with other finalizer writers`
      );
    });
}

/** apiserver: endpoints/handlers/rest.go dedupOwnerReferencesAndAddWarning. */
function duplicateOwners(list: Json | undefined): string[] {
  const owners = (Array.isArray(list) ? list : []).filter(isObject);
  const again = owners.filter((owner, at) =>
    owners.slice(0, at).some((other) => sameJson(other, owner)),
  );
  const twice = new Set(again.map(({ uid }) => uid));
  if (twice.size === 0) return [];
  return [
    '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in ' +
      '1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate ' +
      `UID(s) observed: ${[...twice].join(', ')}`,
  ];
}
