import { describe, expect, test } from 'vitest';
import { type Frame, jsonDecoder } from '../../../bindings/cache/decode/decoder.ts';

const decoder = jsonDecoder<object>({ apiVersion: 'v1', kind: 'ConfigMap' });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function framesOf(text: string, cut = text.length): Frame<object>[] {
  const reader = decoder.frames();
  const frames: Frame<object>[] = [];
  const whole = bytes(text);
  for (const part of [whole.subarray(0, cut), whole.subarray(cut)]) {
    reader.push(part);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) frames.push(frame);
  }
  reader.close();
  return frames;
}

function pageOf(text: string, cut = text.length) {
  const reader = decoder.page();
  const whole = bytes(text);
  try {
    reader.push(whole.subarray(0, cut));
    reader.push(whole.subarray(cut));
    return reader.end();
  } finally {
    reader.close();
  }
}

const event = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
const named = (more: object = {}) => ({ metadata: { name: 'ä', resourceVersion: '7' }, ...more });

describe('frames of the JSON decoder', () => {
  test('have the object and its version, however the bytes are split', () => {
    const text = event('ADDED', named()) + event('MODIFIED', named()) + event('DELETED', named());
    const want = ['ADDED', 'MODIFIED', 'DELETED'].map((type) => ({
      type,
      object: { kind: 'ConfigMap', apiVersion: 'v1', ...named() },
      resourceVersion: '7',
    }));
    for (let cut = 0; cut <= bytes(text).length; cut++) expect(framesOf(text, cut)).toEqual(want);
  });

  test('of a bookmark end the initial events only with the annotation value "true"', () => {
    const bookmark = (annotations?: object) =>
      event('BOOKMARK', { metadata: { resourceVersion: '9', annotations } });
    const end = (value: unknown) => bookmark({ 'k8s.io/initial-events-end': value });
    expect(framesOf(bookmark() + end('true') + end('false') + end(true))).toEqual(
      [false, true, false, false].map((initialEventsEnd) => ({
        type: 'BOOKMARK',
        resourceVersion: '9',
        initialEventsEnd,
      })),
    );
  });

  test('of an object of another kind are foreign; an object without a kind is accepted', () => {
    expect(framesOf(event('ADDED', named({ apiVersion: 'v1', kind: 'Secret' })))).toEqual([
      { type: 'foreign', apiVersion: 'v1', kind: 'Secret' },
    ]);
    expect(framesOf(event('BOOKMARK', { apiVersion: 'v2', metadata: {} }))).toEqual([
      { type: 'foreign', apiVersion: 'v2', kind: undefined },
    ]);
    expect(framesOf(event('ADDED', named({ kind: 'ConfigMap' })))).toMatchObject([
      { type: 'ADDED' },
    ]);
  });

  test('of an ERROR event have its Status', () => {
    const status = { kind: 'Status', code: 410 };
    expect(framesOf(event('ERROR', status))).toEqual([{ type: 'ERROR', status }]);
  });

  test.each([
    ['an ERROR without a Status', event('ERROR', { code: 410 })],
    ['a type that nobody knows', event('RENAMED', named())],
    ['an object without a name', event('ADDED', { metadata: {} })],
    [
      'an object whose namespace is no string',
      event('ADDED', { metadata: { name: 'a', namespace: 1 } }),
    ],
    ['what is no frame', '{"type":"ADDED"}\n'],
    ['what is no JSON', '<html>\n'],
  ])('refuse %s', (_, text) => {
    expect(() => framesOf(text)).toThrow(expect.objectContaining({ code: 'DECODE' }));
  });
});

describe('pages of the JSON decoder', () => {
  test('have items, version and continue token, however the bytes are split', () => {
    const text = JSON.stringify({
      metadata: { resourceVersion: '3', continue: 'é' },
      items: [named()],
    });
    const items = [{ kind: 'ConfigMap', apiVersion: 'v1', ...named() }];
    for (let cut = 0; cut <= bytes(text).length; cut++) {
      expect(pageOf(text, cut)).toEqual({ items, resourceVersion: '3', continue: 'é' });
    }
  });

  test('accept null as empty items, as Go writes an empty slice', () => {
    const page = { items: [], resourceVersion: '', continue: '' };
    expect(pageOf('{"kind":"ConfigMapList","items":null}')).toEqual(page);
  });

  test.each([
    ['a body that is cut', '{"metadata":{},"items":[{"metadata":{"name":"a"}}'],
    ['an empty body', ''],
    ['a Status', '{"kind":"Status","code":500}'],
    ['a Table', '{"kind":"Table","rows":[]}'],
    ['items that are no list', '{"items":{}}'],
    ['an item without a name', '{"items":[{"metadata":{}}]}'],
    ['a byte order mark', '\uFEFF{"items":[]}'],
  ])('refuse %s', (_, text) => {
    expect(() => pageOf(text)).toThrow(expect.objectContaining({ code: 'DECODE' }));
  });
});
