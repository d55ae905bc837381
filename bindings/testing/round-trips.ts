/**
 * A property test of a conversion: it converts random objects to the other version and back, as an
 * API server does, and compares them.
 */
import { textOfError } from '../base/error-text.ts';
import {
  CapstanError,
  invalid,
  requireInteger,
  requireObject,
  requireString,
} from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { CustomResourceDefinition } from '../client/crd/definition.ts';
import { type Conversion, convertObject } from '../webhook/conversion.ts';
import { loadFastCheck, problemsOf, RandomObjects } from './random-objects.ts';
import { isObject, type Json, type JsonObject, sameJson } from './server/json.ts';
import { loadCel } from './server/rules/library.ts';
import { prune, pruneAndDefault } from './server/schema/defaults.ts';
import type { Schema } from './server/schema/structural.ts';

/** A definition, or a result of `defineCustomResource`. */
export type VersionSchema = CustomResourceDefinition | { readonly crd: CustomResourceDefinition };

/** Options of {@link roundTrips}. */
export interface RoundTripOptions {
  /** How many random objects of each version are converted. Default 200. */
  readonly count?: number | undefined;
  /** The same seed gives the same objects. Default: a random seed, which the error contains. */
  readonly seed?: number | undefined;
  /**
   * Paths that may differ, such as `spec.port` or `spec.ports[].name`, with all paths below them.
   */
  readonly ignore?: readonly string[] | undefined;
  /**
   * Values by path, such as `spec.schedule` or `spec.hosts[]`, for a field whose schema is too
   * wide, such as a string that the conversion parses.
   */
  readonly values?: Readonly<Record<string, readonly unknown[]>> | undefined;
}

const NAMES = namesOf<RoundTripOptions>()({ count: 1, seed: 1, ignore: 1, values: 1 });

/** An object differs after a conversion and back. Code `ROUND_TRIP`. */
export class RoundTripError extends CapstanError {
  /** The first field that differs, such as `spec.ports[0].name`; empty if a function threw. */
  readonly path: string;
  readonly seed: number;
  /** The smallest object found. */
  readonly object: object;

  constructor(message: string, path: string, seed: number, object: object, cause?: unknown) {
    super('ROUND_TRIP', message, cause === undefined ? {} : { cause });
    this.path = path;
    this.seed = seed;
    this.object = object;
  }

  override get name(): string {
    return 'RoundTripError';
  }
}

interface Version {
  readonly name: string;
  readonly schema: Schema | undefined;
}

interface Kind {
  readonly group: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly spoke: Version;
  readonly hub: Version;
}

/**
 * Converts random objects to the other version and back, and compares them. `schemas` are the
 * definitions of the spoke, of the hub, or of both. Objects of each definition are tried. As an API
 * server does, it prunes unknown fields and sets defaults. With both definitions a converted object
 * must also match the schema of its version. It needs the package `fast-check`. CEL rules are
 * evaluated if `@marcbachmann/cel-js` is installed.
 *
 * @returns a promise that rejects with the smallest object found that differs
 * @throws RoundTripError
 * @throws CapstanError INVALID_ARGUMENT, also for a schema that no random value matches
 * @example
 * import * as z from 'zod';
 *
 * const named = { group: 'example.com', kind: 'Site', scope: 'Namespaced' } as const;
 * const spec = z.object({ host: z.string() });
 * const V1 = defineCustomResource({ ...named, version: 'v1', spec });
 * const V1beta1 = defineCustomResource({
 *   ...named,
 *   version: 'v1beta1',
 *   spec: z.object({ domain: z.string() }),
 * });
 * const fromBeta: Conversion<ObjectOf<typeof V1beta1>, ObjectOf<typeof V1>> = {
 *   version: 'v1beta1',
 *   toHub: ({ metadata, spec }) => ({ metadata, spec: { host: spec.domain } }),
 *   fromHub: ({ metadata, spec }) => ({ metadata, spec: { domain: spec.host } }),
 * };
 * await roundTrips(fromBeta, [V1beta1, V1]);
 */
