/**
 * Resources embedded in a custom object (`x-kubernetes-embedded-resource`), which have apiVersion,
 * kind and metadata. apiextensions-apiserver: pkg/apiserver/schema/objectmeta.
 */

import { typeNamed } from '../../../apimachinery/built-in.ts';
import { isObject, type Json, type JsonObject, stringAt, writeJson } from '../json.ts';
import { additional, isEmbedded, type Schema, schemaAt } from '../schema/structural.ts';
import { badRequest, type FieldError, fieldInvalid, fieldRequired } from '../status.ts';
import type { Kind } from './kinds.ts';
import { createErrors, MetadataTypeError, normalizeMetadata } from './metadata.ts';
import { dnsLabel, label1035, pathSegmentErrors } from './names.ts';

/** Stands for the kind of an embedded resource, which need not be served. */
const UNSERVED_KIND = { builtIn: false, kind: '', version: '', plural: '', group: '' } as Kind;

/** @param path of the value; '' is the object itself, which is not checked here */
export function embeddedErrors(schema: Schema, value: Json, path = ''): FieldError[] {
  if (Array.isArray(value)) {
    const items = schemaAt(schema, 'items');
    if (items === undefined) return [];
    return value.flatMap((item: Json, at) => embeddedErrors(items, item, `${path}[${at}]`));
  }
  if (!isObject(value)) return [];
  const properties = schemaAt(schema, 'properties') ?? {};
  const rest = additional(schema);
  const below = Object.entries(value).flatMap(([name, member]) => {
    const property = schemaAt(properties, name);
    if (member === undefined) return [];
    if (property !== undefined)
      return embeddedErrors(property, member, path === '' ? name : `${path}.${name}`);
    return isObject(rest) ? embeddedErrors(rest, member, `${path}[${name}]`) : [];
  });
  return isEmbedded(schema) ? [...resourceErrors(value, path), ...below] : below;
}

/** The errors of an embedded resource at that path. */
export function resourceErrors(value: JsonObject, path: string): FieldError[] {
  const { apiVersion, kind, metadata } = value;
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const errors: FieldError[] = [];
  if (apiVersion === undefined) errors.push(fieldRequired(at('apiVersion'), ''));
  else if (typeof apiVersion !== 'string')
    errors.push(fieldInvalid(at('apiVersion'), apiVersion, 'must be a string'));
  else if (apiVersion === '')
    errors.push(fieldInvalid(at('apiVersion'), apiVersion, 'must not be empty'));
  else if (apiVersion.split('/').length > 2) {
    const why = `unexpected GroupVersion string: ${apiVersion}`;
    errors.push(fieldInvalid(at('apiVersion'), apiVersion, why));
  }
  if (kind === undefined) errors.push(fieldRequired(at('kind'), ''));
  else if (typeof kind !== 'string')
    errors.push(fieldInvalid(at('kind'), kind, 'must be a string'));
  else if (kind === '') errors.push(fieldInvalid(at('kind'), kind, 'must not be empty'));
  else {
    const why = label1035(kind.toLowerCase());
    const also = 'may have mixed case, but should otherwise match: ';
    if (why.length > 0) errors.push(fieldInvalid(at('kind'), kind, also + why.join(',')));
  }
  if (metadata !== undefined) errors.push(...metadataErrors(metadata, at('metadata')));
  return errors;
}

function metadataErrors(given: Json, path: string): FieldError[] {
  let metadata: JsonObject;
  try {
    metadata = normalizeMetadata(UNSERVED_KIND, given);
  } catch (error) {
    if (error instanceof MetadataTypeError) return [fieldInvalid(path, given, error.why)];
    throw error;
  }
  const name = (member: string, why: string[]): FieldError[] =>
    why.map((each) => fieldInvalid(`${path}.${member}`, metadata[member], each));
  const namespace = stringAt(metadata, 'namespace');
  const prefix = stringAt(metadata, 'generateName');
  return [
    ...name('generateName', prefix === '' ? [] : pathSegmentErrors(prefix)),
    ...name(
      'name',
      stringAt(metadata, 'name') === '' ? [] : pathSegmentErrors(stringAt(metadata, 'name')),
    ),
    ...name('namespace', namespace === '' ? [] : dnsLabel(namespace)),
    ...createErrors(UNSERVED_KIND, metadata).map((error) => ({
      ...error,
      field: error.field.replace(/^metadata/, () => path),
    })),
  ];
}

/**
 * The object with the metadata of its embedded resources as Go decodes it: unknown members are
 * dropped. Throws 400 for members of a wrong type.
 *
 * @param unknown called with the path of each unknown member
 */
export function withReadMetadata(
  schema: Schema,
  value: Json,
  unknown?: (path: string) => void,
  path = '',
): Json {
  if (Array.isArray(value)) {
    const items = schemaAt(schema, 'items');
    if (items === undefined) return value;
    return value.map((item: Json, at) => withReadMetadata(items, item, unknown, `${path}[${at}]`));
  }
  if (!isObject(value)) return value;
  const properties = schemaAt(schema, 'properties') ?? {};
  const rest = additional(schema);
  const embedded = isEmbedded(schema);
  const members: [string, Json | undefined][] = [];
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    const of = schemaAt(properties, name) ?? (isObject(rest) ? rest : undefined);
    const isName = name === 'apiVersion' || name === 'kind';
    if (embedded && isName && member !== undefined && typeof member !== 'string')
      throw badRequest(`${at}: Invalid value: ${writeJson(member)}: must be a string`);
    if (embedded && name === 'metadata') members.push([name, readMetadata(member, at, unknown)]);
    else if (of === undefined || member === undefined) members.push([name, member]);
    else members.push([name, withReadMetadata(of, member, unknown, at)]);
  }
  return Object.fromEntries(members);
}

function readMetadata(
  value: Json | undefined,
  path: string,
  unknown?: (path: string) => void,
): Json | undefined {
  const known = typeNamed('ObjectMeta').map;
  for (const name of Object.keys(isObject(value) ? value : {}))
    if (known?.field(name) === undefined) unknown?.(`${path}.${name}`);
  return normalizeMetadata(UNSERVED_KIND, value ?? null);
}
