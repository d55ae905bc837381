/**
 * Cases about server-side apply with several managers: conflicts and force, ownership that moves or
 * ends, empty lists, lists by keys, sets, subresources, and invalid managers.
 */
import type { Random } from '../../helpers/random.ts';
import type { Json, JsonObject } from '../same-answers/api.ts';
import type { RequestStep } from './case.ts';
import { mutated } from './mutate.ts';
import { sampleName, sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';
import { createStep, type Group, getStep, objectPath, PATCHES, pickKind, times } from './steps.ts';

const apply = (
  kind: SampleKind,
  body: unknown,
  query = '?fieldManager=one',
  subresource = '',
): RequestStep => ({
  method: 'PATCH',
  path: `${objectPath(kind)}${subresource}${query}`,
  body,
  type: PATCHES.apply,
});

const bare = (kind: SampleKind, rest: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: { name: sampleName(kind, 'a'), ...metadata },
  ...rest,
});

/** The object with one of its lists longer, shorter, empty or reordered. */
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

function sequence(random: Random, kind: SampleKind): RequestStep[] {
  const sample = sampleOf(kind);
  const labels = (labels: Json): JsonObject => bare(kind, {}, { labels });
  const merge = (body: unknown): RequestStep => ({
    method: 'PATCH',
    path: `${objectPath(kind)}?fieldManager=other`,
    body,
    type: PATCHES.merge,
  });
  const [two, force] = ['?fieldManager=two', '?fieldManager=two&force=true'];
  return random.pick<() => RequestStep[]>([
    () => [apply(kind, sample), apply(kind, relisted(random, sample)), getStep(kind)],
    () => [apply(kind, sample), apply(kind, relisted(random, sample), two), getStep(kind)],
    () => [apply(kind, sample), apply(kind, relisted(random, sample), force), getStep(kind)],
    () => [createStep(kind), apply(kind, relisted(random, sample)), getStep(kind)],
    () => [
      createStep(kind),
      apply(kind, sample, force),
      apply(kind, bare(kind), two),
      getStep(kind),
    ],
    () => [
      ...[apply(kind, labels({ a: '1', b: '2' })), createStep(kind)],
      ...[
        apply(kind, sample),
        apply(kind, labels({ a: '2' }), two),
        apply(kind, labels({ a: '2' }), force),
      ],
      ...[apply(kind, labels({ b: '2' })), getStep(kind)],
    ],
    () => [
      apply(kind, sample),
      merge({ metadata: { labels: { a: 'x' } } }),
      apply(kind, labels({ a: 'y' })),
      getStep(kind),
    ],
    () => [apply(kind, sample), merge(mutated(random, sample)), apply(kind, sample), getStep(kind)],
    () => [
      apply(kind, sample),
      {
        method: 'PUT',
        path: `${objectPath(kind)}?fieldManager=other`,
        body: {
          ...mutated(random, sample),
          metadata: {
            name: sampleName(kind, 'a'),
            resourceVersion: '{{0.metadata.resourceVersion}}',
          },
        },
      },
      apply(kind, sample),
      getStep(kind),
    ],
    () => [
      createStep(kind),
      apply(kind, mutated(random, sample), random.pick(MANAGERS)),
      getStep(kind),
    ],
    () => [apply(kind, sample, random.pick(MANAGERS)), getStep(kind)],
    () => [
      apply(kind, labels(null)),
      apply(kind, labels({})),
      apply(kind, bare(kind, {}, { finalizers: [] }), two),
    ],
    () => [
      createStep(kind),
      apply(kind, bare(kind, {}, { finalizers: ['example.com/a', 'example.com/a'] })),
    ],
    () => [createStep(kind), apply(kind, bare(kind, {}, { managedFields: [] })), getStep(kind)],
    () => [createStep(kind), apply(kind, bare(kind, {}, { managedFields: [{ manager: 'x' }] }))],
    () => [
      createStep(kind),
      merge({ metadata: { managedFields: [{}] } }),
      apply(kind, sample),
      getStep(kind),
    ],
    () => [createStep(kind), apply(kind, bare(kind, {}, { resourceVersion: '1' }))],
    () => [
      createStep(kind),
      apply(
        kind,
        bare(kind, {}, { resourceVersion: '{{0.metadata.resourceVersion}}', labels: { a: 'b' } }),
      ),
    ],
    () => [
      createStep(kind),
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
      createStep(kind),
      apply(
        kind,
        `apiVersion: ${kind.apiVersion}\nkind: ${kind.kind}\nmetadata:\n  name: ` +
          `"${sampleName(kind, 'a')}"\n  labels:\n    a: "1"\n    a: "2"\n`,
      ),
    ],
    () => [
      createStep(kind),
      apply(
        kind,
        `apiVersion: ${kind.apiVersion}\nkind: ${kind.kind}\nmetadata:\n  name: ` +
          `"${sampleName(kind, 'a')}"\n  labels: {a: yes}\n`,
      ),
    ],
    () => [createStep(kind), apply(kind, '')],
    () => [createStep(kind), apply(kind, '---\n---\n')],
    () => [
      createStep(kind),
      apply(kind, bare(kind, { unknown: 1 }), '?fieldManager=one&fieldValidation=Warn'),
    ],
    () => [
      createStep(kind),
      apply(kind, bare(kind, { unknown: 1 }), '?fieldManager=one&fieldValidation=Ignore'),
    ],
    ...(kind.status === undefined
      ? []
      : [
          () => [
            createStep(kind),
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
            getStep(kind),
          ],
        ]),
  ])();
}

export const applying: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random);
    return { group: 'applying', steps: sequence(random, kind) };
  });
