/**
 * One schema, and from it the TypeScript type of a custom resource, the CustomResourceDefinition
 * that makes an API server check the same, and the check in the program. Types come from what the
 * schema gives (with defaults filled in, as the server stores them), the definition from what it
 * takes.
 */

import { CapstanError, invalid } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import {
  defineResource,
  groupVersion,
  type IndexSpec,
  type Resource,
} from '../../cache/rest/resource.ts';
import type { ObjectMeta } from '../metadata.ts';
import type { AnyResource } from '../types.ts';
import type {
  CRDVersion,
  CustomResourceDefinition,
  PrinterColumn,
  ScaleSubresource,
} from './definition.ts';
import { canonical } from './nodes.ts';
import {
  type InferInput,
  type InferOutput,
  jsonSchemasOf,
  requireSchema,
  type StandardSchema,
} from './standard-schema.ts';
import { type Overrides, Translation } from './structural.ts';
import { SchemaError, type StructuralSchema, type ValidationRule } from './structural-schema.ts';
import {
  type InvalidObjectError,
  type Issue,
  invalidObjectError,
  issuesOf,
  type ValidationResult,
} from './validation.ts';

/** An object of a custom resource. */
export interface CustomObject<Spec, Status = never> {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status | undefined;
}

/** What {@link defineCustomResource} takes. */
export interface CustomResourceOptions<
  Spec extends StandardSchema,
  Status extends StandardSchema | undefined,
  I extends string,
> {
  /** Such as `example.com`. */
  readonly group: string;
  /** Such as `v1` or `v1beta1`. */
  readonly version: string;
  /** In CamelCase and singular, such as `Website`. */
  readonly kind: string;
  /** Default: the English plural of the kind, in small letters. */
  readonly plural?: string | undefined;
  readonly scope: 'Namespaced' | 'Cluster';
  /** Has to be one of objects. */
  readonly spec: Spec;
  /** Has to be one of objects. With it there is a status subresource. */
  readonly status?: Status | undefined;
  readonly subresources?:
    | { readonly status?: boolean | undefined; readonly scale?: ScaleSubresource | undefined }
    | undefined;
  readonly shortNames?: readonly string[] | undefined;
  /** Such as `all`, for `kubectl get all`. */
  readonly categories?: readonly string[] | undefined;
  readonly additionalPrinterColumns?: readonly PrinterColumn[] | undefined;
  /** Fields for field selectors, such as `.spec.host`. */
  readonly selectableFields?: readonly string[] | undefined;
  /** What the server says of the kind (`kubectl explain`). */
  readonly description?: string | undefined;
  /**
   * CEL rules by the path of what they are about: `''` for the object, `spec`, `spec.ports[]`,
   * `spec.labels.*`. The server alone checks them.
   */
  readonly validations?: Readonly<Record<string, readonly ValidationRule[]>> | undefined;
  /**
   * Members of the structural schema by path, for what the schema library has no words for, such as
   * `x-kubernetes-list-type`. One with a `type` (or that preserves unknown fields) stands in place
   * of what the schema says, and is not looked into.
   */
  readonly overrides?: Overrides | undefined;
  /** Default true. */
  readonly served?: boolean | undefined;
  /** True, or what `kubectl` warns with. */
  readonly deprecated?: boolean | string | undefined;
  /** Of the resource, as in defineResource. */
  readonly indexers?:
    | Readonly<Record<I, IndexSpec<CustomObject<InferOutput<Spec>, StatusOf<Status>>>>>
    | undefined;
  readonly labels?: Record<string, string> | undefined;
  readonly annotations?: Record<string, string> | undefined;
}

const SCALE_NAMES = namesOf<ScaleSubresource>()({
  specReplicasPath: 1,
  statusReplicasPath: 1,
  labelSelectorPath: 1,
});
const NAMES = namesOf<AnyOptions>()({
  group: 1,
  version: 1,
  kind: 1,
  plural: 1,
  scope: 1,
  spec: 1,
  status: 1,
  subresources: namesOf<NonNullable<AnyOptions['subresources']>>()({
    status: 1,
    scale: SCALE_NAMES,
  }),
  shortNames: 1,
  categories: 1,
  additionalPrinterColumns: namesOf<PrinterColumn>()({
    name: 1,
    type: 1,
    jsonPath: 1,
    description: 1,
    format: 1,
    priority: 1,
  }),
  selectableFields: 1,
  description: 1,
  validations: 1,
  overrides: 1,
  served: 1,
  deprecated: 1,
  indexers: 1,
  labels: 1,
  annotations: 1,
});

export type StatusOf<S extends StandardSchema | undefined> = S extends StandardSchema
  ? InferOutput<S>
  : never;

