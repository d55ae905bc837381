/**
 * Writes Events, a few at a time and each of them by one request at a time, so that an Event is never created twice and no older count
 * overtakes a newer. What fails on the way is tried again, twelve times in two minutes, and nothing else waits for it; what the server
 * refuses is given up, as it would be refused again. client-go: tools/events/event_broadcaster.go attemptRecording, recordEvent.
 */
import { isNotFound, isStatusError } from '../../cache/status-error.ts';
import type { Clock } from '../../clock.ts';
import { textOfError } from '../../error-text.ts';
import { CapstanError } from '../../errors.ts';
import type { Writer } from '../types.ts';
import { eventResource } from './event.ts';
import { type Entry, eventOf, MAX_ENTRIES, seriesOf } from './series.ts';

/** client-go: maxTriesPerEvent, defaultSleepDuration, recordWorkers. */
const MAX_TRIES = 12;
const SLEEP_MS = 10_000;
const WORKERS = 8;

export interface EventWriterOptions {
  readonly client: Pick<Writer, 'create' | 'patch'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Of an Event that will not be written. Must not throw. */
  readonly onLost: (error: CapstanError) => void;
  /** Of one that is given up because too many others have failed. Must not throw. */
  readonly onFull: (message: string, cause: unknown) => void;
  readonly onWritten: () => void;
}

export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #queue: Entry[] = [];
  /** How often those failed in a row that are tried again. They keep their place until they are through: no more than are remembered. */
  readonly #tries = new Map<Entry, number>();
  /** Those of them whose time has not come, with their timers. */
  readonly #later = new Map<Entry, unknown>();
  /** Ends everything. */
  readonly #stop = new AbortController();
  readonly #idle: (() => void)[] = [];
  #hurried = false;
  #working = 0;
  #waitingNew = 0;

  constructor(options: EventWriterOptions) {
    this.#options = options;
  }

  /** How many Events wait to be written for the first time. Who adds has to bound it; of the others there are no more than are remembered. */
  get waitingNew(): number {
    return this.#waitingNew;
  }

  /** An entry that waits already is written once, as it is by then. */
  add(entry: Entry): void {
    if (entry.state === 'writing') entry.state = 'again';
    if (entry.state !== 'idle') return;
    entry.state = entry.count === 1 ? 'new' : 'queued';
    if (entry.state === 'new') this.#waitingNew++;
    this.#push(entry);
  }

  /** Resolves when nothing is left to write. From now on nothing waits before it is tried again, and it is so once. */
  async drain(): Promise<void> {
    this.#hurried = true;
    for (const [entry, timer] of this.#later) {
      this.#options.clock.clearTimer(timer);
      this.#due(entry);
    }
    if (this.#working > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** After `drain`: gives up what is left, and says how many waited; those that are being written are reported one by one. */
  stop(): number {
    this.#stop.abort();
    return this.#queue.splice(0).length;
  }

  #push(entry: Entry): void {
    this.#queue.push(entry);
    if (this.#working < WORKERS) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working++;
    await undefined; // nothing of a request happens within the call that records; what is said at once is written at once
    for (let entry = this.#queue.shift(); entry !== undefined; entry = this.#queue.shift()) {
      if (entry.state === 'new') this.#waitingNew--;
      entry.state = 'writing';
      await this.#try(entry);
    }
    if (--this.#working === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #try(entry: Entry): Promise<void> {
    const most = this.#hurried ? 2 : MAX_TRIES; // a try that began before the end has one after it
    try {
      await this.#send(entry);
    } catch (error) {
      this.#failed(entry, error, most);
      return;
    }
    this.#tries.delete(entry);
    this.#options.onWritten();
    // Whoever added it meanwhile may have had nothing to say that was not in this write.
    const again = entry.state === 'again' && entry.count > entry.written;
    entry.state = 'idle';
    if (again) this.add(entry);
  }

  /** Its worker goes on with others while it waits for its next try. */
  #failed(entry: Entry, error: unknown, most: number): void {
    const { clock, random, onLost, onFull } = this.#options;
    const tries = (this.#tries.get(entry) ?? 0) + 1;
    this.#tries.delete(entry);
    entry.state = 'idle';
    if (tries >= most || !isPassing(error) || this.#stop.signal.aborted) {
      onLost(lost(entry, error, tries));
      return;
    }
    if (this.#tries.size >= MAX_ENTRIES && !this.#hurried) {
      onFull(`${MAX_ENTRIES} events wait to be tried again: what else fails is given up`, error);
      return;
    }
    this.#tries.set(entry, tries);
    entry.state = 'queued';
    const ms = SLEEP_MS * (1 + 0.25 * random());
    if (this.#hurried) this.#push(entry);
    else
      this.#later.set(
        entry,
        clock.setTimer(() => this.#due(entry), ms),
      );
  }

  #due(entry: Entry): void {
    this.#later.delete(entry);
    this.#push(entry);
  }

  /** One try: an Event that the server has not is created, with its series if it has one by now; one that it has gets its series. */
  async #send(entry: Entry): Promise<void> {
    const { count } = entry;
    if (entry.written === 0) {
      if (await this.#created(entry)) {
        entry.written = count;
        return;
      }
      entry.written = 1; // an earlier try came through, and its answer did not
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

  /** False if it is there already. */
  async #created(entry: Entry): Promise<boolean> {
    try {
      await this.#options.client.create(eventResource, eventOf(entry), { signal: this.#stop.signal });
      return true;
    } catch (error) {
      if (isStatusError(error) && error.reason === 'AlreadyExists') return false;
      throw error;
    }
  }

  async #patch(entry: Entry): Promise<void> {
    const { namespace, name = '' } = entry.event.metadata;
    const patch = { type: 'merge', body: { series: seriesOf(entry) } } as const;
    await this.#options.client.patch(eventResource, { namespace, name }, patch, { signal: this.#stop.signal });
  }
}

/** The Event was not there to be patched, and was there when it was to be created: the next patch will find it. */
class Overtaken extends CapstanError {
  constructor(message: string, cause: unknown) {
    super('EVENT', message, { cause });
  }
}

/** Whether the next try may go better. client-go gives up at any Status, as its REST client has repeated 429 and 5xx before. */
function isPassing(error: unknown): boolean {
  if (isStatusError(error)) return error.status === 429 || error.status >= 500;
  if (error instanceof CapstanError) return error instanceof Overtaken || PASSING.has(error.code);
  return true;
}

const PASSING: ReadonlySet<string> = new Set(['TRANSPORT', 'TIMEOUT', 'DECODE']);

function lost({ event }: Entry, cause: unknown, tries: number): CapstanError {
  const { kind, namespace, name } = event.regarding;
  const what = `${event.reason} of ${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  return new CapstanError('EVENT', `the event ${what} was not written after ${tries} tries: ${textOfError(cause)}`, {
    cause,
  });
}
