/**
 * A transport that follows the script of an informer vector: the nth request gets the nth answer,
 * streams are cut as scripted, and time is a FakeClock. It uses no real time and no socket.
 */
import { type Transport, TransportError, type TransportRequest } from 'capstan/cache';
import type { Clock } from 'capstan/workqueue';

export interface ScriptEntry {
  expect: 'list' | 'watch' | 'refused';
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  stream?: string[];
  cuts?: number[];
  holdMs?: number;
  end: 'close' | 'hold' | 'reset' | 'resetBeforeHeaders' | 'resetInBody' | 'refused';
}

export interface SeenRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  atMs: number;
}

/** The pause after each part of a stream. */
export const SCRIPT_PAUSE_MS = 10;

export class ScriptedServer implements Transport {
  readonly seen: (SeenRequest | { refused: true; atMs: number })[] = [];
  readonly #clock: Clock;
  readonly #script: readonly ScriptEntry[];
  #lastIsPlayed = false;

  constructor(clock: Clock, script: readonly ScriptEntry[]) {
    this.#clock = clock;
    this.#script = script;
  }

  /** The last answer of the script has been sent completely. */
  isQuiet(): boolean {
    return this.#lastIsPlayed;
  }

  async request(request: TransportRequest) {
    const entry = this.#script[this.seen.length];
    const isLast = this.seen.length === this.#script.length - 1;
    const atMs = this.#clock.now();
    if (entry === undefined)
      throw new Error(`request ${this.seen.length + 1} of a script of ${this.#script.length}`);
    if (entry.expect === 'refused') {
      this.seen.push({ refused: true, atMs });
      throw new TransportError('refused', 'connection refused');
    }
    const { method, path, query = {} } = request;
    this.seen.push({ method, path, query, atMs });
    if (entry.end === 'resetBeforeHeaders')
      throw new TransportError('reset', 'reset before the answer');
    const headers = new Headers(entry.headers);
    return {
      status: entry.status ?? 200,
      headers,
      body: this.#body(entry, isLast, request.signal),
    };
  }

  async *#body(
    entry: ScriptEntry,
    isLast: boolean,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    if ('body' in entry) {
      const text = typeof entry.body === 'string' ? entry.body : JSON.stringify(entry.body);
      const bytes = new TextEncoder().encode(text);
      if (entry.end !== 'resetInBody') {
        yield bytes;
        return;
      }
      yield bytes.subarray(0, bytes.length >> 1);
      throw new TransportError('reset', 'reset in the body');
    }
    const bytes = new TextEncoder().encode((entry.stream ?? []).join(''));
    const cuts = [...(entry.cuts ?? []), bytes.length];
    let from = 0;
    for (const to of cuts) {
      if (to === from) continue;
      yield bytes.slice(from, to);
      from = to;
      await this.#pause(SCRIPT_PAUSE_MS, signal);
    }
    if (entry.holdMs !== undefined) await this.#pause(entry.holdMs, signal);
    if (isLast) this.#lastIsPlayed = true;
    if (entry.end === 'hold') await this.#pause(Number.POSITIVE_INFINITY, signal);
    if (entry.end === 'reset') throw new TransportError('reset', 'reset after the stream');
  }

  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = Number.isFinite(ms) ? this.#clock.setTimer(resolve, ms) : undefined;
      signal?.addEventListener('abort', () => {
        this.#clock.clearTimer(timer);
        reject(new TransportError('aborted', 'the request was aborted'));
      });
    });
  }
}
