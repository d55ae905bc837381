/**
 * Notifies listeners of each write that a client of this process carried out. Controllers detect
 * loops of writes and events with it.
 */
import { tell } from '../base/handle-error.ts';
import type { AnyResource } from './types.ts';

/** A write of an object or subresource that succeeded. */
export interface WriteRecord {
  readonly resource: AnyResource;
  readonly method: string;
  /** The body as text; a patch if `contentType` says so. */
  readonly body: string;
  readonly contentType: string | undefined;
  /** The object after the write. */
  readonly answer: object;
}

const listeners = new Set<(written: WriteRecord) => void>();

/** Returns a function that removes the listener. An error that a listener throws is reported. */
export function onWritten(listener: (written: WriteRecord) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function tellWritten(written: WriteRecord): void {
  for (const listener of listeners) tell(() => listener(written), 'a listener of writes');
}