export async function roundTrips<Spoke = object, Hub = object>(
  conversion: Conversion<Spoke, Hub>,
  schemas: VersionSchema | readonly VersionSchema[],
  options: RoundTripOptions = {},
): Promise<void> {
  requireNames('options', options, 'option of roundTrips()', NAMES);
  requireObject('conversion', conversion);
  requireString('conversion.version', conversion.version);
  const { count = 200, ignore = [], values = {} } = options;
  const { seed = Math.floor(Math.random() * 2 ** 31) } = options;
  requireInteger('options.count', count, 1);
  requireInteger('options.seed', seed, 0);
  const kind = kindOf(conversion.version, Array.isArray(schemas) ? schemas : [schemas]);
  const fc = await loadFastCheck();
  await loadCel();
  const random = new RandomObjects(fc, values);
  const converter = conversion as unknown as Conversion<object, object>;
  const ways = [
    [kind.spoke, kind.hub],
    [kind.hub, kind.spoke],
  ] as const;
  for (const [from, to] of ways) {
    const { schema } = from;
    if (schema === undefined) continue;
    const way = { conversion: converter, kind, from, to, ignore };
    const objects = random.objects(schema, kind.namespaced);
    const run = (content: JsonObject): boolean => tryOne(way, content) === undefined;
    const found = fc.check(fc.property(objects, run), { seed, numRuns: count });
    if (found.failed) {
      const [content] = found.counterexample as [JsonObject];
      const failure = tryOne(way, content) as Failure;
      throw errorOf(way, failure, seed, found.numRuns, count);
    }
  }
  const unused = Object.keys(values).find((path) => !random.usedPaths.has(path));
  if (unused !== undefined)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `options.values has "${unused}", and no schema has such a path`,
    );
}

function kindOf(spoke: string, schemas: readonly VersionSchema[]): Kind {
  const definitions = schemas.map((each) => {
    requireObject('schemas', each);
    return 'crd' in each ? each.crd : each;
  });
  const [first] = definitions;
  if (first?.spec?.versions === undefined)
    throw invalid('schemas', 'definitions, or results of defineCustomResource', schemas);
  const { group, scope, names } = first.spec;
  const versions = definitions.flatMap(({ spec }) => {
    if (spec.group !== group || spec.names.kind !== names.kind)
      throw invalid('schemas', `versions of ${names.kind} of ${group}`, spec.names.kind);
    return spec.versions;
  });
  const others = versions.filter(({ name }) => name !== spoke);
  const hub = others.length > 1 ? others.filter(({ storage }) => storage) : others;
  if (hub.length > 1 || (hub.length === 0 && others.length > 0))
    throw invalid(
      'schemas',
      `the versions ${spoke} and that of the hub`,
      versions.map(({ name }) => name).join(', '),
    );
  const schemaOf = (version: (typeof versions)[number] | undefined): Schema | undefined =>
    version?.schema.openAPIV3Schema as unknown as Schema | undefined;
  return {
    group,
    kind: names.kind,
    namespaced: scope === 'Namespaced',
    spoke: { name: spoke, schema: schemaOf(versions.find(({ name }) => name === spoke)) },
    hub: { name: hub[0]?.name ?? 'hub', schema: schemaOf(hub[0]) },
  };
}

interface Way {
  readonly conversion: Conversion<object, object>;
  readonly kind: Kind;
  readonly from: Version;
  readonly to: Version;
  readonly ignore: readonly string[];
}

interface Failure {
  readonly path: string;
  readonly what: string;
  readonly object: JsonObject;
  readonly converted?: JsonObject | undefined;
  readonly back?: JsonObject | undefined;
  readonly cause?: unknown;
}

