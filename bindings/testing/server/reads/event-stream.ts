/**
 * Writes the frames of one watch, and applies the faults that were injected into it. Without faults
 * frames pass unchanged. With them the sent frames are counted, so that each fault acts once, at
 * its place; after a fault that ended or silenced the stream nothing more is sent.
 */

import type { Output } from '../answers/output.ts';
import type { StreamFault } from '../faults.ts';
import { isObject, type JsonObject, memberObject, readJson, without, writeJson } from '../json.ts';
import { genericStatus } from '../status.ts';

export type FrameType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

export interface SentFrame {
  readonly type: FrameType;
  readonly bytes: Buffer;
  /** The key of the object; undefined for a bookmark and an error. */
  readonly key?: string;
  /** The bookmark that ends the initial events. */
  readonly endsInitial?: boolean;
}

export const frameBytes = (type: FrameType, json: string): Buffer =>
  Buffer.from(`{"type":"${type}","object":${json}}\n`);

type At<K extends StreamFault['do']> = Extract<StreamFault, { do: K }>;
type PlacedFault = At<'insert'> | At<'error'> | At<'end' | 'hang'>;

const isPlaced = (fault: StreamFault): fault is PlacedFault =>
  fault.do === 'insert' || fault.do === 'error' || fault.do === 'end' || fault.do === 'hang';

export class EventStream {
  readonly #output: Output;
  readonly #faults: readonly StreamFault[];
  readonly #omitted: ReadonlySet<string>;
  /** Faults at a place in the stream that have not acted yet. */
  readonly #placed: Set<PlacedFault>;
  #sent = 0;
  #over = false;
  /** A frame that waits for one of another object, to change places with it. */
  #held: SentFrame | undefined;
  #swaps: boolean;

  constructor(output: Output, faults: readonly StreamFault[]) {
    this.#output = output;
    this.#faults = faults;
    this.#omitted = new Set(
      faults.filter((fault) => fault.do === 'omit').map((fault) => fault.what),
    );
    this.#placed = new Set(faults.filter(isPlaced));
    this.#swaps = faults.some((fault) => fault.do === 'swap');
  }

  /** Called after the headers were sent. */
  begin(): void {
    this.#runFaults();
  }

  /** Returns false if the socket is full. */
  send(frame: SentFrame): boolean {
    if (this.#faults.length === 0) return this.#output.write(frame.bytes);
    if (!this.#swaps || frame.key === undefined) {
      this.#sendHeld();
      return this.#sendFrame(frame);
    }
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) {
      this.#held = frame;
      return true;
    }
    if (held.key === frame.key) {
      this.#held = frame;
      return this.#sendFrame(held);
    }
    this.#swaps = false;
    this.#sendFrame(frame);
    return this.#sendFrame(held);
  }

  end(): void {
    this.#sendHeld();
    if (this.#over) return;
    this.#over = true;
    this.#output.end();
  }

  #sendHeld(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#sendFrame(held);
  }

  #sendFrame(frame: SentFrame): boolean {
    if (this.#over || this.#isOmitted(frame)) return true;
    const bytes = this.#alter(frame);
    for (const fault of this.#placed) {
      if ((fault.do !== 'end' && fault.do !== 'hang') || this.#sent !== (fault.afterEvents ?? 0))
        continue;
      if (fault.frameBytes === undefined) continue;
      this.#output.write(bytes.subarray(0, fault.frameBytes));
      this.#stop(fault.do);
      return true;
    }
    const room = this.#output.write(bytes);
    this.#sent++;
    this.#runFaults();
    return room;
  }

  #isOmitted({ type, endsInitial = false }: SentFrame): boolean {
    if (type !== 'BOOKMARK') return false;
    return this.#omitted.has(endsInitial ? 'initial-events-end' : 'bookmarks');
  }

  #alter({ type, bytes }: SentFrame): Buffer {
    const versioned =
      this.#omitted.has('version') && type !== 'ERROR'
        ? frameBytes(type, withoutVersion(objectOf(bytes)))
        : bytes;
    return this.#omitted.has('newline') ? versioned.subarray(0, -1) : versioned;
  }

  /** Runs the faults at this place, in the order of their injection. */
  #runFaults(): void {
    for (const fault of this.#placed) {
      if (this.#over) return;
      if ((fault.afterEvents ?? 0) !== this.#sent) continue;
      if ((fault.do === 'end' || fault.do === 'hang') && fault.frameBytes !== undefined) continue;
      this.#placed.delete(fault);
      if (fault.do === 'insert') this.#output.write(Buffer.from(fault.bytes));
      else if (fault.do === 'error') this.#fail(fault);
      else this.#stop(fault.do);
    }
  }

  #fail({ status, reason, retryAfter }: At<'error'>): void {
    const seconds = retryAfter === undefined ? undefined : Math.ceil(retryAfter / 1000);
    const { body } = genericStatus(status, reason, seconds);
    this.#output.write(frameBytes('ERROR', JSON.stringify(body)));
    this.#stop('end');
  }

  #stop(how: 'end' | 'hang'): void {
    this.#over = true;
    if (how === 'end') this.#output.end();
  }
}

function objectOf(frame: Buffer): JsonObject {
  const { object } = readJson(frame.toString()) as { object: JsonObject };
  return object;
}

/** The JSON of the object without resourceVersion, as a faulty aggregated API server sends it. */
export function withoutVersion(object: JsonObject): string {
  const metadata = without(memberObject(object, 'metadata'), 'resourceVersion');
  const items = Array.isArray(object.items) ? object.items : undefined;
  return writeJson({
    ...object,
    metadata,
    ...(items === undefined
      ? {}
      : { items: items.map((item) => (isObject(item) ? readJson(withoutVersion(item)) : item)) }),
  });
}
