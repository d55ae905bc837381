/**
 * Decoded objects equal those of JSON.parse for the same bytes, wherever the network split them;
 * bytes that JSON.parse rejects are a DECODE error and never an object. Random documents; the seed
 * is printed.
 */

import { CapstanError } from 'capstan/workqueue';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../bindings/base/object.ts';
import type { Decoder } from '../../../bindings/cache/decode/decoder.ts';
import { decoders, expectedKind } from '../../helpers/cache/decoders.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { RandomDocuments } from './documents.ts';
import { expectReadOnly, expectSameAsParsed } from './same-as-parsed.ts';
import { asShown } from './shown-object.ts';

const seed = testSeed();
console.log(`as parsed: CAPSTAN_SEED=${seed}`);

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
/** Decodes the bytes as a whole: invalid UTF-8 becomes U+FFFD, a byte order mark stays. */
const textOf = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes) !== undefined;
  } catch {
    return false;
  }
};

/** The first decoded object, `undefined` if more bytes are needed, or the code of the error. */
type Outcome = { object: KubeObject } | { error: string } | undefined;

function readFrame(decoder: Decoder<KubeObject>, parts: readonly Uint8Array[]): Outcome {
  const reader = decoder.frames();
  try {
    for (const part of parts) {
      // a copy, as the memory of a chunk is reused
      reader.push(part.slice());
      const frame = reader.next();
      if (frame === undefined) continue;
      if (!('object' in frame)) return { error: frame.type };
      return { object: frame.object };
    }
    return undefined;
  } catch (error) {
    if (error instanceof CapstanError) return { error: error.code };
    throw error;
  } finally {
    reader.close();
  }
}

function readPage(
  decoder: Decoder<KubeObject>,
  parts: readonly Uint8Array[],
): { items: KubeObject[] } | { error: string } {
  const reader = decoder.page();
  try {
    for (const part of parts) reader.push(part.slice());
    return { items: reader.end().items };
  } catch (error) {
    if (error instanceof CapstanError) return { error: error.code };
    throw error;
  } finally {
    reader.close();
  }
}

const cutAt = (bytes: Uint8Array, at: number): Uint8Array[] => [
  bytes.subarray(0, at),
  bytes.subarray(at),
];
const byteByByte = (bytes: Uint8Array): Uint8Array[] =>
  Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));

function cutAnywhere(bytes: Uint8Array, random: Random): Uint8Array[] {
  const cuts = Array.from({ length: random.int(6) }, () => random.int(bytes.length + 1)).sort(
    (a, b) => a - b,
  );
  return [...cuts, bytes.length].map((to, i) => bytes.subarray(i === 0 ? 0 : cuts[i - 1], to));
}

/** The message of a failed assertion has the bytes. */
function about(bytes: Uint8Array, judge: () => void): void {
  try {
    judge();
  } catch (cause) {
    const latin = Buffer.from(bytes).toString('latin1');
    throw new Error(`${(cause as Error).message}\n  of ${JSON.stringify(latin)} (as Latin-1)`, {
      cause,
    });
  }
}

function objectIn(outcome: Outcome): KubeObject {
  if (outcome === undefined || !('object' in outcome))
    throw new Error(`expected an object, got ${outcome?.error}`);
  return outcome.object;
}

