/**
 * Sets every list and map that an object omits to an empty one, as the server's OpenAPI describes
 * them.
 */
import type { Transport } from 'capstan/cache';
import type { SampleObject } from './objects.ts';

interface Schema {
  type?: string;
  $ref?: string;
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
}

export type Schemas = Record<string, Schema>;
type Json = Record<string, unknown>;

/** The path of a list or map that an object omits. */
export interface Empty {
  readonly path: readonly string[];
  readonly value: [] | Record<string, never>;
}

export async function getJson(transport: Transport, path: string): Promise<Json> {
  const { status, body } = await transport.request({ method: 'GET', path });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk.slice());
  const text = Buffer.concat(chunks).toString();
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`);
  return JSON.parse(text) as Json;
}

export async function schemasOf(transport: Transport, prefix: string): Promise<Schemas> {
  const document = await getJson(transport, `/openapi/v3${prefix}`);
  return (document.components as { schemas: Schemas }).schemas;
}

export function emptiesOf(
  schemas: Schemas,
  group: string,
  version: string,
  kind: string,
  body: SampleObject,
): Empty[] {
  const root = Object.values(schemas).find((schema) =>
    (schema as { 'x-kubernetes-group-version-kind'?: Json[] })[
      'x-kubernetes-group-version-kind'
    ]?.some((gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind),
  );
  const found: Empty[] = [];
  walk(schemas, root ?? {}, body, [], found);
  return found;
}

function resolved(schemas: Schemas, schema: Schema): Schema {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (ref === undefined) return schema;
  return resolved(schemas, schemas[ref.slice(ref.lastIndexOf('/') + 1)] ?? {});
}

function walk(
  schemas: Schemas,
  given: Schema,
  value: unknown,
  path: string[],
  found: Empty[],
): void {
  const schema = resolved(schemas, given);
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries())
      if (schema.items !== undefined)
        walk(schemas, schema.items, item, [...path, String(i)], found);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const at = [...path, name];
    const there = (value as Json)[name];
    if (there !== undefined) walk(schemas, member, there, at, found);
    else if (path.length === 0 && name === 'status') continue;
    else if (member.type === 'array') found.push({ path: at, value: [] });
    else if (member.additionalProperties !== undefined) found.push({ path: at, value: {} });
  }
}

/** A copy of the object with these members; `value` replaces the value of each. */
export function withEmpties(
  body: SampleObject,
  empties: readonly Empty[],
  value?: null,
): SampleObject {
  const copy = structuredClone(body);
  for (const { path, value: empty } of empties) {
    let at = copy as Json;
    for (const name of path.slice(0, -1)) at = at[name] as Json;
    at[path.at(-1) as string] = value === null ? null : structuredClone(empty);
  }
  return copy;
}