/** Converts an object there and back. Returns what is wrong, or `undefined`. */
function tryOne(way: Way, content: JsonObject): Failure | undefined {
  const { conversion, kind, from, to } = way;
  const apiVersion = `${kind.group}/${from.name}`;
  const object = stored(from, { apiVersion, kind: kind.kind, ...content });
  const registration = {
    resource: { group: kind.group, version: kind.hub.name, kind: kind.kind },
    spokes: [conversion],
  };
  const kinds = new Map([[`${kind.group}/${kind.kind}`, registration]]);
  const names = [from, to].map(({ name }) => (name === kind.spoke.name ? 'toHub' : 'fromHub'));
  let converted: JsonObject | undefined;
  let step = 0;
  try {
    converted = convertObject(object, `${kind.group}/${to.name}`, kinds) as JsonObject;
    const problem = to.schema === undefined ? undefined : misfit(to.schema, converted);
    if (problem !== undefined)
      return { path: problem.path, what: `${names[0]}() gives ${problem.what}`, object, converted };
    step = 1;
    const given = convertObject(stored(to, converted), apiVersion, kinds) as JsonObject;
    const back = stored(from, given);
    const difference = differenceOf(object, back, '', way.ignore);
    return difference === undefined ? undefined : { ...difference, object, converted, back };
  } catch (cause) {
    const text = textOfError(cause);
    return { path: '', what: `${names[step]}() throws: ${text}`, object, converted, cause };
  }
}

/** As a server hands it on. */
const stored = ({ schema }: Version, object: JsonObject): JsonObject =>
  schema === undefined ? object : pruneAndDefault(schema, object, false);

/** What a server drops or refuses in a converted object. */
function misfit(schema: Schema, object: JsonObject): { path: string; what: string } | undefined {
  let unknown: string | undefined;
  prune(schema, object, true, (path) => {
    unknown ??= path;
  });
  if (unknown !== undefined)
    return { path: unknown, what: `${unknown}, which the schema does not have` };
  const [problem] = problemsOf(schema, pruneAndDefault(schema, object, false));
  if (problem === undefined) return undefined;
  return { path: problem.split(':', 1)[0] ?? '', what: `what the schema refuses: ${problem}` };
}

/** The first difference, apart from those that are ignored. */
function differenceOf(
  was: Json | undefined,
  now: Json | undefined,
  path: string,
  ignored: readonly string[],
): { path: string; what: string } | undefined {
  if (ignored.includes(path.replaceAll(/\[\d+\]/g, '[]')) || ignored.includes(path))
    return undefined;
  if (isObject(was) && isObject(now)) {
    for (const name of new Set([...Object.keys(was), ...Object.keys(now)])) {
      const at = path === '' ? name : `${path}.${name}`;
      const found = differenceOf(was[name], now[name], at, ignored);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (Array.isArray(was) && Array.isArray(now)) {
    for (let i = 0; i < Math.max(was.length, now.length); i++) {
      const found = differenceOf(was[i], now[i], `${path}[${i}]`, ignored);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (sameJson(was, now)) return undefined;
  const text = JSON.stringify(now);
  const what =
    now === undefined
      ? `${path} is lost: it was ${JSON.stringify(was)}`
      : was === undefined
        ? `${path} is added: ${text}`
        : `${path} was ${JSON.stringify(was)} and comes back as ${text}`;
  return { path, what };
}

function errorOf(
  { kind, from, to }: Way,
  { path, what, object, converted, back, cause }: Failure,
  seed: number,
  number: number,
  count: number,
): RoundTripError {
  const lines = [
    `${kind.kind} from ${from.name} to ${to.name} and back: ${what}`,
    `  the object: ${JSON.stringify(object)}`,
    ...(converted === undefined ? [] : [`  as ${to.name}: ${JSON.stringify(converted)}`]),
    ...(back === undefined ? [] : [`  back: ${JSON.stringify(back)}`]),
    `  It is the smallest form of object ${number} of ${count}; options { seed: ${seed} } give ` +
      'it again.',
  ];
  return new RoundTripError(lines.join('\n'), path, seed, object, cause);
}
