/**
 * Takes the bytes of an HTTP/2 stream before they enter its Readable: node calls `push` of the
 * stream for each piece. The way through the Readable costs two turns of node's tick queue, its
 * lists and its events, for a reader that needs none of them.
 *
 * Invariants: bytes keep their order; the end, errors and `close` come as ever; a host that does
 * not call `push` of the stream gives its bytes as `data` events.
 */
import type { Readable } from 'node:stream';

/**
 * @param take gets each piece; returns false to pause
 * @returns continues after a pause
 */
export function tapStream(stream: Readable, take: (piece: Uint8Array) => boolean): () => void {
  const push = stream.push.bind(stream);
  stream.push = (piece: Uint8Array | null, encoding?: BufferEncoding): boolean =>
    // What came before the tap is in the Readable and has to be read first.
    piece === null || stream.readableLength > 0 ? push(piece, encoding) : take(piece);
  return () => {
    stream.resume();
    // The Readable does not know that its last read was answered, and would not read again.
    if (!stream.destroyed && !stream.readableEnded) stream._read(0);
  };
}
