/** The chunks of a body as a reader gets them: awaited, or synchronously if they have arrived. */
import { Readable } from 'node:stream';
import { TransportError } from 'capstan/cache';
import { expect, test } from 'vitest';
import { macrotask } from '../../bindings/base/clock.ts';
import { Chunks } from '../../bindings/client-node/chunks.ts';
import { tapStream } from '../../bindings/client-node/stream-tap.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (chunk: Uint8Array | undefined): string | undefined =>
  chunk === undefined ? undefined : new TextDecoder().decode(chunk);

/** A body whose bytes arrive when the test says so. */
function body({
  signal,
  transient = false,
  tapped = false,
}: {
  signal?: AbortSignal;
  transient?: boolean;
  tapped?: boolean;
} = {}) {
  const stream = new Readable({ read: () => undefined });
  let cuts = 0;
  let counted = 0;
  const chunks = new Chunks({
    stream,
    whole: () => true,
    cut: () => {
      cuts++;
      stream.destroy();
    },
    count: (length) => {
      counted += length;
    },
    what: 'the answer',
    signal,
    transient,
    tapped,
  });
  return { stream, chunks, cuts: () => cuts, counted: () => counted };
}

async function drained(chunks: Chunks): Promise<string> {
  let all = '';
  for (let { done, value } = await chunks.next(); !done; { done, value } = await chunks.next())
    all += textOf(value);
  return all;
}

test('arrived chunks are taken without waiting, in order', async () => {
  const { stream, chunks, counted } = body();
  const first = chunks.next();
  for (const text of ['a', 'b', 'c']) stream.push(bytes(text));
  expect(textOf((await first).value)).toBe('a');
  await macrotask();
  expect(textOf(chunks.arrived())).toBe('b');
  expect(textOf((await chunks.next()).value)).toBe('c');
  expect(chunks.arrived()).toBeUndefined();
  const last = chunks.next();
  stream.push(bytes('d'));
  expect(textOf((await last).value)).toBe('d');
  stream.push(null);
  expect(await chunks.next()).toEqual({ done: true, value: undefined });
  expect(await chunks.next()).toEqual({ done: true, value: undefined });
  expect(chunks.arrived()).toBeUndefined();
  expect(counted()).toBe(4);
});

test('a reader is told once of what has arrived, and of the end', async () => {
  const { stream, chunks } = body();
  let told = 0;
  chunks.whenArrived(() => told++);
  expect(chunks.arrived()).toBeUndefined();
  stream.push(bytes('a'.repeat(70_000)));
  await macrotask();
  expect(told).toBe(1);
  expect(stream.isPaused()).toBe(false); // its reader waited for it
  stream.push(bytes('b'));
  await macrotask();
  expect(told).toBe(1);
  expect(chunks.arrived()?.length).toBe(70_000);
  expect(textOf(chunks.arrived())).toBe('b');
  chunks.whenArrived(() => told++);
  stream.push(null);
  await macrotask();
  expect(told).toBe(2);
  expect(chunks.arrived()).toBeUndefined();
  expect(await chunks.next()).toEqual({ done: true, value: undefined });
});

// A watch whose connection was cut while its events were processed was never opened again.
test.each<[string, (stream: Readable) => void]>([
  ['ended', (stream) => void stream.push(null)],
  ['was cut', (stream) => void stream.destroy()],
  ['failed', (stream) => void stream.destroy(new Error('reset'))],
])('a body that %s while its reader was busy is told of when it waits', async (_, end) => {
  const { stream, chunks } = body();
  stream.push(bytes('a'));
  await macrotask();
  expect(textOf(chunks.arrived())).toBe('a');
  end(stream);
  await macrotask();
  expect(chunks.arrived()).toBeUndefined();
  let told = 0;
  chunks.whenArrived(() => told++);
  expect(told).toBe(0); // never inside of the call
  await macrotask();
  expect(told).toBe(1);
});

test('a reader that has left is told of nothing', async () => {
  const { stream, chunks } = body();
  let told = 0;
  chunks.whenArrived(() => told++);
  await chunks.return();
  stream.destroy();
  await macrotask();
  expect(told).toBe(0);
});

test('a tapped stream gives its bytes in order, pauses, goes on and ends', async () => {
  let reads = 0;
  const stream = new Readable({ read: () => void reads++ });
  stream.push(bytes('early'));
  const pieces: string[] = [];
  let room = true;
  const resume = tapStream(stream, (piece) => {
    pieces.push(textOf(piece) ?? '');
    return room;
  });
  let isOver = false;
  expect(stream.push(bytes(' '))).toBe(true); // behind what came before the tap
  stream.on('data', (piece: Uint8Array) => pieces.push(textOf(piece) ?? ''));
  stream.on('end', () => {
    isOver = true;
  });
  await macrotask();
  expect(pieces.join('')).toBe('early ');
  room = false;
  expect(stream.push(bytes('late'))).toBe(false);
  stream.pause();
  const before = reads;
  room = true;
  resume();
  await macrotask();
  expect(reads).toBeGreaterThan(before);
  stream.push(bytes('r'));
  stream.push(null);
  await macrotask();
  expect(pieces.join('')).toBe('early later');
  expect(isOver).toBe(true);
});

