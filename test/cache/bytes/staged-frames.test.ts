/**
 * An event with a plain object in it is scanned, staged and taken in one call into the core; where
 * objects are cut, counted or listed it takes several. Whichever way an event goes, the same frames
 * and the same errors come out, and they are those of the decoder that parses every event. The seed
 * is printed.
 */
import assert from 'node:assert/strict';
import { describe, expect, test } from 'vitest';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { storedObjectOf } from '../../../bindings/cache/bytes/lazy.ts';
import {
  type Frame,
  type FrameReader,
  jsonDecoder,
} from '../../../bindings/cache/decode/decoder.ts';
import type { DecoderOptions } from '../../../bindings/cache/decode/limits.ts';
import { ByteStore, bytes, expected, type Thing } from '../../helpers/cache/byte-store.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { RandomDocuments } from '../decode/documents.ts';

const seed = testSeed();
console.log(`test/cache/bytes/staged-frames.test.ts: CAPSTAN_SEED=${seed}`);

/** A way of events through the decoder of a store. */
interface Way {
  readonly world: ByteStore;
  open(): FrameReader<Thing>;
  /** Between two readers: nothing of what they gave is kept. */
  settle(): void;
}

function way(options: DecoderOptions & { maxBytes?: number }, gather = false): Way {
  const world = new ByteStore();
  const decoder = world.store.decoder(expected, options);
  const begin = (): void => {
    decoder.gather(false);
    world.store.settle();
    decoder.gather(gather);
  };
  begin();
  return { world, open: () => decoder.frames(), settle: begin };
}

const ways = (): Record<string, Way> => ({
  'in one call': way({}),
  'with what is dropped': way({ drop: ['nothing.of.this'] }),
  'with a budget': way({ maxBytes: 2 ** 30 }),
  'while a list is collected': way({}, true),
});

/** What came of it, in words that can be compared. */
type Outcome = readonly unknown[];

const shown = (frame: Frame<Thing>): unknown =>
  'object' in frame ? [frame.type, frame.resourceVersion, JSON.stringify(frame.object)] : frame;

/**
 * All frames of the parts, and the error that ended them; whether their objects are bytes beside
 * it.
 */
function read(
  reader: FrameReader<Thing>,
  parts: readonly Uint8Array[],
): { outcome: Outcome; kept: boolean[] } {
  const outcome: unknown[] = [];
  const kept: boolean[] = [];
  try {
    for (const part of parts) {
      reader.push(part.slice());
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
        outcome.push(shown(frame));
        if ('object' in frame) {
          kept.push(storedObjectOf(frame.object) !== undefined);
          assert.ok(Object.isFrozen(frame.object));
        }
      }
    }
  } catch (error) {
    if (!(error instanceof CapstanError)) throw error;
    outcome.push([error.code, error.message]);
  } finally {
    reader.close();
  }
  return { outcome, kept };
}

/**
 * The same of the decoder that parses everything; its errors read otherwise, so that only their
 * code is compared.
 */
function readParsed(all: Uint8Array): Outcome {
  const reader = jsonDecoder<Thing>(expected, { keepManagedFields: false }).frames();
  const outcome: unknown[] = [];
  try {
    reader.push(all);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next())
      outcome.push(shown(frame));
  } catch (error) {
    outcome.push([(error as CapstanError).code]);
  }
  return outcome;
}

const withoutMessages = (outcome: Outcome): Outcome =>
  outcome.map((each) => (Array.isArray(each) && each.length === 2 ? [each[0]] : each));

const LARGE = `{"a":"${'x'.repeat(260)}","b":[{"c":1}]}`;
const meta = (more = ''): string =>
  `"metadata":{"name":"a","namespace":"n","resourceVersion":"17"${more}}`;
const event = (type: string, object: string): string => `{"type":"${type}","object":${object}}`;
const good = `{"kind":"Thing","apiVersion":"v1",${meta()},"spec":{"x":1}}`;

