/**
 * The body of an answer, chunk by chunk under back-pressure, whichever HTTP brought it. What this file keeps true: a body that was cut never
 * ends cleanly, and one that the server compressed although it was asked not to is decompressed whole or refused.
 */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { TransportRequest } from '../cache/transport.ts';
import { CapstanError } from '../errors.ts';
import { failed, messageOf } from './wire.ts';

export interface BodySource {
  stream: Readable;
  /** Asked after 'end': whether that was the end of the body, or only that of the connection. */
  whole: () => boolean;
  /** Ends the exchange before its time. */
  cut: () => void;
  /** Told of each chunk before it is handed out. */
  count?: (bytes: number) => void;
  /** For messages. */
  what: string;
  signal: AbortSignal | undefined;
  /** The reader is done with a chunk when it asks for the next one ({@link TransportRequest.transient}). */
  transient: boolean;
}

/**
 * Frees the memory of a chunk that is a buffer of its own, as node makes them for HTTP/1.1, instead of leaving it to a collection: an informer that
 * reads 5 KB an event would otherwise cause a major one for every 64 MB (60 000 events over loopback on a busy machine: 20.0 → 16.9 µs of CPU each, medians of four). A part of a
 * larger buffer is left alone: others may look at the rest.
 */
function takeBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * The chunks as they come. Nothing is read from the socket while the consumer is busy and the stream's buffer is full, so the server feels
 * the back-pressure.
 */
export function readBody(source: BodySource): AsyncIterable<Uint8Array> {
  const { stream, whole, cut, count, what, signal, transient } = source;
  let failure: Error | undefined;
  let ended = false;
  let closed = false;
  let wake = (): void => undefined;
  // From now on and not from the first read: a connection may be lost before anybody reads.
  stream.on('error', (error) => {
    failure = error;
    wake();
  });
  stream.once('end', () => {
    ended = true;
    wake();
  });
  stream.once('close', () => {
    closed = true;
    wake();
  });
  stream.on('readable', () => wake());

  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (signal?.aborted) throw failed('aborted', what, signal.reason);
      const chunk: Uint8Array | null = stream.read();
      if (chunk !== null) {
        count?.(chunk.length);
        yield chunk;
        if (transient) takeBack(chunk);
        continue;
      }
      if (ended && whole()) return;
      if (failure !== undefined || ended || closed) throw failed('reset', what, failure);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  const reader = chunks();
  const leave = async (): Promise<IteratorResult<Uint8Array>> => {
    // Before the generator is asked: one that waits for bytes would not hear it. A finished one keeps its connection.
    if (!(ended && whole())) cut();
    return reader.return(undefined);
  };
  return { [Symbol.asyncIterator]: () => ({ next: () => reader.next(), return: leave }) };
}

/** Of a body that is decompressed, chunks are read ahead. */
export function isTransient(request: TransportRequest, encoding: string | null): boolean {
  return request.transient === true && isPlain(encoding);
}

function isPlain(encoding: string | null): boolean {
  const name = encoding?.trim().toLowerCase() ?? '';
  return name === '' || name === 'identity';
}

/**
 * The body without its content encoding. gzip is read member by member to the end (kube-apiserver ends one at each flush of a compressed watch).
 *
 * @throws CapstanError DECODE, at once for any other encoding, and while reading for bytes that are no gzip or stop in the middle of it
 */
export function decoded(
  body: AsyncIterable<Uint8Array>,
  encoding: string | null,
  what: string,
): AsyncIterable<Uint8Array> {
  if (isPlain(encoding)) return body;
  const name = encoding?.trim().toLowerCase();
  if (name === 'gzip' || name === 'x-gzip') return gunzipped(body, what);
  throw new CapstanError(
    'DECODE',
    `${what}: expected a body without content encoding (or gzip), got ${JSON.stringify(encoding)}; is there a proxy that compresses?`,
  );
}

function gunzipped(body: AsyncIterable<Uint8Array>, what: string): AsyncIterable<Uint8Array> {
  let failure: unknown;
  const source = Readable.from(body, { objectMode: false });
  const gunzip = createGunzip();
  source.once('error', (error) => {
    failure = error;
    gunzip.destroy(error);
  });
  source.pipe(gunzip);

  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* gunzip as AsyncIterable<Uint8Array>;
    } catch (error) {
      if (failure !== undefined) throw failure; // a TransportError of the body's own
      throw new CapstanError('DECODE', `${what}: the gzip data is broken: ${messageOf(error)}`, { cause: error });
    } finally {
      source.destroy();
      gunzip.destroy();
    }
  }

  const reader = chunks();
  const leave = (): Promise<IteratorResult<Uint8Array>> => {
    source.destroy();
    gunzip.destroy();
    return reader.return(undefined);
  };
  return { [Symbol.asyncIterator]: () => ({ next: () => reader.next(), return: leave }) };
}