test('the buffer of a chunk is freed once it was read, if it has no other frame', () => {
  const { stream, chunks } = body({ transient: true, tapped: true });
  const read = (length: number): ArrayBuffer => new ArrayBuffer(length);
  const [whole, alone, padded, two] = [read(30), read(39), read(50), read(78)] as const;
  const pieces = [
    new Uint8Array(whole), // the rest of a frame
    new Uint8Array(alone, 9),
    new Uint8Array(padded, 9, 30), // another frame may follow, of another stream
    new Uint8Array(two, 9, 30),
    new Uint8Array(two, 48), // another stream may have the first
  ];
  for (const piece of pieces) stream.push(piece);
  for (const piece of pieces) expect(chunks.arrived()).toBe(piece);
  expect(chunks.arrived()).toBeUndefined();
  expect([whole, alone, padded, two].map(({ detached }) => detached)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

// A transport around ours collected the chunks of each answer, and found their buffers detached.
test('the buffer of a frame is not freed if its reader awaited it', async () => {
  const { stream, chunks } = body({ transient: true, tapped: true });
  const buffers = [new ArrayBuffer(39), new ArrayBuffer(39), new ArrayBuffer(39)] as const;
  const read: (Uint8Array | undefined)[] = [];
  const first = chunks.next();
  for (const buffer of buffers) stream.push(new Uint8Array(buffer, 9));
  read.push((await first).value, (await chunks.next()).value, chunks.arrived());
  expect(chunks.arrived()).toBeUndefined();
  expect(read.map((chunk) => chunk?.length)).toEqual([30, 30, 0]);
  expect(buffers.map(({ detached }) => detached)).toEqual([false, false, true]);
});

test('a part of a buffer that is not of HTTP/2 is not freed', async () => {
  const { stream, chunks } = body({ transient: true });
  const buffer = new ArrayBuffer(39);
  stream.push(new Uint8Array(buffer, 9));
  await macrotask();
  expect(chunks.arrived()?.length).toBe(30);
  expect(chunks.arrived()).toBeUndefined();
  expect(buffer.detached).toBe(false);
});

test('several waiting reads are answered in order, also by the end', async () => {
  const { stream, chunks } = body();
  const asked = [chunks.next(), chunks.next(), chunks.next(), chunks.next()];
  stream.push(bytes('a'));
  stream.push(bytes('b'));
  stream.push(null);
  const answers = await Promise.all(asked);
  expect(answers.map(({ done, value }) => (done ? 'end' : textOf(value)))).toEqual([
    'a',
    'b',
    'end',
    'end',
  ]);
});

test('a busy reader pauses the sender, and loses nothing', async () => {
  const { stream, chunks, counted } = body();
  const sent = 64;
  let refused = 0;
  for (let i = 0; i < sent; i++) {
    if (!stream.push(new Uint8Array(16_384).fill(i))) refused++;
    await macrotask();
  }
  stream.push(null);
  // four of them wait here, the others in the stream, which has reported that it is full
  expect(counted()).toBe(65_536);
  expect(refused).toBeGreaterThan(sent / 2);
  const seen: number[] = [];
  for (let { done, value } = await chunks.next(); !done; { done, value } = await chunks.next()) {
    expect(new Set(value).size).toBe(1);
    seen.push(value?.[0] as number);
  }
  expect(seen).toEqual(Array.from({ length: sent }, (_, i) => i));
});

test('bytes that arrived before a lost connection are returned before the error', async () => {
  const { stream, chunks } = body();
  stream.push(bytes('a'));
  await macrotask();
  stream.destroy(new Error('ECONNRESET'));
  await macrotask();
  expect(textOf(chunks.arrived())).toBe('a');
  expect(chunks.arrived()).toBeUndefined();
  const failure: unknown = await chunks.next().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(TransportError);
  expect(failure).toMatchObject({ kind: 'reset', cause: { message: 'ECONNRESET' } });
  expect(await chunks.next()).toEqual({ done: true, value: undefined });
});

test('after the signal nothing is returned', async () => {
  const abort = new AbortController();
  const { stream, chunks } = body({ signal: abort.signal });
  stream.push(bytes('a'));
  await macrotask();
  abort.abort();
  expect(chunks.arrived()).toBeUndefined();
  await expect(chunks.next()).rejects.toMatchObject({ kind: 'aborted' });
  expect(await drained(chunks)).toBe('');
});

test('leaving early cuts the exchange, unless it has ended', async () => {
  const left = body();
  left.stream.push(bytes('a'));
  await left.chunks.return();
  expect(left.cuts()).toBe(1);
  expect(await drained(left.chunks)).toBe('');

  const ended = body();
  ended.stream.push(bytes('a'));
  ended.stream.push(null);
  await macrotask();
  await ended.chunks.return(); // also before it was read: the next request can use the connection
  expect(ended.cuts()).toBe(0);
});

test.each([true, false])(
  'a chunk is valid until the next read, sync or async: transient %s',
  async (transient) => {
    const { stream, chunks } = body({ transient });
    for (const text of ['a', 'b', 'c']) stream.push(bytes(text));
    const first = (await chunks.next()).value as Uint8Array;
    await macrotask();
    expect(first).toHaveLength(1);
    const second = chunks.arrived() as Uint8Array;
    expect([first.length, second.length]).toEqual(transient ? [0, 1] : [1, 1]);
    const third = (await chunks.next()).value as Uint8Array;
    expect([second.length, third.length]).toEqual(transient ? [0, 1] : [1, 1]);
  },
);