describe.each(decoders)('an object of the decoder $name', ({ make, readOnly }) => {
  const documents = () => new RandomDocuments(new Random(seed));
  const sameAsParsed = (object: KubeObject, parsed: unknown): void => {
    expectSameAsParsed(object, parsed);
    if (readOnly) expectReadOnly(object);
    expectSameAsParsed(object, parsed); // after it was looked at in every way
  };

  it('is as parsed, at every split of a small document', () => {
    const some = documents();
    for (let i = 0; i < 60; i++) {
      const bytes = bytesOf(some.event('MODIFIED', some.object(1, { depth: 1 })));
      const parsed = shownOf((JSON.parse(textOf(bytes)) as { object: unknown }).object);
      about(bytes, () => {
        sameAsParsed(objectIn(readFrame(make(), [bytes])), parsed);
        sameAsParsed(objectIn(readFrame(make(), byteByByte(bytes))), parsed);
        const json = JSON.stringify(parsed);
        for (let at = 0; at <= bytes.length; at++) {
          const got = JSON.stringify(objectIn(readFrame(make(), cutAt(bytes, at))));
          if (got !== json) throw new Error(`split at ${at}: ${got}`);
        }
      });
    }
  });

  it('is as parsed, at random splits of large documents', () => {
    const some = documents();
    for (let i = 0; i < 100; i++) {
      const bytes = bytesOf(some.event('ADDED', some.object(4 + some.random.int(20))));
      const parsed = shownOf((JSON.parse(textOf(bytes)) as { object: unknown }).object);
      about(bytes, () => {
        sameAsParsed(objectIn(readFrame(make(), cutAnywhere(bytes, some.random))), parsed);
        for (let n = 0; n < 5; n++) {
          const got = objectIn(readFrame(make(), cutAnywhere(bytes, some.random)));
          expect(JSON.stringify(got)).toBe(JSON.stringify(parsed));
        }
      });
    }
  });

  it('is as parsed in whatever order its members are read', () => {
    const some = documents();
    for (let i = 0; i < 100; i++) {
      const bytes = bytesOf(some.event('ADDED', some.object(6)));
      const parsed = shownOf(
        (JSON.parse(textOf(bytes)) as { object: Record<string, unknown> }).object,
      );
      about(bytes, () => {
        const object = objectIn(readFrame(make(), [bytes])) as Record<string, unknown>;
        const names = Object.keys(parsed);
        for (let n = 0; n < 3; n++) {
          const name = some.random.pick(names);
          expectSameAsParsed(object[name], parsed[name]);
        }
        expectSameAsParsed(object, parsed);
      });
    }
  });

  it('is decoded one after the other, whatever white space is between them', () => {
    const some = documents();
    for (let i = 0; i < 60; i++) {
      const texts = Array.from({ length: 1 + some.random.int(6) }, () =>
        some.event('ADDED', some.object(2)),
      );
      const bytes = bytesOf(
        texts.map((text) => text + some.random.pick(['\n', '', '\r\n', ' \n\n'])).join(''),
      );
      about(bytes, () => {
        const reader = make().frames();
        const got: unknown[] = [];
        for (const part of cutAnywhere(bytes, some.random)) {
          reader.push(part.slice());
          for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
            if ('object' in frame) got.push(frame.object);
          }
        }
        expect(got.length).toBe(texts.length);
        for (const [n, text] of texts.entries())
          expectSameAsParsed(got[n], shownOf(JSON.parse(text).object));
        reader.close();
        for (const [n, text] of texts.entries())
          expectSameAsParsed(got[n], shownOf(JSON.parse(text).object));
      });
    }
  });

  it('is as parsed in a list, at every split of a small one and at random splits', () => {
    const some = documents();
    for (let i = 0; i < 40; i++) {
      const small = i < 20;
      const objects = Array.from({ length: small ? 2 : 20 }, (_, n) =>
        some.object(small ? 1 : 5, { name: `n${n}` }),
      );
      const bytes = bytesOf(some.list(objects, '9'));
      const parsed = (JSON.parse(textOf(bytes)) as { items: unknown[] }).items.map(shownOf);
      const items = (parts: Uint8Array[]): KubeObject[] => {
        const page = readPage(make(), parts);
        if ('error' in page) throw new Error(`expected a page, got ${page.error}`);
        return page.items;
      };
      about(bytes, () => {
        const whole = items([bytes]);
        expect(whole.length).toBe(parsed.length);
        for (const [n, item] of whole.entries()) sameAsParsed(item, parsed[n]);
        const cuts = small
          ? Array.from(bytes, (_, at) => cutAt(bytes, at))
          : [cutAnywhere(bytes, some.random)];
        const json = JSON.stringify(parsed);
        for (const [n, parts] of cuts.entries()) {
          const got = JSON.stringify(items(parts));
          if (got !== json) throw new Error(`split ${n}: ${got}`);
        }
      });
    }
  });

  it('nests as deep as parsed', () => {
    const some = documents();
    for (const levels of [1, 2, 63, 64, 65, 500, 2000]) {
      const text = `{"type":"ADDED","object":{"metadata":{"name":"n"},"spec":${some.nested(levels)}}}`;
      const object = objectIn(readFrame(make(), [bytesOf(text)]));
      expect(JSON.stringify(object), `${levels} levels`).toBe(
        JSON.stringify(shownOf(JSON.parse(text).object)),
      );
    }
  });

  it('has the last of two members with one name, however the name is escaped', () => {
    for (const [text, expected] of [
      ['{"metadata":{"name":"a"},"x":1,"x":2}', { metadata: { name: 'a' }, x: 2 }],
      ['{"x":1,"metadata":{"name":"a"},"\\u0078":2}', { x: 2, metadata: { name: 'a' } }],
      ['{"metadata":{"name":"a"},"metadata":{"name":"b"}}', { metadata: { name: 'b' } }],
      ['{"metadata":{"name":"a"},"m\\u0065tadata":{"name":"b"}}', { metadata: { name: 'b' } }],
      ['{"metadata":{"name":"a","n\\u0061me":"b"}}', { metadata: { name: 'b' } }],
      ['{"metadata":1,"metadata":{"name":"b","name":"c"}}', { metadata: { name: 'c' } }],
    ] as const) {
      sameAsParsed(
        objectIn(readFrame(make(), [bytesOf(`{"type":"ADDED","object":${text}}`)])),
        shownOf(expected),
      );
    }
  });

  it('has the resourceVersion of its own metadata', () => {
    for (const text of [
      '{"metadata":{"name":"a","resourceVersion":"1","resourceVersi\\u006fn":"2\\u0030"}}',
    ]) {
      const reader = make().frames();
      reader.push(bytesOf(`{"type":"ADDED","object":${text}}`));
      expect(reader.next()).toMatchObject({ type: 'ADDED', resourceVersion: '20' });
      reader.close();
    }
  });
});

