/**
 * Where the decoder of bytes could say something else than the decoder of JSON, on documents that
 * no server of today writes.
 */
import { describe, expect, test } from 'vitest';
import { type Decoder, jsonDecoder } from '../../../bindings/cache/decode/decoder.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';
import { ByteStore, bytes, expected, type Thing, thing } from '../../helpers/cache/byte-store.ts';

const text = JSON.stringify(thing('a', 1));
const other = JSON.stringify(thing('b', 2));

const ofBytes = (kind = expected): Decoder<Thing> =>
  new Indexer<Thing, never>(undefined, undefined, kind).decoder(kind);

describe.each([
  ['of JSON', jsonDecoder<Thing>],
  ['of bytes', ofBytes],
])('the decoder %s', (_, make) => {
  // The core knows `type` and `object` by their bytes. It told the decoder of other names that were
  // written with an escape, which did not ask.
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

  // A server that knows no metadata-only lists sends whole objects, whose items name no kind. On
  // bytes they were taken for what had been asked.
  test.each(['{"kind":"PodList","items":[%]}', '{"items":[%],"kind":"PodList"}', '{"items":[%]}'])(
    'refuses a list of another kind where its kind is known: %s',
    (list) => {
      const page = make({ ...expected, listKind: 'ThingList' }).page();
      const read = (): object => {
        page.push(bytes(list.replace('%', '{"metadata":{"name":"a"}}')));
        return page.end();
      };
      expect(read).toThrow(
        expect.objectContaining({ code: 'DECODE', message: expect.stringContaining('ThingList') }),
      );
    },
  );

  test('takes a list of the kind that is known, wherever it says so', () => {
    for (const list of [
      '{"kind":"ThingList","items":[]}',
      '{"items":[],"ki\\u006ed":"ThingList"}',
    ]) {
      const page = make({ ...expected, listKind: 'ThingList' }).page();
      page.push(bytes(list));
      expect(page.end().items).toEqual([]);
    }
  });

  // A read that was under way when its stream was closed brings bytes all the same. Those went to
  // address 0 of the core's memory.
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

const NAMED = '{"metadata":{"name":"a"}}';

const LISTS = [
  '{}',
  '[]',
  'null',
  `{"items":[${NAMED}],"items":null}`,
  `{"items":null,"items":[${NAMED}]}`,
  `{"items":[${NAMED}],"items":[${NAMED},${NAMED}]}`,
  `{"items":[],"items":{}}`,
  `{"metadata":{"resourceVersion":"1","continue":"c"},"items":[${NAMED}],"metadata":{"resourceVersion":"2"}}`,
  `{"items":[${NAMED}]}x`,
  `{"items":[${NAMED}]} \n`,
  `{"items":[${NAMED}]}{}`,
  `{"items":[null]}`,
  `{"items":[[]]}`,
  `{"items":[${NAMED},]}`,
  `{"items":[,${NAMED}]}`,
  `{"a":{"items":[1]},"items":[]}`,
  `{"items":[]`,
  `{"items":[${NAMED}`,
  `{"items":5}`,
  `{"items":"x"}`,
  `{"it\\u0065ms":[${NAMED}]}`,
  `{"items":[],"it\\u0065ms":[${NAMED}]}`,
  `{"metadata":null,"items":[]}`,
  `{"metadata":5,"items":[]}`,
  `{"__proto__":{"items":[]}}`,
  `{"items":[{"metadata":{"name":"a","namespace":null}}]}`,
  `{"items":[{"metadata":{"name":5}}]}`,
  `{"items":[{}]}`,
  ' \n{ "items" : [ ] }',
  `{"items":[${NAMED}],}`,
  `{"items":[${NAMED}],"x"}`,
  `{"items":[${NAMED}] "x":1}`,
  `{"x":01,"items":[]}`,
  `{"x":-,"items":[]}`,
  `{"x":1`,
  `{"x":tru`,
  `{"items":[],"x":tru}`,
];

const EVENTS = [
  '{"type":"ADDED","object":null}',
  '{"type":"ADDED","object":[]}',
  '{"type":"ADDED"}',
  '{"object":{}}',
  '{}',
  '[]',
  '""',
  '5',
  'null',
  `{"type":"ADDED","object":${NAMED}}}`,
  `{"type":"ADDED","object":${NAMED},"object":null}`,
  `{"type":"ADDED","object":null,"object":${NAMED}}`,
  `{"type":5,"object":${NAMED}}`,
  `{"type":"ADDED","type":null,"object":${NAMED}}`,
  `{"type":"added","object":${NAMED}}`,
  `{"type":"\\u0041DDED","object":${NAMED}}`,
  `{"type":"ADDED","object":{"kind":"Thing","apiVersion":"v1","kind":"Other","metadata":{"name":"x"}}}`,
  `{"type":"ADDED","object":{"kind":null,"metadata":{"name":"x"}}}`,
  `{"type":"ADDED","object":{"kind":"","metadata":{"name":"x"}}}`,
  `{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":5}}}`,
  `{"type":"ADDED","object":{"metadata":{"name":"x","namespace":""}}}`,
  `{"type":"DELETED","object":{"metadata":{"name":"x","metadata":{"name":"y"}},"metadata":5}}`,
  `{"type":"ADDED","object":{"metadata":{"name":""}}}`,
  `{"type":"BOOKMARK","object":{}}`,
  `{"type":"BOOKMARK","object":{"metadata":{"name":"x","resourceVersion":"4"}}}`,
  `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"code":410}}`,
  `{"type":"ERROR","object":${NAMED}}`,
  `{"type":"ADDED","object":${NAMED}} {"type":"DELETED","object":${NAMED}}`,
  `{"type":"ADDED","object":${NAMED}},`,
  `\u0000{"type":"ADDED","object":${NAMED}}`,
  `{"type":"ADDED","object":{"metadata":{"name":"x","managedFields":[1],"managedFields":[2]}}}`,
];

/** The text in two parts, or byte by byte. */
function* parts(text: string, cut: number): Generator<Uint8Array> {
  const all = bytes(text);
  if (cut === 0) for (let i = 0; i < all.length; i++) yield all.subarray(i, i + 1);
  else for (const part of [all.subarray(0, cut), new Uint8Array(0), all.subarray(cut)]) yield part;
}

/** As JSON, without the managedFields that one of the decoders leaves out; the code of an error. */
function told(read: (tell: (what: unknown) => void) => void): string {
  const seen: string[] = [];
  const tell = (what: unknown): void => {
    seen.push(
      JSON.stringify(what, (name, value: unknown) =>
        name === 'managedFields' ? undefined : value,
      ),
    );
  };
  try {
    read(tell);
  } catch (error) {
    seen.push(String((error as { code?: string }).code));
  }
  return seen.join(' ');
}

describe.each([0, 1, 3, 20, 1000])(
  'both decoders say the same, of bytes that are cut at %i',
  (cut) => {
    test.each(LISTS)('of the list %s', (list) => {
      const [json, byBytes] = [jsonDecoder<Thing>(expected), ofBytes()].map((decoder) =>
        told((tell) => {
          const page = decoder.page();
          for (const part of parts(list, cut)) page.push(part);
          tell(page.end());
        }),
      );
      expect(byBytes).toBe(json);
    });

    test.each(EVENTS)('of the events %s', (events) => {
      const [json, byBytes] = [jsonDecoder<Thing>(expected), ofBytes()].map((decoder) =>
        told((tell) => {
          const frames = decoder.frames();
          for (const part of parts(events, cut)) {
            frames.push(part);
            for (let frame = frames.next(); frame !== undefined; frame = frames.next()) tell(frame);
          }
        }),
      );
      expect(byBytes).toBe(json);
    });
  },
);

// The core knows types by their length and their words of eight bytes.
test('a type of event is known by every letter', () => {
  const of = (decoder: Decoder<Thing>, type: string): string =>
    told((tell) => {
      const frames = decoder.frames();
      frames.push(
        bytes(`{"type":"${type}","object":{"metadata":{"name":"a","resourceVersion":"4"}}}`),
      );
      tell(frames.next());
    });
  for (const type of ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']) {
    const others = Array.from(type, (_, i) => `${type.slice(0, i)}X${type.slice(i + 1)}`);
    for (const each of [type, ...others, 'X'.repeat(type.length), type.slice(1), `${type}S`])
      expect(of(ofBytes(), each), each).toBe(of(jsonDecoder<Thing>(expected), each));
  }
});

// The quote went on behind the bytes that had come, into what the stream had held before: with a
// frame that was cut, a Secret of another event stood in the log.
test('a decode error quotes bytes of its own line only, and none of a Secret', () => {
  const told = (kind: string): string[] => {
    const frames = ofBytes({ apiVersion: 'v1', kind }).frames();
    const said = (text: string): string => {
      frames.push(bytes(text));
      try {
        while (frames.next() !== undefined);
        return 'nothing';
      } catch (error) {
        return (error as Error).message;
      }
    };
    const event = (value: string) =>
      `{"type":"ADDED","object":{"apiVersion":"v1","kind":"${kind}","metadata":{"name":"a"},"data":{"k":"${value}"}}}\n`;
    for (let i = 0; i < 50; i++) expect(said(event('hunter2'.repeat(40)))).toBe('nothing');
    return [said(`${event('v').replace('"v"', 'oops')}${event('hunter2')}`)];
  };
  expect(told('ConfigMap')).toEqual([
    'a watch of v1 ConfigMap: not JSON, near ' +
      '"ata\\":{\\"name\\":\\"a\\"},\\"data\\":{\\"k\\":oops}}}"',
  ]);
  for (const kind of ['Secret', 'PartialObjectMetadata'])
    expect(told(kind)).toEqual([`a watch of v1 ${kind}: not JSON, near what is not said here`]);
});

test('the end of what has come ends the quote, too', () => {
  const frames = ofBytes({ apiVersion: 'v1', kind: 'ConfigMap' }).frames();
  const [metadata, a] = [{ name: 'a' }, 'hunter2'.repeat(40)];
  frames.push(
    bytes(
      `${JSON.stringify({
        type: 'ADDED',
        object: { apiVersion: 'v1', kind: 'ConfigMap', metadata, a },
      })}\n`,
    ),
  );
  frames.next();
  frames.push(bytes('{"type":"ADDED","object":{"a":oops, and so on'));
  expect(() => frames.next()).toThrow(
    /near "\{\\"type\\":\\"ADDED\\",\\"object\\":\{\\"a\\":oops, and so on"$/,
  );
});