/** What {@link CustomResource.parse} takes: what may be written. */
export interface CustomObjectInput<Spec> {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata: ObjectMeta;
  spec: Spec;
  status?: unknown | undefined;
}

/** A custom resource in one version. */
export interface CustomResource<Input, Spec, Status = never, I extends string = never> {
  /** For informers, clients and controllers. */
  readonly resource: Resource<CustomObject<Spec, Status>, I>;
  /**
   * The manifest, with this as its one version. It is plain data: `JSON.stringify(crd)` is what
   * `kubectl apply -f` takes.
   */
  readonly crd: CustomResourceDefinition;
  /**
   * Whether a value is such an object, by the schemas; with their defaults, if so. Never throws.
   */
  validate(object: unknown): Promise<ValidationResult<CustomObject<Spec, Status>>>;
  /**
   * An object that may be written, with apiVersion, kind and defaults filled in.
   *
   * @throws InvalidObjectError
   */
  parse(object: CustomObjectInput<Input>): Promise<CustomObject<Spec, Status>>;
}

/**
 * The objects of a resource, or of a custom resource as the API server stores them.
 *
 * @example
 * const nodeOf = (pod: ObjectOf<typeof Pod>) => pod.spec?.nodeName;
 * @example
 * import * as z from 'zod';
 *
 * const Website = defineCustomResource({ group: 'example.com', version: 'v1', kind: 'Website', scope: 'Namespaced', spec: z.object({ host: z.string() }) });
 * type Website = ObjectOf<typeof Website>;
 */
export type ObjectOf<R extends AnyResource | { readonly resource: AnyResource }> = R extends
  | Resource<infer T, string>
  | { readonly resource: Resource<infer T, string> }
  ? T
  : never;

/**
 * A custom resource from schemas of any library that has Standard Schema and Standard JSON Schema.
 *
 * What the server checks is what the JSON Schema says; refinements in code are checked by
 * `validate` alone, and so are formats that mean something else to the server (`hostname`,
 * `duration`) or nothing; of `uri` it takes some that `z.url()` refuses, and the other way round.
 * Transformations have no place in a schema of stored objects. Unknown members are pruned by the
 * server, whether the schema is strict or not, and so is a null where none may be, which counts as
 * a member that is not there. A member of one alternative of a union is checked in the others, too,
 * if it is there; strict alternatives refuse it. Zod's JSON Schema has no flags of a pattern, so
 * that to the server `/a/i` is as `/a/`; it counts characters, not halves of them.
 *
 * @throws SchemaError for what a CustomResourceDefinition cannot say, with the path
 * @throws CapstanError SCHEMA for a schema without a JSON Schema, INVALID_ARGUMENT
 * @example
 * import * as z from 'zod';
 *
 * const Website = defineCustomResource({
 *   group: 'example.com',
 *   version: 'v1',
 *   kind: 'Website',
 *   scope: 'Namespaced',
 *   spec: z.object({ host: z.string().min(1), replicas: z.int().min(0).default(1) }),
 *   status: z.object({ ready: z.boolean().optional() }),
 *   additionalPrinterColumns: [{ name: 'Host', type: 'string', jsonPath: '.spec.host' }],
 *   validations: { 'spec.host': [{ rule: 'self == oldSelf', message: 'a website does not move' }] },
 * });
 * const site = await Website.parse({ metadata: { name: 'a', namespace: 'default' }, spec: { host: 'a.example' } });
 * const replicas: number = site.spec.replicas; // 1
 */
export function defineCustomResource<
  Spec extends StandardSchema,
  Status extends StandardSchema | undefined = undefined,
  const I extends string = never,
>(
  options: CustomResourceOptions<Spec, Status, I>,
): CustomResource<InferInput<Spec>, InferOutput<Spec>, StatusOf<Status>, I> {
  type Object = CustomObject<InferOutput<Spec>, StatusOf<Status>>;
  checkNames(options);
  const { group, version, kind, scope, spec, status, indexers, plural = pluralOf(kind) } = options;
  requireSchema('spec', spec);
  if (status !== undefined) requireSchema('status', status);
  const schema = objectSchema(options);
  const resource = defineResource<Object>()({
    group,
    version,
    kind,
    plural,
    namespaced: scope === 'Namespaced',
    indexers,
  });
  const apiVersion = groupVersion({ group, version });
  const validate = async (object: unknown): Promise<ValidationResult<Object>> => {
    if (typeof object !== 'object' || object === null || Array.isArray(object))
      return { issues: [{ path: '', message: 'expected an object' }] };
    const given = object as Partial<Object>;
    const issues: Issue[] = [...checkIdentity(given, apiVersion, kind)];
    const value = { ...given, apiVersion, kind } as Record<string, unknown>;
    for (const [name, part] of [
      ['spec', spec],
      ['status', status],
    ] as const) {
      if (part === undefined || (name === 'status' && given.status === undefined)) continue;
      const result = await part['~standard'].validate(given[name]);
      if (result.issues === undefined) value[name] = result.value;
      else for (const issue of issuesOf(name, result.issues)) issues.push(issue);
    }
    return issues.length > 0 ? { issues } : { value: value as unknown as Object };
  };
  return {
    resource: resource as Resource<Object, I>,
    crd: manifest(options, plural, schema),
    validate,
    async parse(object) {
      const result = await validate(object);
      if (result.issues !== undefined) throw invalidObjectError(kind, object, result.issues);
      return result.value;
    },
  };
}

