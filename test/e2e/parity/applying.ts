/**
 * Cases about server-side apply over several hands: conflicts and force, what others take over or
 * let go, empty lists, items by keys, sets, subresources, and what is no manager.
 */
import type { Random } from '../../helpers/random.ts';
import type { Json, JsonObject } from '../same-answers/api.ts';
import type { Step } from './case.ts';
import { mutated } from './mutate.ts';
import { nameOf, sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';
import { at, create, type Group, get, PATCHES, pickKind, times } from './steps.ts';

const apply = (
  kind: SampleKind,
  body: unknown,
  query = '?fieldManager=one',
  subresource = '',
): Step => ({
  method: 'PATCH',
  path: `${at(kind)}${subresource}${query}`,
  body,
  type: PATCHES.apply,
});

const bare = (kind: SampleKind, rest: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: { name: nameOf(kind, 'a'), ...metadata },
  ...rest,
});

/** The object with one of its lists longer, shorter, empty or in another order. */
function relisted(random: Random, object: JsonObject): JsonObject {
  const copy = structuredClone(object);
  const lists: Json[][] = [];
  const walk = (value: Json): void => {
    if (Array.isArray(value)) lists.push(value);
    if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) walk(member as Json);
  };
  walk(copy);
  if (lists.length === 0) return copy;
  const list = random.pick(lists);
  const changed = random.pick<() => Json[]>([
    () => [],
    () => list.toReversed(),
    () => list.slice(1),
    () => [...list, ...(structuredClone(list.slice(0, 1)) as Json[])],
    () => [...list, 'added'],
    () => [...list, { name: 'added' }],
    () =>
      list.map((item) =>
        typeof item === 'object' && item !== null && !Array.isArray(item)
          ? { ...item, added: 'x' }
          : item,
      ),
  ])();
  list.splice(0, list.length, ...changed);
  return copy;
}

const MANAGERS = [
  ...['', '?fieldManager=', '?fieldManager=one&force=true', '?fieldManager=one&force=x'],
  ...[
    `?fieldManager=${'m'.repeat(128)}`,
    `?fieldManager=${'m'.repeat(129)}`,
    '?fieldManager=%c3%a9',
  ],
  ...['?fieldManager=one&dryRun=All', '?fieldManager=one&fieldValidation=Strict', '?force=true'],
  ...['?fieldManager=one&force=false', '?fieldManager=kubectl', '?fieldManager=%00'],
];

