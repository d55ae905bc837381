/**
 * Who is told of each write that a client of this process has carried out, besides that client's
 * own caches: controllers, which look for loops of writes and events.
 */
import { tell } from '../base/handle-error.ts';
import type { AnyResource } from './types.ts';

/** A write of an object, or of one of its subresources, that the server carried out. */
export interface WriteRecord {
  readonly resource: AnyResource;
  readonly method: string;
  /** What was sent, as text; a patch where `contentType` says so. */
  readonly body: string;
  readonly contentType: string | undefined;
  /** The object after it. */
  readonly answer: object;
}

const listeners = new Set<(written: WriteRecord) => void>();

/** The function that it returns takes that back. What a listener throws is reported. */
export function onWritten(listener: (written: WriteRecord) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function tellWritten(written: WriteRecord): void {
  for (const listener of listeners) tell(() => listener(written), 'a listener of writes');
}
