/**
 * A Zod schema with every supported construct, and values with the expected outcome. The schema
 * (test/client/crd.test.ts) and a real API server with its CustomResourceDefinition
 * (test/e2e/helpers.test.ts) must agree on each.
 */
import {
  defineCustomResource,
  type JsonSchema,
  type StandardSchema,
  withJsonSchema,
} from 'capstan/client';
import * as z from 'zod';

const port = z.object({
  name: z.string(),
  port: z.int32().min(1).max(65535),
  protocol: z.enum(['TCP', 'UDP']).default('TCP'),
});

export const Wide = defineCustomResource({
  group: 'e2e.capstan.dev',
  version: 'v1',
  kind: 'Gateway',
  scope: 'Namespaced',
  description: 'Everything a schema can say',
  spec: z.object({
    host: z
      .string()
      .min(1)
      .max(20)
      .regex(/^[a-z.]+$/)
      .describe('The host'),
    replicas: z.int().min(0).max(100).default(1),
    ratio: z.number().gt(0).lt(1).optional(),
    step: z.number().multipleOf(5).optional(),
    least: z.number().min(0.1).max(2.5).optional(),
    beyond: z.number().gt(-0.5).lt(5.5).optional(),
    below: z.number().gt(-2.5).max(-0.5).nullish(),
    above: z.int().gt(1.5).max(3.5).optional(),
    mode: z.enum(['fast', 'safe']).default('safe'),
    kind: z.literal('gateway').optional(),
    level: z.union([z.literal(1), z.literal(2), z.literal(3)]).optional(),
    figure: z.literal([1, 2, 3]).optional(),
    share: z.literal([0.5, -1, 2, null]).optional(),
    rank: z.union([z.literal(1), z.number().min(2.5)]).optional(),
    form: z
      .discriminatedUnion('v', [
        z.object({ v: z.literal(1), a: z.string() }),
        z.object({ v: z.literal(0.5) }),
      ])
      .optional(),
    flag: z.boolean().optional(),
    note: z.string().nullable().optional(),
    choice: z.enum(['a', 'b.c']).nullable().optional(),
    grade: z.literal([1, 2, null]).optional(),
    amount: z.int().nullish(),
    labels: z.record(z.string(), z.string()).optional(),
    limits: z.record(z.string(), z.object({ cpu: z.int() })).optional(),
    fixed: z.partialRecord(z.enum(['left', 'right']), z.int()).optional(),
    some: z.partialRecord(z.enum(['left', 'right']), z.unknown()).optional(),
    anything: z.unknown().optional(),
    open: z.looseObject({ a: z.string() }).optional(),
    closed: z.strictObject({ a: z.string() }).optional(),
    ports: z.array(port).min(1).max(3).optional(),
    matrix: z.array(z.array(z.number())).optional(),
    target: z.union([z.int().min(1), z.string().max(5)]).optional(),
    both: z.intersection(z.object({ x: z.string() }), z.object({ y: z.string() })).optional(),
    backend: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('service'), service: z.string() }),
        z.object({
          type: z.literal('bucket'),
          bucket: z.string().min(3),
          region: z.string().optional(),
        }),
      ])
      .optional(),
    either: z
      .xor([
        z.object({ git: z.string() }),
        z.object({ image: z.string(), tag: z.string().optional() }),
      ])
      .nullish(),
    apart: z.xor([z.int().min(5), z.int().max(10)]).optional(),
    volume: z
      .union([
        z.strictObject({ path: z.string() }),
        z.strictObject({ claim: z.string(), size: z.int().optional() }),
      ])
      .optional(),
    policy: z
      .discriminatedUnion('mode', [
        z.strictObject({ mode: z.literal('fixed'), replicas: z.int() }),
        z.discriminatedUnion('by', [
          z.strictObject({ mode: z.literal('auto'), by: z.literal('cpu'), most: z.int() }),
          z.strictObject({ mode: z.literal('auto'), by: z.literal('queue'), queue: z.string() }),
        ]),
      ])
      .nullish(),
    nest: z
      .union([
        z.intersection(
          z.object({ t: z.string() }),
          z.union([z.object({ x: z.int() }), z.object({ y: z.int() })]),
        ),
        z.object({ n: z.int() }),
      ])
      .optional(),
    size: z.union([z.literal('auto'), z.string().regex(/^\d+(Mi|Gi)$/)]).optional(),
    maybeSize: z.union([z.literal('auto'), z.string().regex(/^\d+Gi$/)]).nullish(),
    maybeBackend: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('a'), x: z.int() }),
        z.object({ type: z.literal('b') }),
      ])
      .nullish(),
    maybeTarget: z.union([z.int(), z.string()]).nullish(),
    exact: z
      .union([z.boolean(), z.literal('x')])
      .nullish()
      .meta({ 'x-kubernetes-preserve-unknown-fields': true }),
    pair: z
      .string()
      .regex(/^\S\s.[[:]$/)
      .optional(),
    url: z.url().optional(),
    mail: z.email().optional(),
    id: z.uuid().optional(),
    since: z.iso.datetime().optional(),
    day: z.iso.date().optional(),
    address: z.ipv4().optional(),
    server: z.hostname().optional(),
    blob: z.base64().optional(),
    nested: z
      .object({ deep: z.object({ count: z.int().default(7) }).default({ count: 7 }) })
      .optional(),
    range: z.object({ min: z.int(), max: z.int() }).optional(),
  }),
  status: z.object({ phase: z.string().optional(), ready: z.int().optional() }),
  shortNames: ['gw'],
  categories: ['all'],
  additionalPrinterColumns: [
    { name: 'Host', type: 'string', jsonPath: '.spec.host', description: 'where' },
  ],
  selectableFields: ['.spec.host'],
  subresources: {
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.ready' },
  },
  validations: { 'spec.range': [{ rule: 'self.min <= self.max', message: 'min is above max' }] },
  overrides: {
    'spec.ports': { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
  },
});

