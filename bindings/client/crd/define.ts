/**
 * Custom resources from a schema: the TypeScript type, the CustomResourceDefinition, and the
 * validation in the program. The type is the schema's output (with defaults filled in, as the
 * server stores objects); the definition is made from its input.
 */

import { CapstanError, invalid } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { FromServer } from '../../base/object.ts';
import {
  defineResource,
  groupVersion,
  type IndexSpec,
  type Resource,
} from '../../base/resource.ts';
import type { ObjectMeta } from '../metadata.ts';
import type { AnyResource } from '../types.ts';
import type {
  CRDVersion,
  CustomResourceDefinition,
  PrinterColumn,
  ScaleSubresource,
} from './definition.ts';
import { checkFieldPaths } from './field-paths.ts';
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

/** Options of {@link defineCustomResource}. */
export interface CustomResourceOptions<
  Spec extends StandardSchema,
  Status extends StandardSchema | undefined,
  I extends string,
> {
  /** Such as `example.com`. */
  readonly group: string;
  /** Such as `v1` or `v1beta1`. */
  readonly version: string;
  /** The kind in CamelCase and singular, such as `Website`. */
  readonly kind: string;
  /** The plural. Default: the English plural of the kind in lower case. */
  readonly plural?: string | undefined;
  readonly scope: 'Namespaced' | 'Cluster';
  /** A schema of objects. */
  readonly spec: Spec;
  /** A schema of objects. It adds the status subresource. */
  readonly status?: Status | undefined;
  readonly subresources?:
    | {
        readonly status?: boolean | undefined;
        /** Its paths are checked against the schemas. */
        readonly scale?: ScaleSubresource | undefined;
      }
    | undefined;
  readonly shortNames?: readonly string[] | undefined;
  /** Categories, such as `all` for `kubectl get all`. */
  readonly categories?: readonly string[] | undefined;
  /** Columns of `kubectl get`. Their paths are checked against the schemas. */
  readonly additionalPrinterColumns?: readonly PrinterColumn[] | undefined;
  /** Fields for field selectors, such as `.spec.host`; at most eight, in no list. */
  readonly selectableFields?: readonly string[] | undefined;
  /** The description of the kind, for `kubectl explain`. */
  readonly description?: string | undefined;
  /**
   * CEL rules by path: `''` for the object, `spec`, `spec.ports[]`, `spec.labels.*`. Only the
   * server checks them.
   */
  readonly validations?: Readonly<Record<string, readonly ValidationRule[]>> | undefined;
  /**
   * Members of the structural schema by path, for what the schema library cannot express, such as
   * `x-kubernetes-list-type`. One with a `type`, or that preserves unknown fields, replaces the
   * translated schema.
   */
  readonly overrides?: Overrides | undefined;
  /** Default true. */
  readonly served?: boolean | undefined;
  /** Marks the version as deprecated; a text is the warning of `kubectl`. */
  readonly deprecated?: boolean | string | undefined;
  /** The indexers of the resource, as in defineResource. */
  readonly indexers?:
    | Readonly<Record<I, IndexSpec<FromServer<CustomObject<InferOutput<Spec>, StatusOf<Status>>>>>>
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

/** The input of {@link CustomResource.parse}. */
export interface CustomObjectInput<Spec> {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata: ObjectMeta;
  spec: Spec;
  status?: unknown | undefined;
}

/** A custom resource in one version. */
export interface CustomResource<Input, Spec, Status = never, I extends string = never> {
  /** The resource, for informers, clients and controllers. */
  readonly resource: Resource<CustomObject<Spec, Status>, I>;
  /**
   * The CustomResourceDefinition with this version alone. Plain data: `JSON.stringify(crd)` is a
   * manifest for `kubectl apply -f`.
   */
  readonly crd: CustomResourceDefinition;
  /** Validates an object by the schemas, and fills in their defaults. Never throws. */
  validate(object: unknown): Promise<ValidationResult<CustomObject<Spec, Status>>>;
  /**
   * Validates an object and fills in apiVersion, kind and defaults.
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
 * const Website = defineCustomResource({
 *   group: 'example.com',
 *   version: 'v1',
 *   kind: 'Website',
 *   scope: 'Namespaced',
 *   spec: z.object({ host: z.string() }),
 * });
 * type Website = ObjectOf<typeof Website>;
 */
export type ObjectOf<R extends AnyResource | { readonly resource: AnyResource }> = R extends
  | Resource<infer T, string>
  | { readonly resource: Resource<infer T, string> }
  ? T
  : never;

/**
 * Defines a custom resource by schemas of any library with Standard Schema and Standard JSON
 * Schema.
 *
 * What the server validates is the JSON Schema:
 *
 * - Refinements in code are checked by `validate` alone. So are formats that the server does not
 *   know or reads differently (`hostname`, `duration`). For `uri` server and `z.url()` differ
 *   slightly.
 * - Transformations are rejected: the server stores the input.
 * - The server prunes unknown members, whether the schema is strict or not, and a null that is not
 *   allowed, which counts as absent.
 * - A member of one alternative of a union is checked in the others too, if it is present; strict
 *   alternatives reject it.
 * - Zod's JSON Schema has no flags of a pattern: to the server `/a/i` is `/a/`. The server counts
 *   characters, not UTF-16 units.
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
 *   validations: { 'spec.host': [{ rule: 'self == oldSelf', message: 'host is immutable' }] },
 * });
 * const metadata = { name: 'a', namespace: 'default' };
 * const site = await Website.parse({ metadata, spec: { host: 'a.example' } });
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
  checkFieldPaths({ ...options, scale: options.subresources?.scale }, schema);
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

/** The plural that controller-gen guesses, for regular words. */
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
 * Requires that values stay what they are: the server stores the input, so a schema that transforms
 * values would give stored objects a wrong type.
 */
function checkStored(name: string, written: StructuralSchema, read: StructuralSchema): void {
  if (canonical(withoutDefaults(written)) !== canonical(withoutDefaults(read)))
    throw new SchemaError(
      name,
      'the schema transforms values, but the server stores them as they were written',
    );
  checkDefaults(name, written, read);
}

/**
 * Throws for an optional input member that the output always has, unless the server knows its
 * default: ArkType does not export its defaults.
 */
function checkDefaults(path: string, written: StructuralSchema, read: StructuralSchema): void {
  for (const name of read.required ?? [])
    if (!written.required?.includes(name) && (written.properties?.[name]?.default ?? null) === null)
      throw new SchemaError(
        `${path}.${name}`,
        written.properties?.[name]?.default === null
          ? 'its default is null, which a server takes for none, so that it would ' +
              'not be there: make it optional, or give another default'
          : 'this has a default which the JSON Schema of the library does not have, ' +
              'and so the server would not: give it in an override',
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
 * A member with a default is optional in the input and present in the output. A member may have the
 * name of a keyword.
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
 * The CustomResourceDefinition of several versions of one kind. The first one is the storage
 * version; its names and metadata are used.
 *
 * @throws CapstanError INVALID_ARGUMENT for versions of different kinds, or one that comes twice
 * @example
 * import * as z from 'zod';
 *
 * const named = { group: 'example.com', kind: 'Website', scope: 'Namespaced' } as const;
 * const spec = z.object({ host: z.string() });
 * const v1 = defineCustomResource({ ...named, version: 'v1', spec });
 * const beta = defineCustomResource({ ...named, version: 'v1beta1', deprecated: true, spec });
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
