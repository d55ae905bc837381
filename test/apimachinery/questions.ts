/**
 * The questions to apimachinery whose answers are kept in vectors/: made from a fixed seed, so that
 * scripts/record-apimachinery.ts writes the same file again.
 */

import type { Field } from '../../bindings/apimachinery/atoms.ts';
import {
  builtInTypeName,
  innerCode,
  numberedMembers,
  typeNamed,
} from '../../bindings/apimachinery/built-in.ts';
import { Random } from '../helpers/random.ts';

const EDGES = [
  ...['', '.', '+', '-', 'Ki', 'm', 'e3', 'e-10', 'Ei', 'Pi', 'e', '1e', 'E', '1E', '0E', '0Ei'],
  ...[
    '1.500',
    '1.50',
    '1.5',
    '1.0',
    '1.',
    '.5',
    '00001',
    '+1',
    '+10',
    '-0',
    '-0.1n',
    '0.1n',
    '1000',
  ],
  ...['123Ti', '+123Ti', '+12Ti', '+1Pi', '-1.5Ki', '0.5Ki', '0.0001Ki', '1.0Mi', '1.Mi', '1025Ki'],
  ...['1024', '1024Ki', '1024000Ki', '1e+3', '1E3', '100e3', '1e-9', '1e-10', '-1e-12', '12e-3'],
  ...['8Ei', '7Ei', '-8Ei', '9223372036854775807', '9223372036854775808', '9223372036854775807Ki'],
  ...[
    '0x',
    '1 ',
    ' 1',
    '1k3',
    '1kk',
    '1K',
    '1mi',
    '1e3.5',
    '1,5',
    '1_000',
    '--1',
    'NaN',
    '٣',
    '1\n',
  ],
  ...[
    '1000000000000000000',
    '999999999999999999n',
    '0.0000000001',
    '0.000000000',
    '000',
    '1.999999999999Gi',
  ],
];

/** At most 18 digits and a small exponent, so that the whole number fits into Go's 64 bits. */
function quantityText(random: Random): string {
  const digits = (most: number): string =>
    Array.from({ length: random.int(most + 1) }, () => random.int(10)).join('');
  const number =
    random.pick(['', '', '', '+', '-']) +
    digits(random.pick([3, 3, 8])) +
    (random.chance(0.4) ? `.${digits(random.pick([3, 9, 12]))}` : '') +
    random.pick(['', '', '000', '0']);
  const suffixes = [
    '',
    '',
    'n',
    'u',
    'm',
    'm',
    'k',
    'M',
    'G',
    'T',
    'Ki',
    'Mi',
    'Gi',
    'Ti',
    'Pi',
    'Ei',
  ];
  return number + (random.chance(0.15) ? `e${random.int(12) - 6}` : random.pick(suffixes));
}

function quantities(): object[] {
  const random = new Random(1);
  const made = Array.from({ length: 1500 }, () => quantityText(random));
  return [...EDGES, ...made].map((text) => ({ ask: 'quantity', a: text }));
}

function pairs(): object[] {
  const random = new Random(2);
  const some = (): string => {
    for (;;) {
      const text = quantityText(random);
      if (/\d/.test(text)) return text;
    }
  };
  return Array.from({ length: 600 }, () => ({
    ask: 'two quantities',
    a: some(),
    b: random.chance(0.1) ? '0' : some(),
    by: random.pick([0, 1, -1, 3, 1000, 1024]),
  }));
}

const KINDS = [
  ...[
    'v1 Pod',
    'v1 Service',
    'v1 PersistentVolumeClaim',
    'v1 Node',
    'v1 ConfigMap',
    'v1 ResourceQuota',
  ],
  ...[
    'v1 ServiceAccount',
    'v1 Namespace',
    'apps/v1 Deployment',
    'apps/v1 StatefulSet',
    'batch/v1 CronJob',
  ],
  ...['batch/v1 Job', 'networking.k8s.io/v1 Ingress', 'networking.k8s.io/v1 NetworkPolicy'],
  ...['autoscaling/v2 HorizontalPodAutoscaler', 'discovery.k8s.io/v1 EndpointSlice'],
  ...['apps/v1 DaemonSet', 'coordination.k8s.io/v1 Lease', 'rbac.authorization.k8s.io/v1 Role'],
];

type Value = unknown;
type Members = Record<string, Value>;

/** Makes values of the types of built-in kinds, and changes them. */
class Maker {
  readonly #random: Random;
  /** How likely a member is to be there, at the top; it falls with the depth. */
  readonly #density: number;

  constructor(random: Random, density: number) {
    this.#random = random;
    this.#density = density;
  }