export type { InvalidObjectError };

const LABEL = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;

type AnyOptions = CustomResourceOptions<StandardSchema, StandardSchema | undefined, string>;

function checkNames(options: Omit<AnyOptions, 'indexers'>): void {
  requireNames('options', options, 'option of defineCustomResource()', NAMES);
  const { group, version, kind, plural, scope } = options;
  if (typeof group !== 'string' || !SUBDOMAIN.test(group))
    throw invalid('group', 'a domain such as "example.com"', group);
  if (typeof version !== 'string' || !LABEL.test(version))
    throw invalid('version', 'a version such as "v1"', version);
  if (typeof kind !== 'string' || !/^[A-Z][A-Za-z0-9]{0,62}$/.test(kind))
    throw invalid('kind', 'a name in CamelCase such as "Website"', kind);
  if (plural !== undefined && !(typeof plural === 'string' && LABEL.test(plural)))
    throw invalid('plural', 'a name in small letters such as "websites"', plural);
  if (scope !== 'Namespaced' && scope !== 'Cluster')
    throw invalid('scope', '"Namespaced" or "Cluster"', scope);
}

/** As controller-gen guesses it, for the regular cases. */
function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (/(s|x|z|ch|sh)$/.test(singular)) return `${singular}es`;
  return /[^aeiou]y$/.test(singular) ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}

function objectSchema(options: Omit<AnyOptions, 'indexers'>): StructuralSchema {
  const { spec, status, description, validations = {}, overrides = {} } = options;
  const all: Record<string, StructuralSchema> = { ...overrides };
  for (const [path, rules] of Object.entries(validations))
    all[path] = { ...all[path], 'x-kubernetes-validations': [...rules] };
  const translation = new Translation(all, true);
  const loose = new Translation(all, false);
  const read = new Translation(all, false, true);
  const part = (name: string, schema: StandardSchema): StructuralSchema => {
    const { input, output } = jsonSchemasOf(name, schema);
    const translated = translation.document(input, name);
    checkStored(name, loose.document(input, name), read.document(output, name));
    if (translated.type !== 'object') throw new SchemaError(name, 'expected a schema of objects');
    return translated;
  };
  const schema: StructuralSchema = {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: part('spec', spec),
      ...(status === undefined ? {} : { status: part('status', status) }),
    },
    required: ['spec'],
    ...all[''],
  };
  const unused = Object.keys(all).find((path) => path !== '' && !translation.used.has(path));
  if (unused !== undefined)
    throw new SchemaError(
      unused,
      'there is nothing at this path; items are at "[]", members of any name at ".*"',
    );
  return schema;
}

/**
 * What is stored is what was written, so a schema whose values come out as others would give
 * objects a type that they do not have.
 */
function checkStored(name: string, written: StructuralSchema, read: StructuralSchema): void {
  if (canonical(withoutDefaults(written)) !== canonical(withoutDefaults(read)))
    throw new SchemaError(
      name,
      'the schema transforms values: they are stored as they were written, and so have to be read',
    );
  checkDefaults(name, written, read);
}

/**
 * A member that may be left out and yet is always read has a default, which the server has to know:
 * ArkType does not tell its defaults.
 */
function checkDefaults(path: string, written: StructuralSchema, read: StructuralSchema): void {
  for (const name of read.required ?? [])
    if (!written.required?.includes(name) && (written.properties?.[name]?.default ?? null) === null)
      throw new SchemaError(
        `${path}.${name}`,
        written.properties?.[name]?.default === null
          ? 'its default is null, which a server takes for none, so that it would not be there: make it optional, or give another default'
          : 'this has a default which the JSON Schema of the library does not have, and so the server would not: give it in an override',
      );
  for (const [name, member] of Object.entries(written.properties ?? {})) {
    const same = read.properties?.[name];
    if (same !== undefined) checkDefaults(`${path}.${name}`, member, same);
  }
  if (written.items && read.items) checkDefaults(`${path}[]`, written.items, read.items);
  const { additionalProperties: more } = written;
  if (more && read.additionalProperties)
    checkDefaults(`${path}.*`, more, read.additionalProperties);
}