describe.each(decoders)('bytes that are not JSON, in the decoder $name', ({ make }) => {
  it('give no object in a watch: an error, or nothing while more bytes could complete it', () => {
    const some = new RandomDocuments(new Random(seed));
    const seen = { object: 0, error: 0, nothing: 0 };
    for (let i = 0; i < 1000; i++) {
      const bytes = some.mutated(bytesOf(some.event('ADDED', some.object(1, { depth: 2 }))));
      about(bytes, () => {
        const outcome = readFrame(make(), cutAnywhere(bytes, some.random));
        const whole = readFrame(make(), [bytes]);
        // An unterminated string may be detected now or with more bytes; the test accepts both.
        const objects = [outcome, whole].map((one) =>
          one !== undefined && 'object' in one ? shown(one) : 'none',
        );
        expect(objects[0], 'the same however it was cut').toEqual(objects[1]);
        seen[outcome === undefined ? 'nothing' : 'error' in outcome ? 'error' : 'object']++;
        const parsed = firstValue(bytes);
        if (outcome === undefined) expect(parsed, 'a complete value gave nothing').toBe(undefined);
        else if ('object' in outcome)
          expectSameAsParsed(outcome.object, shownOf((parsed as { object: unknown }).object));
        else expect(['DECODE', 'foreign', 'ERROR', 'BOOKMARK']).toContain(outcome.error);
        if (parsed !== undefined && isUtf8(bytes) && isEvent(parsed))
          expect(outcome).toHaveProperty('object');
      });
    }
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(10);
  });

  it('give no page: an error exactly if JSON.parse fails or it is not a list', () => {
    const some = new RandomDocuments(new Random(seed));
    for (let i = 0; i < 1000; i++) {
      const bytes = some.mutated(
        bytesOf(some.list([some.object(1, { depth: 2 }), some.object(0)], '9')),
      );
      about(bytes, () => {
        const page = readPage(make(), cutAnywhere(bytes, some.random));
        const parsed = parse(textOf(bytes)) as { items?: unknown } | undefined;
        if ('error' in page) {
          expect(page.error).toBe('DECODE');
          if (isUtf8(bytes)) expect(isList(parsed), 'a good list was refused').toBe(false);
        } else {
          expect(parsed, 'what JSON.parse refuses was taken').not.toBe(undefined);
          expectSameAsParsed(page.items, ((parsed?.items ?? []) as unknown[]).map(shownOf));
        }
      });
    }
  });

  it('with two members items give an error, or the page of the last one', () => {
    const [first, last] = ['{"metadata":{"name":"a"}}', '{"metadata":{"name":"b"}}'];
    for (const before of ['1', '[]', `[${first}]`]) {
      const bytes = bytesOf(
        `{"items":${before},"metadata":{"resourceVersion":"1"},"items":[${last}]}`,
      );
      for (let at = 0; at <= bytes.length; at++) {
        const page = readPage(make(), cutAt(bytes, at));
        if ('error' in page) expect(page).toEqual({ error: 'DECODE' });
        else expectSameAsParsed(page.items, [shownOf(JSON.parse(last))]);
      }
    }
  });

  it('are refused with a byte order mark', () => {
    const event = bytesOf('\ufeff{"type":"ADDED","object":{"metadata":{"name":"a"}}}');
    for (let at = 0; at <= event.length; at++)
      expect(readFrame(make(), cutAt(event, at))).toEqual({ error: 'DECODE' });
    const list = bytesOf('\ufeff{"items":[],"metadata":{"resourceVersion":"1"}}');
    for (let at = 0; at <= list.length; at++)
      expect(readPage(make(), cutAt(list, at))).toEqual({ error: 'DECODE' });
  });

  it('that are not UTF-8 are refused or read as U+FFFD, the same at every split', () => {
    const bad = [
      [0xff],
      [0xc3],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
      [0xf0, 0x9f, 0x98],
      [0x80],
      [0xf4, 0x90, 0x80, 0x80],
    ];
    for (const sequence of bad) {
      const [before, after] = [
        '{"type":"ADDED","object":{"metadata":{"name":"a"},"x":"',
        '"}}',
      ].map(bytesOf);
      const bytes = new Uint8Array([...before!, ...sequence, ...after!]);
      about(bytes, () => {
        const whole = readFrame(make(), [bytes]);
        if (whole !== undefined && 'object' in whole)
          expectSameAsParsed(whole.object, shownOf(JSON.parse(textOf(bytes)).object));
        else expect(whole).toEqual({ error: 'DECODE' });
        for (let at = 0; at <= bytes.length; at++) {
          expect(shown(readFrame(make(), cutAt(bytes, at))), `split at ${at}`).toEqual(
            shown(whole),
          );
        }
      });
    }
  });
});

