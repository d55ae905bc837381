/**
 * Members whose bytes are those of the stored object are compared and not checked again (assembly/scan.ts endLikeStored). So damage is done here to updates of
 * an object that is stored, where the fuzz of decoders has none: what JSON.parse refuses is refused, and all else is what it gives.
 */
import { expect, test } from 'vitest';
import type { CapstanError } from '../../bindings/errors.ts';
import { Random, testSeed } from '../random.ts';
import { ByteStore, bytes } from './byte-store.ts';

const OBJECT =
  '{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a","namespace":"n"},"spec":{"l":[1,{"m":"x\\n"},[]],"n":"yé"},' +
  '"status":[{"o":true},{"p":{}}],"data":{"q":"{[\\"]}","r":null}}';
const BYTES = '{}[]",:\\ 1e-tfn\u0000'.split('');

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

test('an update that is damaged is judged as if nothing were stored', () => {
  const seed = testSeed();
  console.log(`test/cache/bytes-like-stored.test.ts: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  const store = new ByteStore();
  store.store.add(store.object(OBJECT));
  let taken = 0;
  for (let i = 0; i < 20_000; i++) {
    let text = OBJECT;
    for (let damage = random.int(3); damage > 0; damage--) {
      const at = random.int(text.length);
      const put = random.pick(BYTES);
      text = text.slice(0, at) + (random.chance(0.3) ? '' : put) + text.slice(at + random.int(3));
    }
    const frame = `{"type":"MODIFIED","object":${text}}\n`;
    const all = bytes(frame);
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
      // A Thing with a name is taken; anything else that parses is refused or left out for what it is.
      const { metadata } = (wanted ?? {}) as { metadata?: { name?: unknown; namespace?: unknown } };
      const named = typeof metadata?.name === 'string' && ['string', 'undefined'].includes(typeof metadata.namespace);
      if (named) throw new Error(`refused: ${frame}`, { cause: error });
    }
    if (got !== undefined && (got as { type: string }).type === 'MODIFIED') {
      taken++;
      if (wanted === undefined) throw new Error(`taken: ${frame}`);
      expect((got as { object: object }).object, frame).toStrictEqual(wanted);
    }
    frames.close();
    store.store.settle();
  }
  expect(taken).toBeGreaterThan(5_000);
});
