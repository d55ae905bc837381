/**
 * Objects that change often. If only the resourceVersion changed, the store copies the metadata
 * that it decoded before. The old object of an update is the object that the handlers got as the
 * new one before. Results must be the same as without these two optimizations.
 */
import { expect, test } from 'vitest';
import { ByteStore, type Thing, thing } from '../../helpers/cache/byte-store.ts';
import { collectGarbage } from '../../helpers/garbage-collection.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { expectReadOnly, expectSameAsParsed } from '../decode/same-as-parsed.ts';

const seed = testSeed();
console.log(`test/cache/bytes/changing-often.test.ts: CAPSTAN_SEED=${seed}`);

/** After so many notified objects the store keeps none of the earlier ones. */
const ENOUGH = 2048;

type Metadata = Record<string, unknown>;

/** As an API server writes them: all that an object of the field has, labels and owners nested. */
const metadata = (resourceVersion: unknown): Metadata => ({
  name: 'a',
  generateName: 'a-',
  namespace: 'n',
  uid: 'u-1',
  resourceVersion,
  generation: 1,
  creationTimestamp: '2024-05-01T10:00:00Z',
  labels: { app: 'x', 'a.b/c': 'é' },
  annotations: {},
  ownerReferences: [{ kind: 'Set', name: 's', controller: true }],
  finalizers: ['f'],
});

const textOf = (of: unknown, spec = 1): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Thing', metadata: of, spec });

/** Stores an object; returns the old and the new state, as a handler gets them. */
function tell(world: ByteStore, text: string): { old: Thing | undefined; now: Thing } {
  const now = world.object(text);
  return { old: world.store.exchange(now, false), now };
}

function isCopied(object: Thing): boolean {
  return Object.values(Object.getOwnPropertyDescriptors(object.metadata)).every(
    ({ get }) => get === undefined,
  );
}

test('metadata of an object that changes often equal those of JSON.parse', () => {
  const random = new Random(seed);
  const world = new ByteStore();
  const held: [Thing, string][] = [];
  let current = metadata('0');
  let copied = 0;
  for (let i = 1; i < 400; i++) {
    const change = random.int(12);
    if (change === 0) current = { ...current, labels: { app: `x${random.int(3)}` } };
    else if (change === 1) current = { ...current, deletionTimestamp: 'now' };
    else if (change === 2) current = metadata('0');
    current = { ...current, resourceVersion: String(i) };
    const text = textOf(current, random.int(3));
    const { old, now } = tell(world, text);
    if (old !== undefined) expect(old).toBe(held.at(-1)?.[0]);
    if (random.chance(0.8)) expectSameAsParsed(now, JSON.parse(text));
    if (isCopied(now)) copied++;
    held.push([now, text]);
  }
  for (const [object, text] of held) {
    expectSameAsParsed(object, JSON.parse(text));
    expectReadOnly(object);
  }
  expect(copied).toBeGreaterThan(200);
});

test('what has not changed is one object in all versions', () => {
  const world = new ByteStore();
  const told = ['1', '2', '3', '4', '5'].map((version) => {
    const { now } = tell(world, textOf(metadata(version)));
    void now.metadata.labels;
    return now;
  });
  expect(told.map(isCopied)).toEqual([false, false, true, true, true]);
  expect(told[4]?.metadata.labels).toBe(told[3]?.metadata.labels);
  expect(told.map((object) => object.metadata.resourceVersion)).toEqual(['1', '2', '3', '4', '5']);
});

// The bits of a change say nothing of managedFields and of the version itself.
test.each<[string, (version: number) => Metadata]>([
  [
    'managedFields, which are kept',
    (n) => ({ ...metadata(String(n)), managedFields: [{ manager: `m${n}` }] }),
  ],
  ['a version that is a number', (n) => metadata(n)],
  [
    'a version that comes and goes',
    (n) => (n % 2 === 0 ? metadata('1') : { name: 'a', namespace: 'n' }),
  ],
  ['no version', () => ({ name: 'a', namespace: 'n' })],
  [
    'nothing but the version and names',
    (n) => ({ name: 'a', namespace: 'n', resourceVersion: String(n) }),
  ],
  [
    'names like integers',
    (n) => ({ b: n, 10: 1, name: 'a', namespace: 'n', 1: 2, resourceVersion: String(n) }),
  ],
])('metadata with %s are those of each version', (_, of) => {
  const world = new ByteStore();
  const frames = world.store
    .decoder({ apiVersion: 'v1', kind: 'Thing' }, { keepManagedFields: true })
    .frames();
  for (let i = 0; i < 8; i++) {
    const text = textOf(of(i), i);
    frames.push(new TextEncoder().encode(`{"type":"MODIFIED","object":${text}}`));
    const { object } = frames.next() as { object: Thing };
    world.store.exchange(object, false);
    expectSameAsParsed(object, JSON.parse(text));
  }
});

test('an object stays as parsed when the memory for often changing objects is reused', () => {
  const world = new ByteStore();
  const texts = ['1', '2', '3', '4'].map((version) => textOf(metadata(version), Number(version)));
  const told = texts.map((text) => {
    const { now } = tell(world, text);
    void now.metadata.name;
    return now;
  });
  for (let i = 0; i < ENOUGH; i++) tell(world, JSON.stringify(thing('other', i)));
  const next = textOf(metadata('5'), 5);
  const { old, now } = tell(world, next);
  expect(old).not.toBe(told[3]);
  expect(isCopied(now)).toBe(false);
  expectSameAsParsed(old, JSON.parse(texts[3] as string));
  expectSameAsParsed(now, JSON.parse(next));
  for (const [i, object] of told.entries())
    expectSameAsParsed(object, JSON.parse(texts[i] as string));
});

test('a requested object stays the same object while it is held', () => {
  const world = new ByteStore();
  tell(world, textOf(metadata('1')));
  const held = world.store.getByKey('n/a');
  for (let i = 0; i < ENOUGH; i++) tell(world, JSON.stringify(thing('other', i)));
  expect(world.store.getByKey('n/a')).toBe(held);
});

/** How many of the objects are still reachable after a garbage collection. */
async function left(all: readonly WeakRef<object>[]): Promise<number> {
  await new Promise(setImmediate); // the target of a new WeakRef is kept until its task ends
  collectGarbage();
  return all.filter((each) => each.deref() !== undefined).length;
}

// The store keeps the objects that it notified last. A replaced object left its text there, so that
// one object that changed often had thousands of texts.
test('what has been replaced is not kept', async () => {
  const world = new ByteStore();
  const told: WeakRef<object>[] = [];
  for (let i = 0; i < 100; i++)
    told.push(new WeakRef(tell(world, textOf(metadata(String(i)))).now));
  expect(await left(told)).toBeLessThan(5);
});

test('nothing is kept of a stored object after many others were notified', async () => {
  const world = new ByteStore();
  const told: WeakRef<object>[] = [];
  const tellOf = (name: string, version: number): void => {
    const { now } = tell(world, textOf({ ...metadata(String(version)), name }));
    told.push(
      new WeakRef(now),
      new WeakRef(now.metadata),
      new WeakRef(now.metadata.labels as object),
    );
  };
  const others = (count: number): void => {
    for (let i = 0; i < count; i++) tell(world, JSON.stringify(thing('other', i)));
  };
  for (const version of [1, 2, 3, 4]) tellOf('c', version);
  tellOf('a', 1);
  others(ENOUGH - 1);
  tellOf('b', 1); // takes the place of `a`, which is then replaced
  tellOf('a', 2);
  others(ENOUGH);
  expect(world.store.size()).toBe(4);
  expect(await left(told)).toBe(0);
});
