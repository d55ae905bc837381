/**
 * Writes Events, several at a time, but one request at a time for each Event, so that it is never
 * created twice and an older count never overwrites a newer one. Failures are retried up to twelve
 * times; a write that the server refuses is given up.
 *
 * Slow failures in one namespace do not delay others: two of eight workers do all retries, and all
 * writes to a namespace whose last write failed, until one succeeds there. Before its first failure
 * is known, a namespace may occupy every worker for one try; so may new Events of a namespace where
 * some writes succeed and others hang. client-go: tools/events/event_broadcaster.go
 * attemptRecording, recordEvent.
 */

import type { Clock } from '../../base/clock.ts';
import { textOfError } from '../../base/error-text.ts';
import { CapstanError, isCapstanError } from '../../base/errors.ts';
import type { Resource } from '../../base/resource.ts';
import { abortable, onAbort } from '../../base/wait.ts';
import { isNotFound, isStatusError } from '../../cache/rest/status-error.ts';
import type { Writer } from '../types.ts';
import type { EventForm } from './forms.ts';
import { type EventEntry, MAX_ENTRIES } from './series.ts';

/** client-go: maxTriesPerEvent, defaultSleepDuration, recordWorkers. Times in milliseconds. */
const MAX_TRIES = 12;
const SLEEP_MS = 10_000;
const WORKERS = 8;
/**
 * The workers for writes that are likely to fail. If each try waits ten seconds for a webhook,
 * tries are further apart than SLEEP_MS.
 */
const SLOW_WORKERS = 2;
/**
 * kube-apiserver's --request-timeout. Webhooks, which have at most 30 s, may still admit a write.
 */
const ANSWER_MS = 60_000;

export interface EventWriterOptions {
  readonly client: Pick<Writer, 'create' | 'patch'>;
  readonly form: EventForm;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called for an Event that will not be written. Must not throw. */
  readonly onLost: (error: CapstanError) => void;
  /** Called for one that is given up because too many others have failed. Must not throw. */
  readonly onFull: (message: string, cause: unknown) => void;
  readonly onWritten: () => void;
}

export class EventWriter {
  readonly #options: EventWriterOptions;
  /** Entries that have not failed. */
  #queue: EventEntry[] = [];
  /**
   * Failures in a row of entries that are retried. An entry keeps its place until it is written;
   * there are no more than are remembered.
   */
  readonly #tries = new Map<EventEntry, number>();
  /** Retries that are not due yet, with their timers. */
  readonly #later = new Map<EventEntry, unknown>();
  /** Retries that are due. */
  readonly #again: EventEntry[] = [];
  /** The time of the last failure by namespace, the oldest first. */
  readonly #failing = new Map<string, number>();
  /** Ends all requests and waits. */
  readonly #stop = new AbortController();
  readonly #idle: (() => void)[] = [];
  #hurried = false;
  #working = 0;
  /** How many workers have a write that is likely to fail. */
  #slow = 0;
  #waitingNew = 0;

  constructor(options: EventWriterOptions) {
    this.#options = options;
  }

  /**
   * The number of Events that wait for their first write. The caller bounds it; of the others there
   * are no more than are remembered.
   */
  get waitingNew(): number {
    return this.#waitingNew;
  }

  /** An entry that is already waiting is written once, in its newest state. */
  add(entry: EventEntry): void {
    if (entry.state === 'writing') entry.state = 'again';
    if (entry.state !== 'idle') return;
    entry.state = entry.count === 1 ? 'new' : 'queued';
    if (entry.state === 'new') this.#waitingNew++;
    this.#queue.push(entry);
    this.#wake();
  }

