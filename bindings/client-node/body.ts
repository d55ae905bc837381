/**
 * The body of an answer as chunks with back-pressure, for HTTP/1.1 and HTTP/2. A body that was cut
 * never ends cleanly. A compressed body is decompressed as it is read, or refused: also one that
 * the server compressed although it was asked not to.
 */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CapstanError } from '../base/errors.ts';
import { tooLargeError } from '../cache/rest/exchange.ts';
import type { TransportRequest } from '../cache/rest/transport.ts';
import { type BodySource, Chunks } from './chunks.ts';
import { messageOf } from './wire.ts';

/** The chunks of a body. It can be read once. */
export function answerBody(source: BodySource): AsyncIterable<Uint8Array> {
  const chunks = new Chunks(source);
  return { [Symbol.asyncIterator]: () => chunks };
}

/** A decompressed body is read ahead, so its chunks are not transient. */
export function isTransient(request: TransportRequest, encoding: string | null): boolean {
  return request.transient === true && isPlain(encoding);
}

function isPlain(encoding: string | null): boolean {
  const name = encoding?.trim().toLowerCase() ?? '';
  return name === '' || name === 'identity';
}

/**
 * The body without its content encoding. gzip is read member by member to the end (kube-apiserver
 * ends one at each flush of a compressed watch).
 *
 * @throws CapstanError DECODE, at once for any other encoding, and while reading for bytes that are
 *   no gzip or stop in the middle of it; TOO_LARGE while reading, for a body that grows as no list
 *   of objects does
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
    `${what}: expected a body without content encoding (or gzip), got ` +
      `${JSON.stringify(encoding)}; is there a proxy that compresses?`,
  );
}

/**
 * The most that a body may grow, once it is longer than `SMALL` bytes. Objects that share all but a
 * name, a uid and a version grow a hundred times; gzip allows 1032.
 */
const MOST_GROWTH = 250;
const SMALL = 32 * 1024 * 1024;
/** Bytes of a piece. Larger pieces need fewer turns of the thread that decompresses. */
const PIECE = 64 * 1024;

const GROWS =
  `as gzip it is less than one part in ${MOST_GROWTH}: with \`compression: 'identity'\` it may ` +
  'be as long as `maxListBytes`';

function gunzipped(body: AsyncIterable<Uint8Array>, what: string): AsyncIterable<Uint8Array> {
  let failure: unknown;
  const source = Readable.from(body, { objectMode: false });
  const gunzip = createGunzip({ chunkSize: PIECE });
  gunzip.on('error', () => undefined); // the reader gets it; without a reader it is unhandled
  source.on('error', (error) => {
    failure = error;
    gunzip.destroy(error);
  });
  source.pipe(gunzip);

  async function* chunks(): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const piece of gunzip as AsyncIterable<Uint8Array>) {
        bytes += piece.length;
        if (bytes > SMALL && bytes > MOST_GROWTH * gunzip.bytesWritten)
          throw tooLargeError(what, bytes - piece.length, GROWS);
        yield piece;
      }
    } catch (error) {
      if (failure !== undefined) throw failure; // a TransportError of the body's own
      if (error instanceof CapstanError) throw error;
      throw new CapstanError('DECODE', `${what}: the gzip data is broken: ${messageOf(error)}`, {
        cause: error,
      });
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
