/**
 * Cases about unusual bodies: duplicate members in JSON and YAML; values of Kubernetes' formats,
 * valid and nearly valid; and metadata that clients cannot set.
 */
import type { Random } from '../../helpers/random.ts';
import type { Json, JsonObject } from '../same-answers/api.ts';
import type { RequestStep } from './case.ts';
import { collectionOf, SAMPLES, sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';
import {
  createStep,
  type Group,
  getStep,
  objectPath,
  PATCHES,
  pickKind,
  times,
  VALIDATION,
  WRITTEN,
} from './steps.ts';

/** Values by the format of the members with such names, valid and nearly valid. */
const FORMATS: readonly [name: RegExp, values: readonly Json[]][] = [
  [
    /^(cpu|memory|storage|requests\.cpu|pods|sizeLimit|maximumVolumeSize|capacity|value)$/,
    [
      ...['1', '1.0', '0.5', '1e3', '1E3', '1Ki', '1ki', '1K', '1k', '1.5Gi', '+1', '-1', '.5'],
      ...['1.', '', ' 1', '1 ', '1Gib', '0x10', '1e99', '9223372036854775808', '1m', '1u', '0.1m'],
      ...[1, 0, -1, 1.5, 1e21, '1_000', '1,5', '１'],
    ],
  ],
  [
    /^(ip|podIP|hostIP|clusterIP|nameservers|externalIPs|addresses|address)$/,
    [
      ...['10.0.0.1', '010.0.0.1', '10.0.0', '10.0.0.256', '::1', '::FFFF:10.0.0.1', '0:0::1'],
      ...[
        'fe80::1%eth0',
        '127.0.0.1',
        '0.0.0.0',
        '169.254.0.1',
        '224.0.0.1',
        '255.255.255.255',
        '',
      ],
    ],
  ],
  [
    /^(cidr|cidrs|except|podCIDR|podCIDRs|loadBalancerSourceRanges)$/,
    [
      ...[
        '10.0.0.0/8',
        '10.0.0.1/8',
        '010.0.0.0/8',
        '10.0.0.0/08',
        '10.0.0.0/33',
        '::/0',
        '::1/64',
      ],
      ...['2001:DB8::/32', '10.0.0.0', '/8', '10.0.0.0/-1', '::ffff:10.0.0.0/104'],
    ],
  ],
  [
    /Time$|Timestamp$/,
    [
      ...['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000006Z', '2026-01-02T03:04:05+01:00'],
      ...['2026-01-02 03:04:05', '2026-13-02T03:04:05Z', '2026-02-30T03:04:05Z', '2026-01-02', ''],
      ...[1_767_000_000, '0001-01-01T00:00:00Z'],
    ],
  ],
  [
    /^(caBundle|bin|k|request)$/,
    [
      'YQ==',
      'YQ',
      'YQ=',
      'YQ==\n',
      'Y Q==',
      'YR==',
      '-_==',
      '',
      '====',
      'YWI=',
      [97],
      [256],
      ['a'],
    ],
  ],
  [
    /^(port|containerPort|hostPort|targetPort|nodePort|endPort|number)$/,
    [0, -1, 1, 65_535, 65_536, '80', 'http', 'HTTP', 'a--b', '-a', 'a-b-c-d-e-f-g-h', 1.5, ''],
  ],
  [
    /[nN]ame$|^(key|topologyKey|host|hostname|hostnames|provisioner|driver|attacher)$/,
    [
      ...['a', 'A', 'a.b', 'a_b', '-a', 'a-', 'a..b', 'a/b', 'example.com/a', 'x'.repeat(63)],
      ...['x'.repeat(64), 'x'.repeat(253), 'x'.repeat(254), '*.example.com', '*', 'a b', 'é', '1'],
    ],
  ],
  [
    /^(replicas|minReadySeconds|parallelism|completions|backoffLimit|weight|maxSkew|revision|count)$/,
    [0, -1, 2_147_483_647, 2_147_483_648, -2_147_483_649, 1e3, '1', 1.5, true],
  ],
  [
    /^(maxSurge|maxUnavailable|minAvailable)$/,
    [0, -1, 1, '0%', '100%', '101%', '-1%', '1', '%', '1.5%', '010%', 2_147_483_648],
  ],
  [
    /^(schedule|timeZone)$/,
    [
      ...['* * * * *', '@daily', '@every 1h', '60 * * * *', '* * * *', '*/0 * * * *', '0 0 31 2 *'],
      ...[
        'TZ=UTC * * * * *',
        'Etc/UTC',
        'Local',
        'local',
        'Nowhere/City',
        'MON',
        '0 0 * * MON-FRI',
      ],
    ],
  ],
];

/** A copy in which one member with a known format has a value of that format. */
function reformatted(random: Random, object: JsonObject): JsonObject {
  const copy = structuredClone(object);
  const places: [parent: Record<string, Json>, member: string, values: readonly Json[]][] = [];
  const walk = (value: Json, name: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [member, child] of Object.entries(value)) {
      const known = Array.isArray(value) ? name : member;
      const [, values] = FORMATS.find(([pattern]) => pattern.test(known)) ?? [];
      if (values !== undefined && (typeof child !== 'object' || child === null))
        places.push([value as Record<string, Json>, member, values]);
      walk(child as Json, known);
    }
  };
  for (const [member, child] of Object.entries(copy))
    if (!['apiVersion', 'kind', 'metadata'].includes(member)) walk(child as Json, member);
  if (places.length === 0) return copy;
  const [parent, member, values] = random.pick(places);
  parent[member] = structuredClone(random.pick(values));
  return copy;
}