  /**
   * Resolves when nothing is left to write. From now on each entry is retried once, without a
   * pause.
   */
  async drain(): Promise<void> {
    this.#hurried = true;
    for (const [entry, timer] of this.#later) {
      this.#options.clock.clearTimer(timer);
      this.#due(entry);
    }
    this.#wake();
    if (this.#working > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /**
   * After `drain`: gives up what is left and returns how many waited. Entries that are being
   * written are reported one by one.
   */
  stop(): number {
    this.#stop.abort();
    return this.#queue.splice(0).length + this.#again.splice(0).length;
  }

  #wake(): void {
    if (this.#working < WORKERS && this.#queue.length + this.#again.length > 0) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working++;
    // no request starts within the call that records; all that is recorded in one turn is written
    // together
    await undefined;
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      this.#wake(); // a success may have unblocked many
      const slow =
        (this.#tries.get(entry) ?? 0) > 0 || this.#failing.has(namespaceOf(entry)) ? 1 : 0;
      if (entry.state === 'new') this.#waitingNew--;
      entry.state = 'writing';
      this.#slow += slow;
      await this.#try(entry);
      this.#slow -= slow;
    }
    if (--this.#working === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /**
   * The next entry: one that is not likely to fail; else, while a worker is free for it, one of the
   * namespace whose last failure is the oldest. So each namespace has its turn, and a transient
   * failure does not wait behind a namespace that hangs.
   */
  #next(): EventEntry | undefined {
    let from = this.#queue;
    let at = from.findIndex((entry) => !this.#failing.has(namespaceOf(entry)));
    if (at < 0 && this.#slow < (this.#hurried ? WORKERS : SLOW_WORKERS)) {
      let least = Number.POSITIVE_INFINITY;
      for (const queue of [this.#queue, this.#again])
        for (let i = 0; i < queue.length && least >= 0; i++) {
          const failed = this.#failing.get(namespaceOf(queue[i] as EventEntry)) ?? -1;
          if (failed < least) [least, from, at] = [failed, queue, i];
        }
    }
    return at < 0 ? undefined : from.splice(at, 1)[0];
  }

  async #try(entry: EventEntry): Promise<void> {
    const most = this.#hurried ? 2 : MAX_TRIES; // one more after a try that began before the end
    try {
      await this.#send(entry);
    } catch (error) {
      this.#failed(entry, error, most);
      return;
    }
    this.#tries.delete(entry);
    this.#failing.delete(namespaceOf(entry));
    this.#options.onWritten();
    // It may have been added again after this write had its state.
    const again = entry.state === 'again' && entry.count > entry.written;
    entry.state = 'idle';
    if (again) this.add(entry);
  }

  /** The worker continues with other entries while this one waits for its next try. */
  #failed(entry: EventEntry, error: unknown, most: number): void {
    const { clock, random, onLost } = this.#options;
    const tries = (this.#tries.get(entry) ?? 0) + 1;
    this.#tries.delete(entry);
    entry.state = 'idle';
    this.#suspect(namespaceOf(entry), error);
    if (tries >= most || !isPassing(error) || this.#stop.signal.aborted) {
      onLost(lost(entry, error, tries));
      return;
    }
    if (!this.#keep(entry, tries, error)) return;
    const ms = SLEEP_MS * (1 + 0.25 * random());
    if (this.#hurried) this.#due(entry);
    else
      this.#later.set(
        entry,
        clock.setTimer(() => this.#due(entry), ms),
      );
  }

  /** Entries that wait there for their first write free the room of new ones. */
  #suspect(namespace: string, cause: unknown): void {
    this.#failing.delete(namespace);
    this.#failing.set(namespace, this.#options.clock.now());
    if (this.#failing.size > MAX_ENTRIES)
      this.#failing.delete(this.#failing.keys().next().value as string);
    if (this.#waitingNew === 0) return;
    this.#queue = this.#queue.filter((entry) => {
      if (entry.state !== 'new' || namespaceOf(entry) !== namespace) return true;
      this.#waitingNew--;
      return this.#keep(entry, 0, cause);
    });
  }

  /** Whether there is room among the retries. */
  #keep(entry: EventEntry, tries: number, cause: unknown): boolean {
    const full = this.#tries.size >= MAX_ENTRIES && !this.#hurried;
    entry.state = full ? 'idle' : 'queued';
    if (full)
      this.#options.onFull(
        `${MAX_ENTRIES} events wait to be tried again: what else fails is given up`,
        cause,
      );
    else this.#tries.set(entry, tries);
    return !full;
  }

  #due(entry: EventEntry): void {
    this.#later.delete(entry);
    this.#again.push(entry);
    this.#wake();
  }

  /**
   * One try: creates an Event that the server does not have, with its series if it has one; patches
   * the series of others.
   */
  async #send(entry: EventEntry): Promise<void> {
    const { count } = entry;
    if (entry.written === 0) {
      if (await this.#created(entry)) {
        entry.written = count;
        return;
      }
      entry.written = 1; // an earlier try succeeded and its answer was lost
      if (count === 1) return;
    }
    try {
      await this.#patch(entry);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      entry.written = 0; // the server has forgotten it
      if (!(await this.#created(entry))) {
        entry.written = 1;
        throw new Overtaken('the event came and went while it was written', error);
      }
    }
    entry.written = count;
  }

  /** Returns false if it exists. */
  async #created(entry: EventEntry): Promise<boolean> {
    const { client, form } = this.#options;
    try {
      await this.#ask((signal) =>
        client.create(form.resource as Resource<object>, form.created(entry), { signal }),
      );
      return true;
    } catch (error) {
      if (isStatusError(error) && error.reason === 'AlreadyExists') return false;
      throw error;
    }
  }

  async #patch(entry: EventEntry): Promise<void> {
    const { namespace, name = '' } = entry.event.metadata;
    const { client, form } = this.#options;
    const patch = { type: 'merge', body: form.repeated(entry) } as const;
    const resource = form.resource as Resource<object>;
    await this.#ask((signal) => client.patch(resource, { namespace, name }, patch, { signal }));
  }