const shownOf = <T>(parsed: T): T => asShown(parsed, expectedKind);

const shown = (outcome: Outcome): unknown =>
  outcome !== undefined && 'object' in outcome ? JSON.stringify(outcome.object) : outcome;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first JSON object in the bytes, found the slow way: the shortest text that parses. */
function firstValue(bytes: Uint8Array): unknown {
  const text = textOf(bytes);
  for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}', end + 1)) {
    const value = parse(text.slice(0, end + 1));
    if (value !== undefined) return value;
  }
  return undefined;
}

const isNamed = (value: unknown): boolean => {
  const {
    kind = 'ConfigMap',
    apiVersion = 'v1',
    metadata,
  } = (value ?? {}) as Record<string, unknown>;
  const { name, namespace = '' } = (metadata ?? {}) as Record<string, unknown>;
  const ours = kind === 'ConfigMap' && apiVersion === 'v1';
  return ours && typeof name === 'string' && (namespace === null || typeof namespace === 'string');
};

const isEvent = (value: unknown): boolean => {
  const { type, object } = value as Record<string, unknown>;
  return type === 'ADDED' && !Array.isArray(object) && isNamed(object);
};

const isList = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'items' in value &&
  ((value as KubeObject).kind ?? 'ConfigMapList') === 'ConfigMapList' &&
  ((value as KubeObject).apiVersion ?? 'v1') === 'v1' &&
  Array.isArray(value.items) &&
  value.items.every(
    (item) =>
      typeof item === 'object' &&
      item !== null &&
      !Array.isArray(item) &&
      isNamed(item) &&
      ((item as KubeObject).kind ?? 'ConfigMap') === 'ConfigMap' &&
      ((item as KubeObject).apiVersion ?? 'v1') === 'v1',
  );
