/** Where the decoder of bytes could say something else than the decoder of JSON, on documents that no server of today writes. */
import { describe, expect, test } from 'vitest';
import { type Decoder, jsonDecoder } from '../../bindings/cache/decoder.ts';
import { Indexer } from '../../bindings/cache/store.ts';
import { ByteStore, bytes, expected, type Thing, thing } from './byte-store.ts';

const text = JSON.stringify(thing('a', 1));
const other = JSON.stringify(thing('b', 2));

const ofBytes = (kind = expected): Decoder<Thing> =>
  new Indexer<Thing, never>(undefined, undefined, kind).decoder(kind);

describe.each([
  ['of JSON', jsonDecoder<Thing>],
  ['of bytes', ofBytes],
])('the decoder %s', (_, make) => {
  // The core knows `type` and `object` by their bytes. It told the decoder of other names that were written with an escape, which did not ask.
  test.each([
    [`{"type":"ADDED","object":${text},"obj\\u0065ct":${other}}`, 'ADDED', 'b'],
    [`{"type":"ADDED","object":${text},"typ\\u0065":"DELETED"}`, 'DELETED', 'a'],
    [`{"typ\\u0065":"DELETED","type":"ADDED","object":${text}}`, 'ADDED', 'a'],
    [`{"object":${other},"type":"DELETED","object":${text},"type":"MODIFIED"}`, 'MODIFIED', 'a'],
  ])('takes the last of the members of an event that have one name: %s', (event, type, name) => {
    const frames = make(expected).frames();
    frames.push(bytes(event));
    expect(frames.next()).toMatchObject({ type, object: { metadata: { name } } });
  });

  // A server that knows no metadata-only lists sends whole objects, whose items name no kind. On bytes they were taken for what had been asked.
  test.each(['{"kind":"PodList","items":[%]}', '{"items":[%],"kind":"PodList"}', '{"items":[%]}'])(
    'refuses a list of another kind where its kind is known: %s',
    (list) => {
      const page = make({ ...expected, listKind: 'ThingList' }).page();
      const read = (): object => {
        page.push(bytes(list.replace('%', '{"metadata":{"name":"a"}}')));
        return page.end();
      };
      expect(read).toThrow(expect.objectContaining({ code: 'DECODE', message: expect.stringContaining('ThingList') }));
    },
  );

  test('takes a list of the kind that is known, wherever it says so', () => {
    for (const list of ['{"kind":"ThingList","items":[]}', '{"items":[],"ki\\u006ed":"ThingList"}']) {
      const page = make({ ...expected, listKind: 'ThingList' }).page();
      page.push(bytes(list));
      expect(page.end().items).toEqual([]);
    }
  });

  // A read that was under way when its stream was closed brings bytes all the same. Those went to address 0 of the core's memory.
  test('drops what comes after a stream was closed, and gives nothing', () => {
    const decoder = make(expected);
    const frames = decoder.frames();
    frames.push(bytes('{"type":"ADDED",'));
    frames.close();
    frames.push(bytes(`{"type":"ADDED","object":${text}}`));
    frames.close();
    const page = decoder.page();
    page.push(bytes('{"items":['));
    page.close();
    page.push(bytes('{"items":[]}'));
    page.close();
    const next = decoder.frames();
    next.push(bytes(`{"type":"ADDED","object":${text}}`));
    expect(next.next()).toMatchObject({ type: 'ADDED' });
  });
});

test('a stream of bytes that was closed gives nothing, and its list has ended early', () => {
  const { frames, decoder } = new ByteStore();
  frames.push(bytes(`{"type":"ADDED","object":${text}}`));
  frames.close();
  frames.push(bytes(`{"type":"ADDED","object":${text}}`));
  expect(frames.next()).toBeUndefined();
  const page = decoder.page();
  page.close();
  page.push(bytes('{"items":[]}'));
  expect(() => page.end()).toThrow('ended early');
});
