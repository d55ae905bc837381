/**
 * Notified and cached objects behave as parsed JSON, never change, and stay readable after they are
 * replaced or deleted and after the informer has ended; and a change bit that is clear proves that
 * the part did not change.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import {
  type Change,
  DeletedFinalStateUnknown,
  defineResource,
  type KubeObject,
  ListWatch,
  SharedIndexInformer,
} from 'capstan/cache';
import { expect, it, onTestFinished } from 'vitest';
import { Random, testSeed } from '../../helpers/random.ts';
import { RandomDocuments } from '../decode/documents.ts';
import { expectSameAsParsed } from '../decode/same-as-parsed.ts';
import { asShown } from '../decode/shown-object.ts';
import { RawServer } from '../reflector/raw-server.ts';

const seed = testSeed();
console.log(`told as parsed: CAPSTAN_SEED=${seed}`);

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const ConfigMaps = defineResource<KubeObject>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

const shownOf = (text: string): KubeObject =>
  asShown(JSON.parse(text) as KubeObject, { apiVersion: 'v1', kind: 'ConfigMap' });

interface Told {
  type: 'add' | 'update' | 'delete';
  object: KubeObject;
  old?: KubeObject;
  change?: Change;
}

/** An informer on these bytes; `until` waits for this many notifications. */
function follow(server: RawServer) {
  const told: Told[] = [];
  let wake: () => void = () => undefined;
  const tell = (one: Told): void => {
    told.push(one);
    wake();
  };
  const informer = new SharedIndexInformer(new ListWatch(server, ConfigMaps), { watchList: false });
  informer.addEventHandler({
    onAdd: (object) => tell({ type: 'add', object }),
    onUpdate: (old, object, change) => tell({ type: 'update', object, old, change }),
    onDelete: (object) => {
      if (!(object instanceof DeletedFinalStateUnknown)) tell({ type: 'delete', object });
    },
  });
  const running = informer.run();
  const stop = async (): Promise<void> => {
    await informer.stop();
    await running;
  };
  onTestFinished(stop);
  const until = async (count: number): Promise<void> => {
    while (told.length < count) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { informer, told, until, stop };
}

/** In one to four parts. */
function sendCut(server: RawServer, bytes: Uint8Array, random: Random): void {
  const cuts = Array.from({ length: random.int(4) }, () => random.int(bytes.length)).sort(
    (a, b) => a - b,
  );
  for (const [i, to] of [...cuts, bytes.length].entries())
    server.send(bytes.subarray(i === 0 ? 0 : cuts[i - 1], to));
}

/** The expected object, without managedFields. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { metadata, ...rest } = structuredClone(object) as { metadata: Record<string, unknown> };
  delete metadata.managedFields;
  return { ...rest, metadata } as KubeObject;
}

it('notified and cached objects are as parsed, also after the informer has ended', async () => {
  const random = new Random(seed);
  const documents = new RandomDocuments(random);
  const names = ['n0', 'n1', 'n2', 'n3'];
  const listed = names.slice(0, 2).map((name) => documents.object(3, { name, version: '1' }));
  const server = new RawServer(bytesOf(documents.list(listed, '1')));
  const { informer, told, until, stop } = follow(server);
  const expected = listed.map(shownOf);
  const live = new Map(expected.map((object) => [keyOf(object), object]));
  const kept: [object: KubeObject, parsed: KubeObject][] = [];
  for (let version = 2; version < 200; version++) {
    const name = random.pick(names);
    const text = documents.object(1 + random.int(8), { name, version: String(version) });
    const parsed = shownOf(text);
    const known = live.has(keyOf(parsed));
    const type = !known ? 'ADDED' : random.chance(0.3) ? 'DELETED' : 'MODIFIED';
    sendCut(server, bytesOf(documents.event(type, text)), random);
    expected.push(parsed);
    if (type === 'DELETED') live.delete(keyOf(parsed));
    else live.set(keyOf(parsed), parsed);
    if (random.chance(0.8)) continue;
    await until(expected.length);
    for (const object of informer.getIndexer().list())
      kept.push([object, live.get(keyOf(object))!]);
  }
  await until(expected.length);
  const judge = (): void => {
    expect(told.length).toBe(expected.length);
    for (const [i, { object, old }] of told.entries()) {
      expectSameAsParsed(object, expected[i]);
      if (old !== undefined) {
        expectSameAsParsed(
          old,
          expected.slice(0, i).findLast((one) => keyOf(one) === keyOf(object)),
        );
      }
    }
    for (const [object, parsed] of kept) expectSameAsParsed(object, parsed);
    const cache = informer.getIndexer();
    expect(cache.listKeys().sort()).toEqual([...live.keys()].sort());
    for (const [key, parsed] of live) expectSameAsParsed(cache.getByKey(key), parsed);
  };
  judge();
  await stop();
  judge();
});

const keyOf = ({ metadata }: KubeObject): string =>
  metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : String(metadata?.name);

/** The texts of an object's parts; `undefined` is a missing part. */
type Parts = Record<(typeof PARTS)[number], string | undefined>;
const PARTS = [
  'spec',
  'status',
  'generation',
  'labels',
  'annotations',
  'deletionTimestamp',
  'other',
  'managedFields',
] as const;

function textOf(parts: Parts, version: number): string {
  const member = (name: string, text: string | undefined): string[] =>
    text === undefined ? [] : [`"${name}":${text}`];
  const metadata = [
    ...['"name":"n"', `"resourceVersion":"${version}"`],
    ...member('generation', parts.generation),
    ...member('labels', parts.labels),
    ...member('annotations', parts.annotations),
    ...member('deletionTimestamp', parts.deletionTimestamp),
    ...member('uid', parts.other),
    ...member('managedFields', parts.managedFields),
  ];
  const members = [...member('spec', parts.spec), '"x":1', ...member('status', parts.status)];
  return `{"metadata":{${metadata.join(',')}},${members.join(',')}}`;
}

/** Labels with their members in any order and with escapes, so that equal ones differ in bytes. */
function labels(random: Random): string {
  const members = [
    '"a":"1"',
    random.pick(['"b":"2"', '"\\u0062":"2"', '"b":"\\u0032"']),
    '"c":"é"',
  ];
  if (random.chance(0.5)) members.reverse();
  if (random.chance(0.3)) members.push('"d":"4"');
  return `{${members.join(random.pick([',', ' , ']))}}`;
}

function newText(part: (typeof PARTS)[number], documents: RandomDocuments): string | undefined {
  const { random } = documents;
  if (random.chance(0.1)) return undefined;
  if (part === 'labels' || part === 'annotations') return labels(random);
  if (part === 'generation') return String(1 + random.int(3));
  if (part === 'deletionTimestamp')
    return random.pick(['"2026-01-01T00:00:00Z"', '"2026-01-01T00:00:01Z"']);
  if (part === 'other') return random.pick(['"u1"', '"u2"']);
  if (part === 'managedFields') return `[{"manager":"m${random.int(100)}"}]`;
  return documents.value(3);
}

it('a change bit is set if a part has another value, clear if its text is equal', async () => {
  const documents = new RandomDocuments(new Random(seed));
  const { random } = documents;
  let parts = Object.fromEntries(PARTS.map((part) => [part, newText(part, documents)])) as Parts;
  const texts = [textOf(parts, 1)];
  const server = new RawServer(bytesOf(documents.list(texts, '1')));
  const { told, until } = follow(server);
  const steps: { before: Parts; after: Parts }[] = [];
  for (let version = 2; version < 600; version++) {
    const before = parts;
    parts = { ...before };
    for (const part of PARTS) if (random.chance(0.25)) parts[part] = newText(part, documents);
    steps.push({ before, after: parts });
    texts.push(textOf(parts, version));
    sendCut(server, bytesOf(`{"type":"MODIFIED","object":${texts.at(-1)}}\n`), random);
  }
  await until(texts.length);

  const seen = new Set<string>();
  for (const [i, { before, after }] of steps.entries()) {
    const { object, old, change } = told[i + 1]!;
    const about = `${texts[i]}\n-> ${texts[i + 1]}`;
    assert.deepEqual(
      withoutManagedFields(object),
      withoutManagedFields(shownOf(texts[i + 1]!)),
      about,
    );
    assert.deepEqual(withoutManagedFields(old!), withoutManagedFields(shownOf(texts[i]!)), about);
    const sameText = (...names: (typeof PARTS)[number][]) =>
      names.every((name) => before[name] === after[name]);
    const sameValue = (...names: (typeof PARTS)[number][]) =>
      names.every((name) => isDeepStrictEqual(parsed(before[name]), parsed(after[name])));
    const members = ['generation', 'labels', 'annotations', 'deletionTimestamp', 'other'] as const;
    for (const [bit, ...names] of [
      ['spec', 'spec'],
      ['status', 'status'],
      ['generation', 'generation'],
      ['labels', 'labels'],
      ['annotations', 'annotations'],
      ['deletion', 'deletionTimestamp'],
      ['metadata', ...members],
    ] as const) {
      seen.add(`${bit}: ${change![bit]}`);
      if (!sameValue(...names)) expect(change![bit], `${bit} changed\n${about}`).toBe(true);
      if (sameText(...names)) expect(change![bit], `${bit} did not\n${about}`).toBe(false);
      if ((bit === 'labels' || bit === 'annotations') && sameValue(...names)) {
        expect(change![bit], `${bit} differ in bytes alone\n${about}`).toBe(false);
      }
    }
  }
  expect(seen.size, 'each bit was on and off').toBe(14);
});

/** -0 and 0 are equal for changes. */
const parsed = (text: string | undefined): unknown =>
  text === undefined
    ? undefined
    : JSON.parse(text, (_, value: unknown) => (value === 0 ? 0 : value));
