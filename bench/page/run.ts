/**
 * Runs a plan. For each line of the plan every peer has a worker, and the workers take turns (A B A
 * B); the first round of each is a warm-up.
 *
 * In one worker the times of each peer would include collecting the garbage of the other one, as a
 * page cannot call the browser's collector. A stop ends the workers at once, also in the middle of
 * a round; the figures so far are kept.
 */
import { type Item, type Plan, plannedItems, STEADY_TURNS, steadyShape } from './plan.ts';
import {
  type Order,
  PAGE_PEERS,
  type PagePeerName,
  type Report,
  type SteadySlice,
  type WorkerFacts,
} from './protocol.ts';
import type { Samples } from './result.ts';

export interface Progress {
  /** 0 to 1 */
  part: number;
  text: string;
}

export interface Listener {
  facts(facts: WorkerFacts): void;
  progress(progress: Progress): void;
  /** Called before a line is measured, and with `undefined` before the steady load. */
  line(item: Item | undefined): void;
  /** Called after each round but the warm-up. */
  sample(item: Item, samples: Samples): void;
  /** Called during the steady load. The first turn is 0. */
  slice(peer: PagePeerName, turn: number, slice: SteadySlice): void;
}

/** An error of a worker, with its code if it has one. */
export class WorkerError extends Error {
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }

  override get name(): string {
    return 'WorkerError';
  }
}

/** A worker of one peer, which takes one order at a time. */
class PeerWorker {
  readonly #worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
  readonly #signal: AbortSignal;
  readonly #end = (): void => this.end();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#end);
  }

  /**
   * Sends an order; resolves with the answer. `onSlice` is called with each message before it.
   * Rejects with a WorkerError, or with the signal's reason.
   */
  ask(order: Order, onSlice?: (slice: SteadySlice, warm: boolean) => void): Promise<Report> {
    return new Promise((resolve, reject) => {
      const signal = this.#signal;
      const onAbort = (): void => reject(signal.reason);
      const settle = (act: () => void): void => {
        signal.removeEventListener('abort', onAbort);
        act();
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort);
      this.#worker.onmessage = ({ data }: MessageEvent<Report>) => {
        if (data.type === 'slice') onSlice?.(data.slice, data.warm);
        else if (data.type === 'error') {
          settle(() => reject(new WorkerError(`${data.name}: ${data.message}`, data.code)));
        } else settle(() => resolve(data));
      };
      this.#worker.onerror = (event) => {
        event.preventDefault();
        // A script that cannot be loaded gives an event without a message.
        const message =
          event.message || 'the worker could not be started: worker.js is missing or was refused';
        settle(() => reject(new WorkerError(message)));
      };
      this.#worker.postMessage(order);
    });
  }

  end(): void {
    this.#signal.removeEventListener('abort', this.#end);
    this.#worker.terminate();
  }
}

/** The parts of a plan with their share of the time, so that the progress bar moves evenly. */
class Steps {
  readonly #total: number;
  #done = 0;
  readonly #listener: Listener;

  constructor(total: number, listener: Listener) {
    this.#total = total;
    this.#listener = listener;
  }

  at(text: string): void {
    this.#listener.progress({ part: this.#done / this.#total, text });
  }

  advance(weight: number): void {
    this.#done += weight;
  }
}

const countText = (n: number): string => `${n.toLocaleString('en')} ${n === 1 ? 'key' : 'keys'}`;

async function measureItem(
  item: Item,
  plan: Plan,
  steps: Steps,
  signal: AbortSignal,
  listener: Listener,
) {
  const workers = { capstan: new PeerWorker(signal), naive: new PeerWorker(signal) };
  const samples: Samples = { capstan: [], naive: [] };
  try {
    steps.at(`${item.work}, ${countText(item.n)}: preparing`);
    for (const peer of PAGE_PEERS) {
      const report = await workers[peer].ask({ type: 'prepare', peer, ...item });
      if (report.type === 'prepared') listener.facts(report.facts);
    }
    for (let round = 0; round <= plan.rounds; round++) {
      const name = round === 0 ? 'warm-up' : `round ${round} of ${plan.rounds}`;
      steps.at(`${item.work}, ${countText(item.n)}: ${name}`);
      for (const peer of PAGE_PEERS) {
        const report = await workers[peer].ask({ type: 'round' });
        steps.advance(weightOf(item));
        if (report.type === 'round' && round > 0) samples[peer].push(report.ns);
      }
      if (round > 0) listener.sample(item, samples);
    }
  } finally {
    for (const peer of PAGE_PEERS) workers[peer].end();
  }
}

async function measureSteady(
  plan: Plan,
  steps: Steps,
  signal: AbortSignal,
  listener: Listener,
): Promise<void> {
  const shape = steadyShape(plan);
  for (let turn = 0; turn < STEADY_TURNS; turn++) {
    for (const peer of PAGE_PEERS) {
      const worker = new PeerWorker(signal); // a new heap for each turn
      const place = `steady load, turn ${turn + 1} of ${STEADY_TURNS}, ${peer}`;
      try {
        steps.at(`${place}: filling with ${countText(shape.live)}`);
        let seen = 0;
        const report = await worker.ask({ type: 'steady', peer, shape }, (slice, warm) => {
          if (warm) {
            steps.at(`${place}: warm-up`);
            return;
          }
          if (seen++ === 0) steps.at(`${place}: measuring`);
          listener.slice(peer, turn, slice);
        });
        if (report.type === 'steady-done') listener.facts(report.facts);
        steps.advance(shape.ms + shape.warmUpMs);
      } finally {
        worker.end();
      }
    }
  }
}

/** The approximate milliseconds of a round. */
const weightOf = ({ n }: Item): number => (n > 100_000 ? 1000 : 220);

/** Rejects with a WorkerError, or with the signal's reason. */
export async function runPlan(plan: Plan, signal: AbortSignal, listener: Listener): Promise<void> {
  const items = plannedItems(plan);
  const shape = steadyShape(plan);
  const works = items.reduce(
    (sum, item) => sum + weightOf(item) * PAGE_PEERS.length * (plan.rounds + 1),
    0,
  );
  const steady =
    plan.live === 0 ? 0 : PAGE_PEERS.length * STEADY_TURNS * (shape.ms + shape.warmUpMs);
  const steps = new Steps(works + steady, listener);
  for (const item of items) {
    listener.line(item);
    await measureItem(item, plan, steps, signal, listener);
  }
  listener.line(undefined);
  if (plan.live > 0) await measureSteady(plan, steps, signal, listener);
}