function sequence(random: Random, kind: SampleKind): Step[] {
  const sample = sampleOf(kind);
  const labels = (labels: Json): JsonObject => bare(kind, {}, { labels });
  const merge = (body: unknown): Step => ({
    method: 'PATCH',
    path: `${at(kind)}?fieldManager=other`,
    body,
    type: PATCHES.merge,
  });
  const [two, force] = ['?fieldManager=two', '?fieldManager=two&force=true'];
  return random.pick<() => Step[]>([
    () => [apply(kind, sample), apply(kind, relisted(random, sample)), get(kind)],
    () => [apply(kind, sample), apply(kind, relisted(random, sample), two), get(kind)],
    () => [apply(kind, sample), apply(kind, relisted(random, sample), force), get(kind)],
    () => [create(kind), apply(kind, relisted(random, sample)), get(kind)],
    () => [create(kind), apply(kind, sample, force), apply(kind, bare(kind), two), get(kind)],
    () => [
      ...[apply(kind, labels({ a: '1', b: '2' })), create(kind)],
      ...[
        apply(kind, sample),
        apply(kind, labels({ a: '2' }), two),
        apply(kind, labels({ a: '2' }), force),
      ],
      ...[apply(kind, labels({ b: '2' })), get(kind)],
    ],
    () => [
      apply(kind, sample),
      merge({ metadata: { labels: { a: 'x' } } }),
      apply(kind, labels({ a: 'y' })),
      get(kind),
    ],
    () => [apply(kind, sample), merge(mutated(random, sample)), apply(kind, sample), get(kind)],
    () => [
      apply(kind, sample),
      {
        method: 'PUT',
        path: `${at(kind)}?fieldManager=other`,
        body: {
          ...mutated(random, sample),
          metadata: { name: nameOf(kind, 'a'), resourceVersion: '{{0.metadata.resourceVersion}}' },
        },
      },
      apply(kind, sample),
      get(kind),
    ],
    () => [create(kind), apply(kind, mutated(random, sample), random.pick(MANAGERS)), get(kind)],
    () => [apply(kind, sample, random.pick(MANAGERS)), get(kind)],
    () => [
      apply(kind, labels(null)),
      apply(kind, labels({})),
      apply(kind, bare(kind, {}, { finalizers: [] }), two),
    ],
    () => [
      create(kind),
      apply(kind, bare(kind, {}, { finalizers: ['example.com/a', 'example.com/a'] })),
    ],
    () => [create(kind), apply(kind, bare(kind, {}, { managedFields: [] })), get(kind)],
    () => [create(kind), apply(kind, bare(kind, {}, { managedFields: [{ manager: 'x' }] }))],
    () => [
      create(kind),
      merge({ metadata: { managedFields: [{}] } }),
      apply(kind, sample),
      get(kind),
    ],
    () => [create(kind), apply(kind, bare(kind, {}, { resourceVersion: '1' }))],
    () => [
      create(kind),
      apply(
        kind,
        bare(kind, {}, { resourceVersion: '{{0.metadata.resourceVersion}}', labels: { a: 'b' } }),
      ),
    ],
    () => [
      create(kind),
      apply(kind, bare(kind, {}, { uid: 'x' })),
      apply(kind, bare(kind, {}, { uid: '{{0.metadata.uid}}' })),
    ],
    () => [apply(kind, bare(kind, {}, { uid: 'x' }))],
    () => [apply(kind, { ...sample, apiVersion: 'v9' }), apply(kind, { ...sample, kind: 'Other' })],
    () => [apply(kind, { ...sample, metadata: { name: 'other' } }), apply(kind, { metadata: {} })],
    () => [
      apply(kind, bare(kind, {}, { generateName: 'x' })),
      apply(kind, bare(kind, {}, { namespace: 'other' })),
    ],
    () => [
      create(kind),
      apply(
        kind,
        `apiVersion: ${kind.apiVersion}\nkind: ${kind.kind}\nmetadata:\n  name: "${nameOf(kind, 'a')}"\n  labels:\n    a: "1"\n    a: "2"\n`,
      ),
    ],
    () => [
      create(kind),
      apply(
        kind,
        `apiVersion: ${kind.apiVersion}\nkind: ${kind.kind}\nmetadata:\n  name: "${nameOf(kind, 'a')}"\n  labels: {a: yes}\n`,
      ),
    ],
    () => [create(kind), apply(kind, '')],
    () => [create(kind), apply(kind, '---\n---\n')],
    () => [
      create(kind),
      apply(kind, bare(kind, { unknown: 1 }), '?fieldManager=one&fieldValidation=Warn'),
    ],
    () => [
      create(kind),
      apply(kind, bare(kind, { unknown: 1 }), '?fieldManager=one&fieldValidation=Ignore'),
    ],
    ...(kind.status === undefined
      ? []
      : [
          () => [
            create(kind),
            apply(
              kind,
              bare(kind, { status: kind.status as JsonObject }),
              '?fieldManager=s',
              '/status',
            ),
            apply(
              kind,
              bare(kind, { status: kind.status as JsonObject }, { labels: { a: 'b' } }),
              '?fieldManager=t',
              '/status',
            ),
            apply(kind, bare(kind), '?fieldManager=s', '/status'),
            get(kind),
          ],
        ]),
  ])();
}

export const applying: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random);
    return { group: 'applying', steps: sequence(random, kind) };
  });
