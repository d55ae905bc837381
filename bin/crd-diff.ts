/**
 * `capstan crd diff`: the changes of a CustomResourceDefinition that break clients or stored
 * objects, by path and rule. A change that only allows more values is not one of them.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CRDVersion, CustomResourceDefinition, StructuralSchema } from 'capstan/client';

/** The rules, with what breaks. */
export const RULES = {
  'definition-removed': 'the definition and all its objects are deleted',
  'scope-changed': 'the server refuses it',
  'names-changed': 'the kind or its list kind has another name',
  'short-name-removed': 'kubectl no longer knows the short name',
  'version-removed': 'clients of a served version get 404',
  'version-not-served': 'clients of the version get 404',
  'stored-version-removed': 'objects may be stored in the version: the server refuses it',
  'conversion-removed': 'the API server no longer converts objects between versions',
  'status-changed': 'the status subresource was added or removed: other requests write the status',
  'scale-changed': 'the scale subresource was removed, or uses other fields',
  'selectable-field-removed': 'field selectors of this field are refused',
  'field-removed': 'the API server prunes the field',
  'type-changed': 'values of the old type are refused, or clients read another type',
  'map-changed': 'the object is no longer a map with any keys',
  'unknown-fields-dropped': 'unknown fields were preserved, and are pruned now',
  'required-added': 'objects without the field are refused',
  'enum-value-removed': 'objects with the value are refused',
  'enum-added': 'any value was allowed, and only the enum is now',
  'null-refused': 'null was allowed, and is pruned or refused now',
  'limit-tightened': 'values beyond the new limit are refused',
  'pattern-changed': 'strings that do not match the new pattern are refused',
  'format-changed': 'strings without the new format are refused',
  'union-changed': 'oneOf, anyOf, allOf or not restricts values in another way',
  'rule-added': 'objects that break the new CEL rule are refused',
  'default-changed': 'objects without the field get another default, or none',
  'list-type-changed': 'server-side apply merges the list in another way, or refuses duplicates',
  'map-type-changed': 'server-side apply merges the object in another way',
  'embedded-changed': 'apiVersion, kind and metadata become required in the object, or are pruned',
} as const;

export type ChangeRule = keyof typeof RULES;

/** One breaking change. */
export interface BreakingChange {
  /** The name of the definition. */
  readonly definition: string;
  /** Empty for a change of all versions. */
  readonly version: string;
  /** Such as `spec.ports[].name` or `spec.labels.*`; empty for the object or the version itself. */
  readonly path: string;
  readonly rule: ChangeRule;
  readonly message: string;
}

type Report = (path: string, rule: ChangeRule, message: string) => void;

/** All breaking changes, by definition, version, path and rule. */
export function breakingChanges(
  before: readonly CustomResourceDefinition[],
  after: readonly CustomResourceDefinition[],
): BreakingChange[] {
  const found: BreakingChange[] = [];
  const byName = new Map(after.map((crd) => [crd.metadata.name, crd]));
  for (const old of before) {
    const definition = old.metadata.name ?? '';
    const reportFor =
      (version: string): Report =>
      (path, rule, message) => {
        found.push({ definition, version, path, rule, message });
      };
    const now = byName.get(definition);
    if (now === undefined) reportFor('')('', 'definition-removed', RULES['definition-removed']);
    else compareDefinitions(old, now, reportFor);
  }
  const key = (change: BreakingChange): string =>
    [change.definition, change.version, change.path, change.rule, change.message].join('\n');
  return found.sort((a, b) => (key(a) < key(b) ? -1 : Number(key(a) > key(b))));
}