  /**
   * One request. It ends after its time limit or with the writer, also if the client ignores the
   * signal.
   */
  async #ask(request: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const stop = this.#stop.signal;
    stop.throwIfAborted();
    const { clock } = this.#options;
    const over = new AbortController();
    const unlisten = onAbort(stop, () => over.abort(stop.reason));
    const late = new CapstanError('TIMEOUT', `no answer within ${ANSWER_MS} ms`);
    const timer = clock.setTimer(() => over.abort(late), ANSWER_MS);
    try {
      await abortable(request(over.signal), over.signal);
    } catch (error) {
      throw over.signal.aborted ? over.signal.reason : error;
    } finally {
      clock.clearTimer(timer);
      unlisten();
    }
  }
}

function namespaceOf({ event }: EventEntry): string {
  return event.metadata.namespace ?? '';
}

/** A patch did not find the Event, and then it existed at the create: the next patch finds it. */
class Overtaken extends CapstanError {
  constructor(message: string, cause: unknown) {
    super('EVENT', message, { cause });
  }
}

/**
 * Whether a retry may succeed. client-go gives up at any Status, because its REST client has
 * repeated 429 and 5xx before.
 */
function isPassing(error: unknown): boolean {
  if (isStatusError(error)) return error.status === 429 || error.status >= 500;
  if (isCapstanError(error)) return error instanceof Overtaken || PASSING.has(error.code);
  return true;
}

const PASSING: ReadonlySet<string> = new Set(['TRANSPORT', 'TIMEOUT', 'DECODE']);

function lost({ event }: EventEntry, cause: unknown, tries: number): CapstanError {
  const { kind, namespace, name } = event.regarding;
  const key = namespace === undefined ? name : `${namespace}/${name}`;
  const what = `${event.reason} of ${kind} ${key}`;
  return new CapstanError(
    'EVENT',
    `the event ${what} was not written after ${tries} tries: ${textOfError(cause)}`,
    {
      cause,
    },
  );
}