const texts: Record<string, string> = {
  addition: event('ADDED', good),
  update: event('MODIFIED', good),
  deletion: event('DELETED', good),
  'large spec': event('ADDED', `{"kind":"Thing","apiVersion":"v1",${meta()},"spec":${LARGE}}`),
  'large spec beyond ASCII': event('ADDED', `{${meta()},"spec":${LARGE.replace('x', 'é')}}`),
  'object first': `{"object":${good},"type":"MODIFIED"}`,
  'more members': `{"a":1,"type":"MODIFIED","b":[{"object":2}],"object":${good},"c":{"type":"DELETED","object":{}}}`,
  'space everywhere':
    ' { \n"type" : "ADDED"\t,\r"object" : ' +
    `${good.replaceAll(',', ' , ').replaceAll(':', ' : ')} } \n `,
  'object twice': `{"type":"ADDED","object":${good.replace('"a"', '"b"')},"object":${good}}`,
  'object twice, the last is none': `{"type":"ADDED","object":${good},"object":1}`,
  'object twice, the first is none': `{"type":"ADDED","object":1,"object":${good}}`,
  'object twice, the last is of another kind': `{"type":"ADDED","object":${good},"object":{"kind":"Other",${meta()}}}`,
  'object twice, the first is of another kind': `{"type":"ADDED","object":{"kind":"Other",${meta()}},"object":${good}}`,
  'type twice': `{"type":"ADDED","object":${good},"type":"DELETED"}`,
  'type twice, the last is none': `{"type":"ADDED","object":${good},"type":1}`,
  'type in an escape': `{"typ\\u0065":"ADDED","object":${good}}`,
  'type that is another in an escape': `{"type":"ADDED","object":${good},"typ\\u0065":"DELETED"}`,
  'object that is another in an escape': `{"type":"ADDED","object":${good},"\\u006fbject":{"kind":"Other",${meta()}}}`,
  'type whose text is an escape': event('\\u0041DDED', good),
  'no type': `{"object":${good}}`,
  'no object': '{"type":"ADDED"}',
  'an object that is none': event('ADDED', '[1]'),
  'an object that is empty': event('ADDED', '{}'),
  'an unknown type': event('PATCHED', good),
  'a type that goes on': event('ADDEDX', good),
  'a type in small letters': event('added', good),
  bookmark: event(
    'BOOKMARK',
    `{"kind":"Thing","apiVersion":"v1","metadata":{"resourceVersion":"18"}}`,
  ),
  'bookmark with an object in it': event('BOOKMARK', good),
  'end of the initial events': event(
    'BOOKMARK',
    '{"kind":"Thing","metadata":{"resourceVersion":"18","annotations":{"k8s.io/initial-events-end":"true"}}}',
  ),
  'an error': event(
    'ERROR',
    '{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired","message":"too old"}',
  ),
  'an error that is none': event('ERROR', good),
  'another kind': event('ADDED', good.replace('"Thing"', '"Other"')),
  'a kind that is longer': event('ADDED', good.replace('"Thing"', '"Things"')),
  'a kind that is shorter': event('ADDED', good.replace('"Thing"', '"Thin"')),
  'a kind of other letters': event('ADDED', good.replace('"Thing"', '"thing"')),
  'a kind in an escape': event('ADDED', good.replace('"Thing"', '"Th\\u0069ng"')),
  'a kind that is no text': event('ADDED', good.replace('"Thing"', '1234567')),
  'a kind of null': event('ADDED', good.replace('"Thing"', 'null')),
  'a kind that is empty': event('ADDED', good.replace('"Thing"', '""')),
  'a kind of 2000 letters': event('ADDED', good.replace('"Thing"', `"${'Thing'.repeat(400)}"`)),
  'no kind': event('ADDED', good.replace('"kind":"Thing",', '')),
  'another version': event('ADDED', good.replace('"v1"', '"v2"')),
  'a longer version': event('ADDED', good.replace('"v1"', '"example.com/v1"')),
  'no version': event('ADDED', good.replace('"apiVersion":"v1",', '')),
  'neither kind nor version': event('ADDED', `{${meta()}}`),
  'kind twice': event('ADDED', good.replace('"spec"', '"kind":"Thing","spec"')),
  'kind twice, the last is another': event(
    'ADDED',
    good.replace('"spec"', '"kind":"Other","spec"'),
  ),
  'kind twice, the first is another': event('ADDED', `{"kind":"Other",${good.slice(1)}`),
  'no name': event('ADDED', '{"metadata":{"namespace":"n"}}'),
  'a name that is no text': event('ADDED', '{"metadata":{"name":1}}'),
  'a namespace that is no text': event('ADDED', '{"metadata":{"name":"a","namespace":1}}'),
  'a namespace of null': event('ADDED', '{"metadata":{"name":"a","namespace":null}}'),
  'no resourceVersion': event('ADDED', '{"metadata":{"name":"a"}}'),
  'a resourceVersion that is no text': event(
    'ADDED',
    '{"metadata":{"name":"a","resourceVersion":17}}',
  ),
  'a resourceVersion in an escape': event(
    'ADDED',
    '{"metadata":{"name":"a","resourceVersion":"1\\u0037é"}}',
  ),
  'a resourceVersion of 60 digits': event(
    'ADDED',
    `{"metadata":{"name":"a","resourceVersion":"${'1234567890'.repeat(6)}"}}`,
  ),
  'managedFields first': event(
    'ADDED',
    `{"metadata":{"managedFields":[{"a":"}"}],"name":"a"},"spec":${LARGE}}`,
  ),
  'managedFields last': event(
    'ADDED',
    `{"metadata":{"name":"a" , "managedFields" : [{"a":"é"}] },"spec":${LARGE}}`,
  ),
  'managedFields twice': event(
    'ADDED',
    '{"metadata":{"name":"a","managedFields":[],"managedFields":[1]}}',
  ),
  'a member twice': event('ADDED', good.replace('"spec"', '"spec":2,"spec"')),
  'an escape in a name': event('ADDED', good.replace('"spec"', '"sp\\u0065c"')),
  'an own __proto__': event('ADDED', good.replace('"spec"', '"__proto__"')),
  'more than 64 members': event(
    'ADDED',
    `{${meta()},${Array.from({ length: 70 }, (_, i) => `"m${i}":${i}`).join(',')}}`,
  ),
  'no JSON': event('ADDED', good.replace('"x":1', '"x":01')),
  'no JSON around it': `{"type":"ADDED","object":${good},}`,
  'brackets that cross': event('ADDED', good.replace('{"x":1}', '[{"x":1]}')),
};