/**
 * A member with a default may be left out, and is there nonetheless. A member may have the name of
 * a keyword, too.
 */
function withoutDefaults({
  default: _,
  required: __,
  ...schema
}: StructuralSchema): StructuralSchema {
  const { properties, additionalProperties: more, items } = schema;
  if (properties !== undefined)
    schema.properties = Object.fromEntries(
      Object.entries(properties).map(([name, of]) => [name, withoutDefaults(of)]),
    );
  if (more !== undefined) schema.additionalProperties = withoutDefaults(more);
  if (items !== undefined) schema.items = withoutDefaults(items);
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const)
    if (schema[keyword] !== undefined) schema[keyword] = schema[keyword].map(withoutDefaults);
  return schema;
}

function manifest(
  options: Omit<AnyOptions, 'indexers'>,
  plural: string,
  schema: StructuralSchema,
): CustomResourceDefinition {
  const { group, version, kind, scope, shortNames, categories, labels, annotations } = options;
  const {
    status,
    subresources,
    served = true,
    deprecated = false,
    additionalPrinterColumns,
    selectableFields,
  } = options;
  const { status: hasStatus = status !== undefined, scale } = subresources ?? {};
  const entry: CRDVersion = {
    name: version,
    served,
    storage: true,
    schema: { openAPIV3Schema: schema },
  };
  if (deprecated !== false) entry.deprecated = true;
  if (typeof deprecated === 'string') entry.deprecationWarning = deprecated;
  if (hasStatus || scale !== undefined)
    entry.subresources = {
      ...(hasStatus ? { status: {} } : {}),
      ...(scale === undefined ? {} : { scale }),
    };
  if (additionalPrinterColumns !== undefined)
    entry.additionalPrinterColumns = [...additionalPrinterColumns];
  if (selectableFields !== undefined)
    entry.selectableFields = selectableFields.map((jsonPath) => ({ jsonPath }));
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      group,
      scope,
      names: {
        plural,
        singular: kind.toLowerCase(),
        kind,
        listKind: `${kind}List`,
        ...(shortNames === undefined ? {} : { shortNames: [...shortNames] }),
        ...(categories === undefined ? {} : { categories: [...categories] }),
      },
      versions: [entry],
    },
  };
}

function* checkIdentity(
  object: CustomObjectLike,
  apiVersion: string,
  kind: string,
): Generator<Issue> {
  for (const [path, expected] of [
    ['apiVersion', apiVersion],
    ['kind', kind],
  ] as const) {
    const value = object[path];
    if (value !== undefined && value !== expected)
      yield { path, message: `expected ${JSON.stringify(expected)}` };
  }
  const { metadata } = object;
  if (typeof metadata !== 'object' || metadata === null)
    yield { path: 'metadata', message: 'expected an object' };
}

type CustomObjectLike = { apiVersion?: unknown; kind?: unknown; metadata?: unknown };

/**
 * The CustomResourceDefinition of several versions of one kind. Objects are stored in the first
 * one's; that one's names and metadata count.
 *
 * @throws CapstanError INVALID_ARGUMENT for versions of different kinds, or one that comes twice
 * @example
 * import * as z from 'zod';
 *
 * const named = { group: 'example.com', kind: 'Website', scope: 'Namespaced' } as const;
 * const v1 = defineCustomResource({ ...named, version: 'v1', spec: z.object({ host: z.string() }) });
 * const beta = defineCustomResource({ ...named, version: 'v1beta1', deprecated: true, spec: z.object({ host: z.string() }) });
 * const crd = combineVersions([v1, beta]);
 */
export function combineVersions(
  versions: readonly { readonly crd: CustomResourceDefinition }[],
  options: {
    readonly conversion?: CustomResourceDefinition['spec']['conversion'] | undefined;
  } = {},
): CustomResourceDefinition {
  const [first] = versions;
  if (first === undefined) throw invalid('versions', 'at least one version', versions);
  const identity = ({ spec: { group, scope, names } }: CustomResourceDefinition): string =>
    `${scope} ${names.kind} ${names.plural}.${group}`;
  const seen = new Set<string>();
  const all = versions.flatMap(({ crd }) => {
    if (identity(crd) !== identity(first.crd))
      throw invalid('versions', `versions of one kind, ${identity(first.crd)}`, identity(crd));
    return crd.spec.versions;
  });
  for (const { name } of all) {
    if (seen.has(name))
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `"versions" expected each version once, got ${name} twice`,
      );
    seen.add(name);
  }
  const { conversion } = options;
  return {
    ...first.crd,
    spec: {
      ...first.crd.spec,
      versions: all.map((version, index) => ({ ...version, storage: index === 0 })),
      ...(conversion === undefined ? {} : { conversion }),
    },
  };
}