  value(code: string, depth: number, field?: Field): Value {
    const random = this.#random;
    const inner = innerCode(code);
    if (inner !== undefined) {
      const values = Array.from({ length: random.int(4) }, () => this.value(inner.code, depth + 1));
      if (!inner.list)
        return Object.fromEntries(values.map((value) => [random.pick(['a', 'b', 'c']), value]));
      // In order: Go sorts the texts of the first state in place, and then finds them changed.
      const isTexts = field?.patch?.merge && field.patch.mergeKey === undefined;
      return isTexts ? keyed(values, field).sort() : keyed(values, field);
    }
    switch (code) {
      case 's':
        return random.pick(['', 'a', 'b', 'c', 'ö']);
      case 'i':
      case 'l':
      case 'n':
        return random.int(4);
      case 'b':
        return random.chance(0.5);
      case 'q':
        return random.pick(['0', '1', '1000m', '1Gi', '1024Mi', '500m', '0.5']);
      case 't':
        return random.pick([
          '2026-01-01T00:00:00Z',
          '2026-01-01T01:00:00+01:00',
          '2026-01-02T00:00:00Z',
        ]);
      case 'u':
        return random.pick(['2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.500000Z']);
      case 'x':
        return random.pick([0, 80, 'http']);
      case 'y':
        return random.pick(['', 'YQ==', 'Yg==']);
      default:
        return this.struct(code, depth);
    }
  }

  struct(type: string, depth: number): Members {
    const members: Members = {};
    for (const { label, code } of numberedMembers(type)) {
      const field = typeNamed(type).map?.field(label);
      const isMain = depth === 0 && (label === 'spec' || label === 'metadata');
      if (code === '*' || code.startsWith('(') || label === 'managedFields' || depth > 8) continue;
      if (!isMain && !this.#random.chance(this.#density / (1 + depth / 3))) continue;
      members[label] = this.value(code, depth + 1, field);
    }
    return members;
  }

  /** The value with up to so many changes. */
  changed(type: string, value: Members, changes: number): Members {
    const copy = structuredClone(value);
    for (let i = 0; i < changes; i++) this.#change(type, copy);
    return copy;
  }

  #change(code: string, value: Value, field?: Field): void {
    const random = this.#random;
    const inner = innerCode(code);
    if (Array.isArray(value)) {
      const at = random.int(value.length + 1);
      const item = value[at];
      const deep = typeof item === 'object' && item !== null && random.chance(0.7);
      if (deep) this.#change(inner?.code ?? '', item);
      else if (random.chance(0.3)) value.reverse();
      else if (at < value.length && random.chance(0.4)) value.splice(at, 1);
      else {
        const more = this.value(inner?.code ?? 's', 6);
        const all = keyed([...value, more], field) as Value[];
        value.splice(0, value.length, ...all);
      }
      return;
    }
    const members = value as Members;
    const below = Object.keys(members).filter(
      (name) => typeof members[name] === 'object' && members[name] !== null,
    );
    if (below.length > 0 && random.chance(0.75)) {
      const name = random.pick(below);
      const member = inner === undefined ? typeNamed(code).map?.field(name) : undefined;
      this.#change(member?.code ?? inner?.code ?? '', members[name], member);
      return;
    }
    const isNew = random.chance(0.5) || Object.keys(members).length === 0;
    const names =
      inner !== undefined ? ['a', 'b', 'd'] : numberedMembers(code).map(({ label }) => label);
    const name = random.pick(isNew && names.length > 0 ? names : [...Object.keys(members), 'a']);
    const member = inner === undefined ? typeNamed(code).map?.field(name) : undefined;
    const memberCode = member?.code ?? inner?.code;
    if (memberCode === undefined || memberCode === '*' || memberCode.startsWith('(')) return;
    if (random.chance(0.3)) delete members[name];
    else members[name] = this.value(memberCode, 5, member);
  }
}

/** Lists by a merge key have it in each item, once. */
function keyed(values: Value[], field: Field | undefined): Value[] {
  const { merge, mergeKey } = field?.patch ?? {};
  if (!merge) return values;
  if (mergeKey === undefined) return [...new Set(values)];
  const isNumber = /[pP]ort$/.test(mergeKey);
  const seen = new Set<Value>();
  return values.map((value, at) => {
    const item = value as Members;
    let key = item[mergeKey];
    for (let i = at; key === undefined || seen.has(key); i++)
      key = isNumber ? 8000 + i : `key-${i}`;
    seen.add(key);
    return { ...item, [mergeKey]: key };
  });
}

function objects(seed: number, count: number, ask: string, changes: number): object[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => {
    const [apiVersion = '', kind = ''] = random.pick(KINDS).split(' ');
    const type = builtInTypeName(apiVersion, kind);
    if (type === undefined) throw new Error(`no type of ${apiVersion} ${kind}`);
    const maker = new Maker(random, random.pick([0.15, 0.3, 0.5]));
    const first = maker.struct(type, 0);
    const second = maker.changed(type, first, random.int(changes + 1));
    return { ask, apiVersion, kind, first, second };
  });
}

/** By the name of the file. */
export const QUESTIONS: Record<string, () => object[]> = {
  quantities,
  pairs,
  equality: () => objects(3, 1200, 'equal', 2),
  patches: () => objects(4, 600, 'patch', 5),
};
