/**
 * Random Zod schemas that a CustomResourceDefinition can express, and random values that match or
 * nearly match. The schema and a server must agree on each value.
 */
import { type Client, defineCustomResource, installCRDs } from 'capstan/client';
import * as z from 'zod';
import { Random } from '../random.ts';

export interface SchemaSample {
  readonly schema: z.ZodType;
  /** A value, which may match or not. */
  value(): unknown;
}

const STRINGS = ['', 'a', 'b', 'ab', 'abc', 'abcdefgh', 'A', 'ä', '10Gi', 'auto', '7'];
/** Not beyond what a server's integers hold: it says that 1e20 is no multiple of 5 (1.36.3). */
const NUMBERS = [-7, -1, 0, 0.5, 1, 1.5, 2, 3, 5, 10, 15, 100, 2 ** 31, 1e15];
const OTHERS = [true, false, null, [], {}, [1], ['a'], { a: 1 }, { a: 'a' }, { type: 'a' }];

const anyScalar = (random: Random): unknown =>
  random.pick<() => unknown>([
    () => random.pick(STRINGS),
    () => random.pick(NUMBERS),
    () => random.pick(OTHERS),
  ])();

/** One in eight values is of any kind. */
const mostly = (random: Random, value: () => unknown) => (): unknown =>
  random.chance(1 / 8) ? anyScalar(random) : value();

function string(random: Random): SchemaSample {
  let schema = z.string();
  if (random.chance(0.4)) schema = schema.min(random.int(3));
  if (random.chance(0.4)) schema = schema.max(2 + random.int(4));
  if (random.chance(0.3))
    schema = schema.regex(random.pick([/^[a-z]*$/, /^\d+(Mi|Gi)?$/, /b/, /^a|c$/, /^\w{1,3}$/]));
  return { schema, value: mostly(random, () => random.pick(STRINGS)) };
}

function number(random: Random): SchemaSample {
  let schema = random.chance(0.5) ? z.int() : z.number();
  if (random.chance(0.4))
    schema = random.chance(0.5) ? schema.min(random.int(3)) : schema.gt(random.int(3));
  if (random.chance(0.4))
    schema = random.chance(0.5) ? schema.max(3 + random.int(9)) : schema.lt(3 + random.int(9));
  if (random.chance(0.2)) schema = schema.multipleOf(random.pick([2, 5]));
  return { schema, value: mostly(random, () => random.pick(NUMBERS)) };
}

function choice(random: Random): SchemaSample {
  const values = random.chance(0.5)
    ? random.pick([['a'], ['a', 'ab'], ['', 'A', 'auto']] as const)
    : random.pick([[1], [0, 2], [1, 2, 3]] as const);
  const schema = z.union(values.map((value: string | number) => z.literal(value)));
  return { schema, value: mostly(random, () => random.pick<unknown>([...values, 'b', 5])) };
}

function intOrString(random: Random): SchemaSample {
  const ints = random.chance(0.5) ? z.int() : z.int().min(1).max(10);
  const strings = random.chance(0.5) ? z.string() : z.string().min(1).max(4);
  return {
    schema: z.union([ints, strings]),
    value: mostly(random, () => random.pick<unknown>([...STRINGS, ...NUMBERS])),
  };
}

function scalars(random: Random): SchemaSample {
  const schema = z.union([
    z.literal(random.pick(['auto', 'ab'])),
    z.string().regex(/^\d+(Mi|Gi)?$/),
  ]);
  return { schema, value: mostly(random, () => random.pick(STRINGS)) };
}

function list(random: Random, depth: number): SchemaSample {
  const item = sample(random, depth - 1);
  let schema = z.array(item.schema);
  if (random.chance(0.3)) schema = schema.min(random.int(3));
  if (random.chance(0.3)) schema = schema.max(1 + random.int(3));
  return {
    schema,
    value: mostly(random, () => Array.from({ length: random.int(4) }, () => item.value())),
  };
}

function record(random: Random, depth: number): SchemaSample {
  const item = sample(random, depth - 1);
  const some = () =>
    Object.fromEntries(
      ['a', 'b', 'c'].filter(() => random.chance(0.4)).map((name) => [name, item.value()]),
    );
  return { schema: z.record(z.string(), item.schema), value: mostly(random, some) };
}