/** The JSON of the object with a duplicate member. */
function withTwice(random: Random, object: JsonObject): string {
  const twice: { path: string; text: string }[] = [];
  const walk = (value: Json, path: string): void => {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) walk(item, `${path}[${index}]`);
    } else if (typeof value === 'object' && value !== null)
      for (const [name, member] of Object.entries(value)) {
        const second = random.pick<() => Json>([
          () => member as Json,
          () => (Array.isArray(member) ? member.slice(0, 1) : {}),
          () => null,
          () => (typeof member === 'string' ? `${member}-2` : (member as Json)),
          () => (typeof member === 'object' && !Array.isArray(member) ? { second: 'x' } : 'x'),
          () => [],
        ])();
        twice.push({
          path: `${path}/${name}`,
          text: `${JSON.stringify(name)}:${JSON.stringify(second)}`,
        });
        walk(member as Json, `${path}/${name}`);
      }
  };
  walk(object, '');
  const chosen = random.pick(twice);
  const write = (value: Json, path: string): string => {
    if (Array.isArray(value))
      return `[${value.map((item, index) => write(item, `${path}[${index}]`)).join(',')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const members = Object.entries(value).flatMap(([name, member]) => {
      const at = `${path}/${name}`;
      const written = `${JSON.stringify(name)}:${write(member as Json, at)}`;
      return at === chosen.path ? [written, chosen.text] : [written];
    });
    return `{${members.join(',')}}`;
  };
  return write(object, '');
}

/** Metadata that the server sets, sent by a client. */
const OURS: readonly JsonObject[] = [
  { uid: 'e3b0c442-98fc-4c14-9afb-f4c8996fb924' },
  { generation: 5 },
  { generation: '5' },
  { creationTimestamp: null },
  { creationTimestamp: '2020-01-01T00:00:00Z' },
  { deletionTimestamp: '2020-01-01T00:00:00Z' },
  { deletionGracePeriodSeconds: 30 },
  { selfLink: '/x', clusterName: 'x' },
  { resourceVersion: '0' },
  { resourceVersion: 'x' },
  { managedFields: null },
  { managedFields: [{}] },
  {
    managedFields: [
      {
        manager: 'other',
        operation: 'Update',
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } } },
        time: '2026-01-02T03:04:05Z',
      },
    ],
  },
  { managedFields: [{ manager: 'x', operation: 'Apply', apiVersion: 'v1', fieldsType: 'Other' }] },
  { managedFields: [{ manager: 'x', operation: 'Apply', fieldsV1: { 'q:x': {} } }] },
  { labels: { a: '' }, annotations: { 'example.com/a': '' } },
  { labels: { 'example.com/x/y': 'z' } },
  { labels: { a: '-x' } },
  { annotations: { A: 'upper' } },
  { finalizers: ['example.com/a', 'Example.com/B'] },
  { finalizers: [7] },
  {
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', blockOwnerDeletion: true },
    ],
  },
  { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', more: 1 }] },
  {
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' },
      { apiVersion: 'v1', kind: 'Pod', name: 'q', uid: 'u' },
    ],
  },
  { generateName: 'g-' },
  { unknown: { a: 1 } },
];

const huge = (kind: SampleKind): JsonObject => {
  const sample = sampleOf(kind);
  const annotations = { a: 'x'.repeat(200_000) };
  return { ...sample, metadata: { ...(sample.metadata as JsonObject), annotations } };
};

const withMetadata = (random: Random, kind: SampleKind): JsonObject => {
  const sample = sampleOf(kind);
  return { ...sample, metadata: { ...(sample.metadata as JsonObject), ...random.pick(OURS) } };
};

/** YAML with one member a line and duplicate members of metadata. */
const yamlTwice = (kind: SampleKind): string =>
  Object.entries(sampleOf(kind))
    .flatMap(([name, value]) =>
      name === 'metadata'
        ? [`metadata: ${JSON.stringify(value)}`, `metadata: ${JSON.stringify(value)}`]
        : [`${name}: ${JSON.stringify(value)}`],
    )
    .join('\n');

export const bodies: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, SAMPLES);
    const query = random.pick(VALIDATION);
    const other = pickKind(random, WRITTEN);
    const make = random.pick<() => RequestStep[]>([
      () => [createStep(kind, reformatted(random, sampleOf(kind)), query)],
      () => [createStep(kind, reformatted(random, sampleOf(kind)), query)],
      () => [createStep(kind, reformatted(random, sampleOf(kind)), query)],
      () => [createStep(kind, withTwice(random, sampleOf(kind)), query)],
      () => [createStep(kind, withTwice(random, sampleOf(kind)), query)],
      () => [createStep(kind, withMetadata(random, kind), query), getStep(kind)],
      () => [
        createStep(other),
        { method: 'PUT', path: objectPath(other) + query, body: withMetadata(random, other) },
      ],
      () => [
        createStep(other),
        {
          method: 'PUT',
          path: objectPath(other) + query,
          body: withTwice(random, sampleOf(other)),
        },
      ],
      () => [
        createStep(other),
        {
          method: 'PATCH',
          path: objectPath(other) + query,
          body: withTwice(random, sampleOf(other)),
          type: random.pick([PATCHES.merge, PATCHES.strategic]),
        },
      ],
      () => [
        createStep(other),
        {
          method: 'PATCH',
          path: objectPath(other) + query,
          body: { metadata: random.pick(OURS) },
          type: random.pick([PATCHES.merge, PATCHES.strategic]),
        },
      ],
      () => [createStep(kind, huge(kind), query)],
      () => [{ ...createStep(kind, yamlTwice(kind), query), type: 'application/yaml' }],
      () => [
        createStep(
          kind,
          Object.fromEntries(
            Object.keys(sampleOf(kind)).map((name) => [
              name,
              name === 'apiVersion' ? kind.apiVersion : name === 'kind' ? kind.kind : null,
            ]),
          ),
          query,
        ),
      ],
      () => [
        createStep(
          kind,
          { items: [sampleOf(kind)], apiVersion: kind.apiVersion, kind: `${kind.kind}List` },
          query,
        ),
      ],
      () => [{ ...createStep(kind, sampleOf(other), query), path: collectionOf(kind) + query }],
    ]);
    return { group: 'body', steps: make() };
  });
