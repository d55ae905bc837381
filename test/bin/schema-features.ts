/** Which features of schemas definitions use, by the type that has them: for a list of them. */
import type { CustomResourceDefinition } from 'capstan/client';

type Part = Readonly<Record<string, unknown>>;

const isPart = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isTextAlone = (keyword: string): boolean => ['description', 'title'].includes(keyword);

/** Such as `string.pattern`, `in oneOf: required`, `format date-time` and `enum of string`. */
export function schemaFeatures(definitions: readonly CustomResourceDefinition[]): string[] {
  const found = new Set<string>();
  const walk = (schema: unknown, around: string): void => {
    if (!isPart(schema)) return;
    const isEither = schema['x-kubernetes-int-or-string'] === true;
    const type = isEither ? 'int-or-string' : String(schema.type ?? 'untyped');
    for (const keyword of Object.keys(schema))
      if (!isTextAlone(keyword))
        found.add(around === '' ? `${type}.${keyword}` : `in ${around}: ${keyword}`);
    const { format, enum: known, default: fallback, additionalProperties: more } = schema;
    if (typeof format === 'string') found.add(`format ${format}`);
    for (const value of Array.isArray(known) ? known : []) found.add(`enum of ${typeof value}`);
    if (fallback !== undefined)
      found.add(`default of ${Array.isArray(fallback) ? 'array' : typeof fallback}`);
    const list = schema['x-kubernetes-list-type'];
    if (list !== undefined) found.add(`list of type ${list}`);
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (!/^[A-Za-z_$][\w$]*$/.test(name)) found.add('a name that is no identifier');
      walk(property, around);
    }
    walk(schema.items, around);
    walk(more, around);
    for (const keyword of ['allOf', 'anyOf', 'oneOf'])
      for (const each of (schema[keyword] as unknown[] | undefined) ?? []) walk(each, keyword);
    walk(schema.not, 'not');
  };
  for (const { spec } of definitions) {
    for (const member of Object.keys(spec)) found.add(`definition.${member}`);
    for (const version of spec.versions) {
      for (const member of Object.keys(version)) found.add(`version.${member}`);
      walk(version.schema.openAPIV3Schema, '');
    }
  }
  return [...found].sort();
}