/** What is added to a spec that is valid, and whether the result is. */
type Case = [spec: Record<string, unknown>, valid: boolean];

export const CASES: readonly Case[] = [
  [{}, true],
  [{ host: '' }, false],
  [{ host: 'UPPER' }, false],
  [{ host: 'a'.repeat(21) }, false],
  [{ host: undefined }, false],
  [{ host: 7 }, false],
  [{ host: null }, false],
  [{ replicas: 0 }, true],
  [{ replicas: -1 }, false],
  [{ replicas: 101 }, false],
  [{ replicas: 1.5 }, false],
  [{ replicas: '1' }, false],
  [{ ratio: 0 }, false],
  [{ ratio: 0.5 }, true],
  [{ ratio: 1 }, false],
  [{ step: 10 }, true],
  [{ step: 7 }, false],
  ...[0, 0.05, 2.6, 3].map((least): Case => [{ least }, false]),
  ...[0.1, 1, 2, 2.5].map((least): Case => [{ least }, true]),
  ...[-1, -0.5, 5.5, 6].map((beyond): Case => [{ beyond }, false]),
  ...[-0.4, 0, 5, 5.4].map((beyond): Case => [{ beyond }, true]),
  ...[-3, -2.5, -0.4, 0].map((below): Case => [{ below }, false]),
  ...[-2.4, -2, -1, -0.5, null].map((below): Case => [{ below }, true]),
  ...[1, 2.5, 4].map((above): Case => [{ above }, false]),
  ...[2, 3].map((above): Case => [{ above }, true]),
  [{ mode: 'fast' }, true],
  [{ mode: 'slow' }, false],
  [{ kind: 'gateway' }, true],
  [{ kind: 'other' }, false],
  [{ level: 2 }, true],
  [{ level: 4 }, false],
  ...[0.5, 1.5, 2.7, 4].map((figure): Case => [{ figure }, false]),
  [{ figure: 3 }, true],
  ...[0, 0.6, -0.5, -1.5, 2.9].map((share): Case => [{ share }, false]),
  ...[0.5, -1, 2, null].map((share): Case => [{ share }, true]),
  ...[1.9, 2].map((rank): Case => [{ rank }, false]),
  ...[1, 2.5, 3].map((rank): Case => [{ rank }, true]),
  ...[0, 1.5, 0.5].map((v): Case => [{ form: { v, a: 'x' } }, v === 0.5]),
  [{ form: { v: 1, a: 'x' } }, true],
  [{ form: { v: 1 } }, false],
  [{ flag: true }, true],
  [{ flag: 'true' }, false],
  [{ note: null }, true],
  [{ note: 'x' }, true],
  [{ note: 1 }, false],
  [{ choice: null }, true],
  [{ choice: 'b.c' }, true],
  [{ choice: 'bxc' }, false],
  [{ grade: null }, true],
  [{ grade: 2 }, true],
  [{ grade: 3 }, false],
  [{ choice: 'c' }, false],
  [{ amount: null }, true],
  [{ amount: 3 }, true],
  [{ amount: 'x' }, false],
  [{ labels: { a: 'b' } }, true],
  [{ labels: { a: 1 } }, false],
  [{ limits: { web: { cpu: 1 } } }, true],
  [{ limits: { web: {} } }, false],
  [{ fixed: { left: 1 } }, true],
  [{ fixed: { left: 'x' } }, false],
  [{ some: { left: [null, { a: 1 }], right: null } }, true],
  [{ anything: { a: [1, 'b', { c: true }] } }, true],
  [{ anything: 'text' }, true],
  [{ anything: null }, true],
  [{ open: { a: 'x', more: [1] } }, true],
  [{ open: { more: 1 } }, false],
  [{ closed: { a: 'x' } }, true],
  [{ closed: {} }, false],
  [{ ports: [{ name: 'http', port: 80 }] }, true],
  [{ ports: [] }, false],
  [{ ports: [{ name: 'http', port: 0 }] }, false],
  [{ ports: [{ port: 80 }] }, false],
  [{ ports: [{ name: 'http', port: 80, protocol: 'SCTP' }] }, false],
  [{ ports: [1, 2, 3, 4].map((port) => ({ name: `n${port}`, port })) }, false],
  [{ matrix: [[1, 2], []] }, true],
  [{ matrix: [[1, 'x']] }, false],
  [{ target: 80 }, true],
  [{ target: 'http' }, true],
  [{ target: 0 }, false],
  [{ target: 'too long' }, false],
  [{ target: true }, false],
  [{ both: { x: 'a', y: 'b' } }, true],
  [{ both: { x: 'a' } }, false],
  [{ backend: { type: 'service', service: 'web' } }, true],
  [{ backend: { type: 'bucket', bucket: 'data' } }, true],
  [{ backend: { type: 'bucket', service: 'web' } }, false],
  [{ backend: { type: 'bucket', bucket: 'x' } }, false],
  [{ backend: { type: 'other' } }, false],
  [{ backend: {} }, false],
  [{ either: { git: 'a' } }, true],
  [{ either: { image: 'a', tag: 'b' } }, true],
  [{ either: { git: 'a', image: 'b' } }, false],
  [{ either: { tag: 'a' } }, false],
  [{ either: null }, true],
  [{ apart: 3 }, true],
  [{ apart: 7 }, false],
  [{ apart: 12 }, true],
  [{ volume: { path: '/' } }, true],
  [{ volume: { claim: 'a', size: 1 } }, true],
  [{ volume: { path: '/', claim: 'a' } }, false],
  [{ volume: { path: '/', size: 1 } }, false],
  [{ policy: { mode: 'fixed', replicas: 1 } }, true],
  [{ policy: { mode: 'fixed', replicas: 1, most: 2 } }, false],
  [{ policy: { mode: 'auto', by: 'cpu', most: 2 } }, true],
  [{ policy: { mode: 'auto', by: 'queue', queue: 'a' } }, true],
  [{ policy: { mode: 'auto', by: 'queue', queue: 'a', most: 2 } }, false],
  [{ policy: { mode: 'auto', by: 'cpu', most: 2, replicas: 1 } }, false],
  [{ policy: { mode: 'auto', most: 2 } }, false],
  [{ policy: null }, true],
  [{ nest: { t: 'a', x: 1 } }, true],
  [{ nest: { t: 'a' } }, false],
  [{ nest: { t: 'a', n: 1 } }, true],
  [{ size: 'auto' }, true],
  [{ size: '10Gi' }, true],
  [{ size: '10' }, false],
  [{ maybeSize: null }, true],
  [{ maybeSize: 'auto' }, true],
  [{ maybeSize: '1Mi' }, false],
  [{ maybeBackend: null }, true],
  [{ maybeBackend: { type: 'a', x: 1 } }, true],
  [{ maybeBackend: { type: 'a' } }, false],
  [{ maybeBackend: { type: 'b' } }, true],
  [{ maybeTarget: null }, true],
  [{ maybeTarget: 1.5 }, false],
  [{ exact: true }, true],
  [{ exact: 'x' }, true],
  [{ exact: null }, true],
  [{ pair: 'a bc:' }, false],
  [{ pair: 'a b:' }, true],
  [{ pair: 'a\u00a0b[' }, true],
  [{ pair: '\u00a0\u00a0b:' }, false],
  [{ pair: 'a \u2028:' }, false],
  [{ url: 'https://a.example/x' }, true],
  [{ url: 'no url' }, false],
  [{ mail: 'a@b.example' }, true],
  [{ mail: 'ab' }, false],
  [{ id: '6f9619ff-8b86-4d11-b42d-00c04fc964ff' }, true],
  [{ id: 'x' }, false],
  [{ since: '2026-11-21T12:00:00Z' }, true],
  [{ since: '2026-11-21' }, false],
  [{ day: '2026-11-21' }, true],
  [{ day: '2026-13-21' }, false],
  [{ address: '10.0.0.1' }, true],
  [{ address: '10.0.0.256' }, false],
  [{ server: 'web-1' }, true],
  [{ server: '10.0.0.1' }, true],
  [{ blob: '' }, true],
  [{ blob: 'YQ==' }, true],
  [{ blob: 'Y' }, false],
  [{ nested: {} }, true],
  [{ nested: { deep: { count: 'x' } } }, false],
];

const VALID_SPEC = { host: 'a.example' };

/** An object of the case. */
export function objectOf(name: string, spec: Record<string, unknown>) {
  return { metadata: { name, namespace: 'default' }, spec: { ...VALID_SPEC, ...spec } };
}

const anything: StandardSchema<object> = {
  '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value: value as object }) },
};

/** What becomes of a member `x` with this schema. @param beside the document's other keywords */
export function memberOf(x: JsonSchema | z.ZodType, beside: JsonSchema = {}, overrides = {}) {
  const schema =
    x instanceof z.ZodType
      ? z.object({ x })
      : withJsonSchema(anything, { type: 'object', properties: { x }, ...beside });
  const { crd } = defineCustomResource({
    group: 'example.com',
    version: 'v1',
    kind: 'Website',
    scope: 'Namespaced',
    spec: schema,
    overrides,
  });
  return crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.spec?.properties?.x;
}