function compareDefinitions(
  old: CustomResourceDefinition,
  now: CustomResourceDefinition,
  reportFor: (version: string) => Report,
): void {
  const report = reportFor('');
  const [was, is] = [old.spec, now.spec];
  if (was.scope !== is.scope) report('', 'scope-changed', `${was.scope} → ${is.scope}`);
  const listKind = ({ kind, listKind: given = `${kind}List` }: typeof was.names): string => given;
  for (const [from, to] of [
    [was.names.kind, is.names.kind],
    [listKind(was.names), listKind(is.names)],
  ] as const)
    if (from !== to) report('', 'names-changed', `${from} → ${to}`);
  for (const name of was.names.shortNames ?? [])
    if (!is.names.shortNames?.includes(name)) report('', 'short-name-removed', name);
  if (was.conversion?.strategy === 'Webhook' && is.conversion?.strategy !== 'Webhook')
    report('', 'conversion-removed', `Webhook → ${is.conversion?.strategy ?? 'None'}`);
  const stored = new Set(old.status?.storedVersions ?? []);
  for (const version of was.versions) {
    const { name } = version;
    const next = is.versions.find((one) => one.name === name);
    const inVersion = reportFor(name);
    if (next !== undefined) {
      if (!version.served) continue;
      if (next.served) compareVersions(version, next, inVersion);
      else inVersion('', 'version-not-served', RULES['version-not-served']);
      continue;
    }
    if (version.served) inVersion('', 'version-removed', RULES['version-removed']);
    if (version.storage || stored.has(name))
      inVersion('', 'stored-version-removed', RULES['stored-version-removed']);
  }
}

function compareVersions(was: CRDVersion, is: CRDVersion, report: Report): void {
  const has = (version: CRDVersion): string =>
    version.subresources?.status === undefined ? 'absent' : 'present';
  if (has(was) !== has(is)) report('status', 'status-changed', `${has(was)} → ${has(is)}`);
  const scale = was.subresources?.scale;
  if (scale !== undefined && !isDeepStrictEqual(scale, is.subresources?.scale))
    report('', 'scale-changed', change(scale, is.subresources?.scale));
  const selectable = (is.selectableFields ?? []).map(({ jsonPath }) => jsonPath);
  for (const { jsonPath } of was.selectableFields ?? [])
    if (!selectable.includes(jsonPath))
      report(
        jsonPath.replace(/^\./, ''),
        'selectable-field-removed',
        'selectable → not selectable',
      );
  const [before, after] = [was.schema?.openAPIV3Schema, is.schema?.openAPIV3Schema];
  if (before !== undefined && after !== undefined) compareSchemas(before, after, '', report);
}

function compareSchemas(
  was: StructuralSchema,
  is: StructuralSchema,
  path: string,
  report: Report,
): void {
  const [from, to] = [typeOf(was), typeOf(is)];
  if (from !== to) {
    report(path, 'type-changed', `${from} → ${to}`);
    return;
  }
  compareValues(was, is, path, report);
  compareExtensions(was, is, path, report);
  compareMembers(was, is, path, report);
  if (was.items !== undefined && is.items !== undefined)
    compareSchemas(was.items, is.items, `${path}[]`, report);
}

function typeOf(schema: StructuralSchema): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or string';
  return schema.type ?? 'any';
}

/** Keywords whose value may not rise, and those whose value may not fall. */
const LOWER = ['minimum', 'minLength', 'minItems', 'minProperties'] as const;
const UPPER = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const;

