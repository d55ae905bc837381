import { describe, expect, test } from 'vitest';
import { FrameDecoder, type RawFrame } from '../../../bindings/cache/decode/frames.ts';
import { Random, testSeed } from '../../helpers/random.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const frame = (type: string, name: string, value: unknown = null): RawFrame => ({
  type,
  object: { metadata: { name }, value },
});

function take(frames: FrameDecoder): RawFrame[] {
  const taken: RawFrame[] = [];
  for (let next = frames.next(); next !== undefined; next = frames.next()) taken.push(next);
  return taken;
}

/** Pushes the bytes in parts that end at the cuts, taking frames after each part. */
function decode(bytes: Uint8Array, cuts: readonly number[] = []): RawFrame[] {
  const frames = new FrameDecoder();
  const taken: RawFrame[] = [];
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    frames.push(bytes.subarray(from, to));
    taken.push(...take(frames));
    from = to;
  }
  return taken;
}

const nasty = [
  frame('ADDED', 'é名前😀', 'a "quoted" \\ backslash, {braces} and [brackets]'),
  frame('MODIFIED', '__proto__', { nested: [{ deep: ['}', '"', '\\'] }], text: '\u2028\n\r\t' }),
  frame('DELETED', '', [1.5, -2e10, true, false, null, '']),
];

describe('frames', () => {
  test('are complete wherever the bytes are split, also inside a UTF-8 character', () => {
    const bytes = encode(nasty.map((one) => `${JSON.stringify(one)}\n`).join(''));
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(decode(bytes, [cut]), `cut at ${cut}`).toEqual(nasty);
    expect(decode(bytes, [...bytes.keys()])).toEqual(nasty);
  });

  test('end where their JSON value ends, with or without white space between them', () => {
    const separators = ['', '\n', '\r\n', '\n\n', '  \t', ' \r\n '];
    const seed = testSeed();
    console.log(`frames: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    for (let round = 0; round < 300; round++) {
      const want: RawFrame[] = [];
      let text = random.pick(separators);
      for (let n = random.int(8); n > 0; n--) {
        const one = random.pick(nasty);
        want.push(one);
        text += JSON.stringify(one, null, random.chance(0.3) ? 2 : 0) + random.pick(separators);
      }
      const bytes = encode(text);
      const cuts = Array.from({ length: random.int(6) }, () => random.int(bytes.length + 1)).sort(
        (a, b) => a - b,
      );
      expect(decode(bytes, cuts)).toEqual(want);
    }
  });

  test('are given as soon as their value is complete, without waiting for a line feed', () => {
    const frames = new FrameDecoder();
    frames.push(encode(JSON.stringify(frame('ADDED', 'a'))));
    expect(take(frames)).toEqual([frame('ADDED', 'a')]);
  });

  test('do not include an incomplete value at the end of the stream', () => {
    const text = JSON.stringify(frame('ADDED', 'a'));
    expect(decode(encode(`${text}\n${text.slice(0, -1)}`))).toEqual([frame('ADDED', 'a')]);
  });

  test('keep a member named __proto__ as JSON.parse does', () => {
    const [one] = decode(encode('{"type":"ADDED","object":{"__proto__":{"polluted":true}}}\n'));
    expect(Object.hasOwn(one?.object ?? {}, '__proto__')).toBe(true);
    expect('polluted' in (one?.object ?? {})).toBe(false);
  });

  test.each([
    ['text that is no JSON', 'this is not JSON\n'],
    ['a value that is no object', '[1]\n'],
    ['a broken object', '{"type":"ADDED","object":{"a":}}\n'],
    ['an object without type', '{"object":{}}\n'],
    ['an object without object', '{"type":"ADDED"}\n'],
    ['an object whose object is none', '{"type":"ADDED","object":[]}\n'],
    ['a byte order mark', '\ufeff{"type":"ADDED","object":{}}\n'],
  ])('refuse %s with a DECODE error', (_, text) => {
    const good = JSON.stringify(frame('ADDED', 'a'));
    const frames = new FrameDecoder();
    frames.push(encode(`${good}\n${text}`));
    expect(frames.next()).toEqual(frame('ADDED', 'a'));
    expect(() => frames.next()).toThrow(expect.objectContaining({ code: 'DECODE' }));
  });

  test('are refused above 16 MiB, complete or not', () => {
    const part = encode('x'.repeat(1024 * 1024));
    const frames = new FrameDecoder();
    frames.push(encode('{"type":"ADDED","object":{"a":"'));
    const fill = (): void => {
      for (let i = 0; i < 17; i++) {
        frames.push(part);
        frames.next();
      }
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'DECODE' }));

    const whole = new FrameDecoder();
    whole.push(encode(`{"type":"ADDED","object":{"a":"${'x'.repeat(17 * 1024 * 1024)}"}}\n`));
    expect(() => whole.next()).toThrow(expect.objectContaining({ code: 'DECODE' }));
  });

  test('are refused beyond 10 000 levels of nesting, complete or not', () => {
    const start = '{"type":"ADDED","object":{"a":';
    for (const text of [
      start + '['.repeat(10_001),
      `${start}${'['.repeat(10_001)}${']'.repeat(10_001)}}}\n`,
      `${start}"${'x'.repeat(100_000)}","b":${'['.repeat(10_001)}${']'.repeat(10_001)}}}\n`,
    ]) {
      const frames = new FrameDecoder();
      frames.push(encode(text));
      expect(() => frames.next()).toThrow(expect.objectContaining({ code: 'DECODE' }));
    }
    const deepest = `${start}${'['.repeat(9_998)}${']'.repeat(9_998)}}}\n`;
    expect(decode(encode(deepest)).length).toBe(1);
  });

  test('may be long or short', () => {
    const long = frame('ADDED', 'long', '0123456789é'.repeat(20_000));
    const bytes = encode([long, nasty[0], long].map((one) => `${JSON.stringify(one)}\n`).join(''));
    for (const size of [1000, 65_536, bytes.length]) {
      const cuts = Array.from(
        { length: Math.floor(bytes.length / size) },
        (_, i) => (i + 1) * size,
      );
      expect(decode(bytes, cuts)).toEqual([long, nasty[0], long]);
    }
  });
});