describe.each(Object.entries(texts))('%s', (_, text) => {
  test('comes out the same whichever way it goes, cut at every byte', () => {
    const before = event('ADDED', good.replace('"a"', '"before"'));
    const after = event('DELETED', good.replace('"a"', '"after"'));
    const all = bytes(`${before}\n${text}\n${after}\n`);
    const parsed = readParsed(all);
    for (const [name, { open, settle, world }] of Object.entries(ways())) {
      const whole = read(open(), [all]);
      assert.deepEqual(withoutMessages(whole.outcome), parsed, name);
      settle();
      const cuts = Math.min(all.length, 1200);
      for (let cut = 0; cut <= cuts; cut++) {
        const got = read(open(), [all.subarray(0, cut), all.subarray(cut)]);
        // How much of a bad text has come when it is found bad is seen in the message.
        assert.deepEqual(withoutMessages(got.outcome), parsed, `${name}, cut at ${cut}`);
        assert.deepEqual(got.kept, whole.kept, `${name}, cut at ${cut}: kept as bytes`);
        settle();
        if (name !== 'while a list is collected')
          assert.equal(world.store.bytes().live, 0, `${name}, cut at ${cut}`);
      }
    }
  });

  test('is kept as bytes or refused in the same way on both paths', () => {
    const all = bytes(`${text}\n`);
    const [first, ...others] = Object.values(ways()).map(({ open }) => read(open(), [all]));
    for (const other of others) assert.deepEqual(other, first);
  });
});

