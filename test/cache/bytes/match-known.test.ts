/**
 * Members that are like those of the stored object are compared and checked only where they differ,
 * and managedFields like those of the object before (assembly/match-known.ts). So damage is done
 * here to updates of an object that is stored, where the fuzz of decoders has none: what JSON.parse
 * refuses is refused, and all else is what it gives.
 */
import { expect, test } from 'vitest';
import type { CapstanError } from '../../../bindings/base/errors.ts';
import { ByteStore, bytes, expected } from '../../helpers/cache/byte-store.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { asShown } from '../decode/shown-object.ts';

const OBJECT =
  '{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a","namespace":"n"},"spec":{"l":[1,{"m":"x\\n"},[]],"n":"yé"},' +
  '"status":[{"o":true},{"p":{}}],"data":{"q":"{[\\"]}","r":null}}';
/**
 * With what an update changes: times, counters, names, words; and text beyond ASCII and escapes
 * right beside it.
 */
const LIKE =
  '{"kind":"Thing","apiVersion":"v1","metadata":{"name":"b","namespace":"n","managedFields":[{"t":"10:00","n":-10.5e+3,"f":{"\\"k":{}}}],' +
  '"uid":"é0"},"spec":{"nodeName":"node-17","a":"10:00é","b":"é10:00","c":"\\u00e91","d":"1\\\\","e":{"true":true,"":[false,null,0]}},' +
  '"status":{"n":[0,-1,10,1.25,1e5,2E-7,10],"o":[true,true ,false],"p":"x","q":"日本 12","end":123}}';
const BYTES = '{}[]",:\\ 1e-tfn\u0000'.split('');

/** What an update may have in the place of another byte, and what it may not. */
const TEXTUAL = [...'0123456789-+.eEtrufalsn"\\ ,:']
  .map((c) => c.charCodeAt(0))
  .concat(0xc3, 0xa9, 0xe6, 0x80, 0xff, 0);

/** The first value of a text, which ends at the first brace where it is one. */
function firstValue(text: string): { object?: object } | undefined {
  for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}', end + 1)) {
    try {
      return JSON.parse(text.slice(0, end + 1)) as { object?: object };
    } catch {
      // not there yet
    }
  }
  return undefined;
}

/**
 * Gives updates of a stored object to a decoder, cut in two, and compares what it makes of each
 * with what JSON.parse does.
 */
function judge(object: string, runs: number, damaged: (random: Random) => Uint8Array): number {
  const seed = testSeed();
  console.log(`test/cache/bytes/match-known.test.ts: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  const store = new ByteStore();
  store.store.add(store.object(object));
  const text = new TextDecoder('utf-8', { ignoreBOM: true });
  let taken = 0;
  for (let i = 0; i < runs; i++) {
    const all = Buffer.concat([
      bytes('{"type":"MODIFIED","object":'),
      damaged(random),
      bytes('}\n'),
    ]);
    const frame = text.decode(all);
    const frames = store.decoder.frames();
    const cut = random.int(all.length);
    const wanted = firstValue(frame)?.object;
    let got: unknown;
    try {
      frames.push(all.subarray(0, cut));
      got = frames.next();
      frames.push(all.subarray(cut));
      got ??= frames.next();
    } catch (error) {
      if ((error as CapstanError).code !== 'DECODE') throw error;
      // A Thing with a name is taken; anything else that parses is refused or left out for what it
      // is.
      const { metadata } = (wanted ?? {}) as { metadata?: { name?: unknown; namespace?: unknown } };
      const named =
        typeof metadata?.name === 'string' &&
        ['string', 'undefined'].includes(typeof metadata.namespace);
      if (named) throw new Error(`refused: ${frame}`, { cause: error });
    }
    if (got !== undefined && (got as { type: string }).type === 'MODIFIED') {
      taken++;
      if (wanted === undefined) throw new Error(`taken: ${frame}`);
      delete (wanted as { metadata?: { managedFields?: unknown } }).metadata?.managedFields;
      expect((got as { object: object }).object, frame).toStrictEqual(asShown(wanted, expected));
    }
    frames.close();
    store.store.settle();
  }
  return taken;
}

test('an update that is damaged is judged as if nothing were stored', () => {
  const taken = judge(OBJECT, 20_000, (random) => {
    let text = OBJECT;
    for (let damage = random.int(3); damage > 0; damage--) {
      const at = random.int(text.length);
      const put = random.pick(BYTES);
      text = text.slice(0, at) + (random.chance(0.3) ? '' : put) + text.slice(at + random.int(3));
    }
    return bytes(text);
  });
  expect(taken).toBeGreaterThan(5_000);
});

test('an update with a few other bytes is decoded as without a stored object', () => {
  const taken = judge(LIKE, 30_000, (random) => {
    let all = bytes(LIKE);
    for (let changes = random.int(5); changes > 0; changes--) {
      const at = 100 + random.int(all.length - 100);
      const more = Uint8Array.from({ length: random.int(3) }, () => random.pick(TEXTUAL));
      all = Buffer.concat([all.subarray(0, at), more, all.subarray(at + random.int(3))]);
    }
    return all;
  });
  expect(taken).toBeGreaterThan(8_000);
});