function members(
  random: Random,
  depth: number,
): { schemas: Record<string, z.ZodType>; value: () => object } {
  const schemas: Record<string, z.ZodType> = {};
  const samples = new Map<string, SchemaSample>();
  for (const name of ['p', 'q', 'r'].slice(0, 1 + random.int(3))) {
    const member = sample(random, depth - 1);
    samples.set(name, member);
    schemas[name] = random.chance(0.5) ? member.schema.optional() : member.schema;
  }
  const value = () =>
    Object.fromEntries(
      [...samples]
        .filter(() => random.chance(0.85))
        .map(([name, member]) => [name, member.value()]),
    );
  return { schemas, value };
}

function object(random: Random, depth: number): SchemaSample {
  const { schemas, value } = members(random, depth);
  const schema = random.chance(0.2) ? z.looseObject(schemas) : z.object(schemas);
  return { schema, value: mostly(random, value) };
}

/**
 * The members of alternatives have names of their own: where they share one, its schemas would have
 * to be alike.
 */
function alternatives(random: Random, depth: number): SchemaSample {
  const own = ['a', 'b', 'c']
    .slice(0, 2 + random.int(2))
    .map((type) => ({ type, ...members(random, depth) }));
  const renamed = own.map(({ type, schemas }) =>
    z.object({
      type: z.literal(type),
      ...Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [`${type}${name}`, schema]),
      ),
    }),
  );
  const value = () => {
    const { type, value: inner } = random.pick(own);
    const named = Object.fromEntries(
      Object.entries(inner()).map(([name, each]) => [`${type}${name}`, each]),
    );
    return { type: random.chance(0.9) ? type : 'x', ...named };
  };
  return { schema: z.union(renamed), value: mostly(random, value) };
}

export function sample(random: Random, depth = 2): SchemaSample {
  const leaves = [
    string,
    number,
    choice,
    intOrString,
    scalars,
    (): SchemaSample => ({ schema: z.boolean(), value: mostly(random, () => random.chance(0.5)) }),
  ];
  const inner = [list, record, object, alternatives];
  const make = depth > 0 ? random.pick([...leaves, ...inner, ...inner]) : random.pick(leaves);
  const made = make(random, depth);
  if (!random.chance(0.25)) return made;
  return {
    schema: made.schema.nullable(),
    value: () => (random.chance(0.3) ? null : made.value()),
  };
}

/**
 * One definition of many random members; every value that schema and server do not agree on, and
 * how many the server accepted.
 */
export async function judgeSample(
  client: Client,
  seed: number,
  values: number,
): Promise<{ disagreements: string[]; accepted: number }> {
  const random = new Random(seed);
  const samples = Array.from({ length: 60 }, () => sample(random));
  const members = Object.fromEntries(
    samples.map(({ schema }, index) => [`m${index}`, schema.optional()]),
  );
  const { crd, resource, validate } = defineCustomResource({
    group: 'e2e.capstan.dev',
    version: 'v1',
    kind: 'Chance',
    scope: 'Cluster',
    spec: z.object(members),
  });
  await installCRDs(client, [crd], { timeout: 30_000 });
  const disagreements: string[] = [];
  let accepted = 0;
  for (let round = 0; round < values; round++) {
    const index = round % samples.length;
    const name = `m${index}`;
    const value = (samples[index] as SchemaSample).value();
    const object = { metadata: { name: 'a' }, spec: { [name]: value } };
    const { issues } = await validate(object);
    const refusal = await client.create(resource, object, { dryRun: true }).then(
      () => undefined,
      (error: Error) => error.message,
    );
    accepted += refusal === undefined ? 1 : 0;
    if ((issues === undefined) === (refusal === undefined)) continue;
    // A null that may not be there is dropped by the server before it looks, and so accepted; here
    // it is what it is.
    if (refusal === undefined && JSON.stringify(value).includes('null')) continue;
    const schema =
      crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.spec?.properties?.[name];
    disagreements.push(JSON.stringify({ value, issues, refusal, schema }));
  }
  return { disagreements, accepted };
}
