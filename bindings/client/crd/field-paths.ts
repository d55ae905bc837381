/**
 * Checks the paths of printer columns, the scale subresource and selectable fields against the
 * schema. A server takes a column or a scale whose members do not exist, and shows nothing.
 */
import type { PrinterColumn, ScaleSubresource } from './definition.ts';
import { SchemaError, type StructuralSchema } from './structural-schema.ts';

interface FieldPaths {
  readonly additionalPrinterColumns?: readonly PrinterColumn[] | undefined;
  readonly scale?: ScaleSubresource | undefined;
  readonly selectableFields?: readonly string[] | undefined;
}

/** apiextensions-apiserver: pkg/apis/apiextensions/validation, MaxSelectableFields. */
const MOST_SELECTABLE = 8;

/**
 * Throws SchemaError for a path that the schema does not have, or whose values have the wrong type.
 */
export function checkFieldPaths(
  { additionalPrinterColumns = [], scale, selectableFields = [] }: FieldPaths,
  schema: StructuralSchema,
): void {
  for (const { name, type, jsonPath } of additionalPrinterColumns) {
    const types = at(jsonPath, schema, `the column ${name}`);
    const allowed = COLUMN_TYPES[type];
    if (types !== 'any' && allowed !== undefined && !types.every((one) => allowed.includes(one)))
      throw wrong(jsonPath, `the column ${name} shows`, type, types);
  }
  if (scale !== undefined) {
    const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
    for (const [path, under, type] of [
      [specReplicasPath, ['.spec.'], 'integer'],
      [statusReplicasPath, ['.status.'], 'integer'],
      [labelSelectorPath, ['.spec.', '.status.'], 'string'],
    ] as const)
      if (path !== undefined) checkScale(path, under, type, schema);
  }
  if (selectableFields.length > MOST_SELECTABLE)
    throw new SchemaError(
      selectableFields[MOST_SELECTABLE] as string,
      `a server takes at most ${MOST_SELECTABLE} selectable fields`,
    );
  for (const path of selectableFields) {
    if (path.includes('[')) throw new SchemaError(path, 'a selectable field is in no list or map');
    const types = at(path, schema, 'a selectable field');
    if (types === 'any' || !types.every((one) => SELECTABLE.includes(one)))
      throw wrong(path, 'a selectable field has', 'string, boolean or integer', types);
  }
}

type Types = readonly string[] | 'any';

/** What a column of a type can show. */
const COLUMN_TYPES: Readonly<Record<string, readonly string[]>> = {
  integer: ['integer'],
  number: ['integer', 'number'],
  boolean: ['boolean'],
  date: ['string'],
};
const SELECTABLE = ['string', 'boolean', 'integer'];

function checkScale(
  path: string,
  under: readonly string[],
  type: string,
  schema: StructuralSchema,
): void {
  if (!under.some((prefix) => path.startsWith(prefix)) || path.includes('['))
    throw new SchemaError(
      path,
      `the scale subresource expects a path under ${under.join(' or ')}, in no list`,
    );
  const types = at(path, schema, 'the scale subresource');
  if (types !== 'any' && !types.every((one) => one === type))
    throw wrong(path, 'the scale subresource has', type, types);
}

function wrong(path: string, what: string, expected: string, got: Types): SchemaError {
  const found = got === 'any' ? 'of any type' : got.join(' or ');
  return new SchemaError(path, `${what} values of type ${expected}, and these are ${found}`);
}

/** `.name`, `['name']`, an index or a filter. */
const STEP = /\.((?:\\.|[^.[\\])+)|\[(?:'([^']*)'|"([^"]*)"|[^\]]*)\]/y;

/** The types at a JSONPath; `any` where the schema does not say. Throws SchemaError. */
function at(path: string, schema: StructuralSchema, what: string): Types {
  if (typeof path !== 'string' || !/^[.[]/.test(path))
    throw new SchemaError(String(path), `${what} expects a path such as ".spec.host"`);
  if (path.startsWith('.metadata')) return 'any';
  let node: StructuralSchema = schema;
  STEP.lastIndex = 0;
  for (let from = 0; from < path.length; from = STEP.lastIndex) {
    const step = STEP.exec(path);
    if (step === null) return 'any'; // what JSONPath has besides, such as ".."
    const name = (step[1] ?? step[2] ?? step[3])?.replaceAll(/\\(.)/g, '$1');
    const next = name === undefined ? node.items : memberOf(node, name);
    if (next === undefined) {
      if (node['x-kubernetes-preserve-unknown-fields'] === true) return 'any';
      if (name === undefined && node.type === 'object') return 'any'; // all members of a map
      const names = Object.keys(node.properties ?? {});
      throw new SchemaError(
        path,
        `${what} expects a member of the schema, and ${step[0]} is none` +
          (names.length === 0 ? '' : `: there are ${names.join(', ')}`),
      );
    }
    node = next;
  }
  if (node['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return node.type === undefined ? 'any' : [node.type];
}

function memberOf(node: StructuralSchema, name: string): StructuralSchema | undefined {
  const { properties = {}, additionalProperties } = node;
  return Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
}