test('random events, damaged ones among them, come out the same whichever way they go', () => {
  const documents = new RandomDocuments(new Random(seed));
  const { random } = documents;
  let all = ways();
  const seen = { frames: 0, kept: 0, errors: 0 };
  for (let i = 0; i < 1500; i++) {
    // names of members are kept for ever, and those of random ones are many
    if (i % 100 === 0) all = ways();
    const some = Array.from({ length: 1 + random.int(4) }, (_, n) => {
      const object = documents
        .object(random.int(8), { name: `n${n}`, version: String(i) })
        .replace(/"ConfigMap"/g, random.chance(0.95) ? '"Thing"' : '"Things"');
      return documents.event(random.pick(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']), object);
    });
    const joined = bytes(`${some.join('\n')}\n`);
    const text = random.chance(0.5) ? documents.mutated(joined) : joined;
    const cut = random.int(text.length + 1);
    const parts = [text.subarray(0, cut), text.subarray(cut)];
    const [first, ...others] = Object.values(all).map(({ open, settle }) => {
      const got = read(open(), parts);
      settle();
      return got;
    });
    for (const other of others) assert.deepEqual(other, first, new TextDecoder().decode(text));
    const { outcome = [], kept = [] } = first ?? {};
    seen.frames += outcome.length;
    seen.kept += kept.filter(Boolean).length;
    if (withoutMessages(outcome).some((each) => Array.isArray(each) && each.length === 1))
      seen.errors++;
    if (text === joined) assert.deepEqual(withoutMessages(outcome), readParsed(joined));
  }
  console.log(`1500 streams: ${JSON.stringify(seen)}`);
  expect(seen.kept).toBeGreaterThan(200);
  expect(seen.errors).toBeGreaterThan(200);
});

test('a reader changes its path when a list is collected, also within an event', () => {
  const world = new ByteStore();
  const reader = world.decoder.frames();
  const got: unknown[] = [];
  const wanted: unknown[] = [];
  for (let i = 0; i < 300; i++) {
    const text = event('MODIFIED', good.replace('"a"', `"a${i % 7}"`).replace('"17"', `"${i}"`));
    const all = bytes(text);
    const cut = (i * 13) % all.length;
    reader.push(all.subarray(0, cut));
    assert.equal(reader.next(), undefined);
    world.decoder.gather(i % 3 === 0);
    reader.push(all.subarray(cut));
    const frame = reader.next() as { object: Thing };
    got.push(shown(frame as Frame<Thing>));
    wanted.push([
      'MODIFIED',
      String(i),
      JSON.stringify((JSON.parse(text) as { object: Thing }).object),
    ]);
    if (i % 2 === 0) world.store.exchange(frame.object, i % 4 === 0);
  }
  assert.deepEqual(got, wanted);
  expect(world.store.size()).toBe(7);
  world.decoder.gather(false);
  world.store.settle();
  world.store.replace([], '');
  expect(world.store.bytes().live).toBe(0);
});

// Names of a kind that have no room in the core are compared with nothing there: no object may be
// taken for one of them.
test.each([
  ['kind', { apiVersion: 'v1', kind: 'K'.repeat(1100) }],
  ['apiVersion', { apiVersion: 'g'.repeat(1100), kind: 'Thing' }],
  ['kind that just fits', { apiVersion: 'v1', kind: 'K'.repeat(1022) }],
  ['kind beyond ASCII', { apiVersion: 'v1', kind: 'Küche"' }],
])('objects of a very long or odd %s are theirs, and those of others are foreign', (_, kind) => {
  const world = new ByteStore();
  const decoder = world.store.decoder(kind);
  const reader = decoder.frames();
  const object = { ...kind, metadata: { name: 'a' }, spec: 1 };
  for (const [of, type] of [
    [object, 'ADDED'],
    [{ ...object, kind: undefined, apiVersion: undefined }, 'ADDED'],
    [{ ...object, kind: undefined }, 'ADDED'],
    [{ ...object, kind: `${kind.kind}x` }, 'foreign'],
    [{ ...object, kind: kind.kind.slice(1) }, 'foreign'],
    [{ ...object, kind: '' }, 'foreign'],
    [{ ...object, apiVersion: 'v' }, 'foreign'],
  ] as const) {
    reader.push(bytes(event('ADDED', JSON.stringify(of))));
    expect(reader.next()?.type).toBe(type);
  }
});