/** The keywords that restrict values. */
function compareValues(
  was: StructuralSchema,
  is: StructuralSchema,
  path: string,
  report: Report,
): void {
  if (is.enum !== undefined) {
    if (was.enum === undefined)
      report(path, 'enum-added', `any value → ${is.enum.map(text).join(', ')}`);
    for (const value of was.enum ?? [])
      if (!is.enum.some((one) => isDeepStrictEqual(one, value)))
        report(path, 'enum-value-removed', text(value));
  }
  if (was.nullable === true && is.nullable !== true)
    report(path, 'null-refused', 'nullable → not nullable');
  for (const [keywords, isTighter] of [
    [LOWER, (a: number, b: number) => b > a],
    [UPPER, (a: number, b: number) => b < a],
  ] as const)
    for (const keyword of keywords) {
      const [a, b] = [was[keyword], is[keyword]];
      if (b !== undefined && (a === undefined || isTighter(a, b)))
        report(path, 'limit-tightened', `${keyword} ${change(a, b)}`);
    }
  for (const [keyword, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const)
    if (is[keyword] === true && was[keyword] !== true && was[limit] === is[limit])
      report(path, 'limit-tightened', `${keyword} ${change(was[keyword], true)}`);
  if (is.multipleOf !== undefined && !isMultiple(was.multipleOf, is.multipleOf))
    report(path, 'limit-tightened', `multipleOf ${change(was.multipleOf, is.multipleOf)}`);
  for (const keyword of ['pattern', 'format'] as const)
    if (is[keyword] !== undefined && is[keyword] !== was[keyword])
      report(path, `${keyword}-changed`, change(was[keyword], is[keyword]));
  for (const keyword of ['oneOf', 'anyOf', 'allOf', 'not'] as const)
    if (is[keyword] !== undefined && !isDeepStrictEqual(plain(was[keyword]), plain(is[keyword])))
      report(path, 'union-changed', keyword);
  if (!isDeepStrictEqual(plain(was.default), plain(is.default)))
    report(path, 'default-changed', change(was.default, is.default));
}

/** Whether each multiple of the old number is a multiple of the new one. */
function isMultiple(old: number | undefined, now: number): boolean {
  return old !== undefined && Number.isInteger(old / now);
}

function compareExtensions(
  was: StructuralSchema,
  is: StructuralSchema,
  path: string,
  report: Report,
): void {
  const open = 'x-kubernetes-preserve-unknown-fields';
  if (was[open] === true && is[open] !== true)
    report(path, 'unknown-fields-dropped', 'kept → dropped');
  const embedded = 'x-kubernetes-embedded-resource';
  const isEmbedded = is[embedded] === true;
  if ((was[embedded] === true) !== isEmbedded)
    report(path, 'embedded-changed', `${!isEmbedded} → ${isEmbedded}`);
  const rules = (was['x-kubernetes-validations'] ?? []).map(({ rule }) => rule.trim());
  for (const { rule } of is['x-kubernetes-validations'] ?? [])
    if (!rules.includes(rule.trim())) report(path, 'rule-added', rule.trim());
  // The server's defaults: lists are atomic, objects granular.
  const list = (schema: StructuralSchema): string => {
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    const by = keys.length === 0 ? '' : ` by ${[...keys].sort().join(', ')}`;
    return `${schema['x-kubernetes-list-type'] ?? 'atomic'}${by}`;
  };
  if (list(was) !== list(is)) report(path, 'list-type-changed', `${list(was)} → ${list(is)}`);
  const map = (schema: StructuralSchema): string => schema['x-kubernetes-map-type'] ?? 'granular';
  if (map(was) !== map(is)) report(path, 'map-type-changed', `${map(was)} → ${map(is)}`);
}

function compareMembers(
  was: StructuralSchema,
  is: StructuralSchema,
  path: string,
  report: Report,
): void {
  const keepsUnknown = is['x-kubernetes-preserve-unknown-fields'] === true;
  const { properties: before = {}, additionalProperties: any } = was;
  const { properties: after = {}, additionalProperties: anyNow } = is;
  const own = (of: Record<string, StructuralSchema>, name: string): StructuralSchema | undefined =>
    Object.hasOwn(of, name) ? of[name] : undefined;
  const below = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const isMap = (more: unknown): boolean => more !== undefined && more !== false;
  if (isMap(any) && isMap(anyNow)) {
    if (typeof any === 'object' && typeof anyNow === 'object')
      compareSchemas(any, anyNow, below('*'), report);
  } else if (isMap(any) && !keepsUnknown) report(path, 'map-changed', 'any keys → named fields');
  for (const [name, member] of Object.entries(before)) {
    const now = own(after, name) ?? (typeof anyNow === 'object' ? anyNow : undefined);
    if (now !== undefined) compareSchemas(member, now, below(name), report);
    else if (!keepsUnknown && !isMap(anyNow))
      report(below(name), 'field-removed', RULES['field-removed']);
  }
  for (const name of is.required ?? [])
    if (!was.required?.includes(name) && own(after, name)?.default === undefined)
      report(below(name), 'required-added', 'optional → required');
}

/** The schema without descriptions. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, of]) => !(key === 'description' && typeof of === 'string'))
      .map(([key, of]) => [key, plain(of)]),
  );
}

const text = (value: unknown): string => (value === undefined ? 'none' : JSON.stringify(value));
const change = (from: unknown, to: unknown): string => `${text(from)} → ${text(to)}`;

/** A line for each change: `foxes.acme.io v1 spec.age: type-changed: string → integer`. */
export function changesText(changes: readonly BreakingChange[]): string {
  if (changes.length === 0) return 'no breaking change\n';
  const lines = changes.map(({ definition, version, path, rule, message }) => {
    const where = [definition, version, path].filter((part) => part !== '').join(' ');
    return `${where}: ${rule}: ${message}\n`;
  });
  const count = `${changes.length} breaking ${changes.length === 1 ? 'change' : 'changes'}`;
  return `${lines.join('')}${count}\n`;
}
