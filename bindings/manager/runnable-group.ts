/**
 * Runnables that start together and end together. controller-runtime:
 * pkg/manager/runnable_group.go.
 *
 * Invariants: a runnable is started at most once; one that was added before the start is started by
 * it, one that comes later at once; once the group is being stopped nothing is added, and what was
 * never started never will be. Where controller-runtime starts what is queued and cancels it in the
 * same moment when a group is stopped that had not been started, here it is told to give back what
 * it holds (`discard`).
 */

import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { abortable } from '../base/wait.ts';
import type { Runnable } from '../controller/index.ts';

/** In the order in which they are started. */
export const GROUPS = [
  'HTTP servers',
  'webhooks',
  'caches',
  'others',
  'warmup',
  'leader election',
] as const;
/** The groups, in the order in which they start. */
export type GroupName = (typeof GROUPS)[number];

/**
 * Resolves when the runnable does its work, so that what follows may start. A rejection counts as
 * the runnable's.
 */
export type Ready = (options: { signal: AbortSignal }) => Promise<void>;

export interface Member {
  readonly name: string;
  readonly runnable: Runnable;
  readonly ready: Ready | undefined;
  state: 'not started' | 'running' | 'ended' | 'failed';
  error: unknown;
  /** By the manager's clock, in milliseconds. */
  failedAt?: number;
}

/**
 * Is told the error of a runnable, or of its readiness, while the group runs and while it ends.
 * Must not throw.
 */
export type OnError = (error: unknown, member: Member) => void;

/** How many that have ended are kept for reports: a program may add runnables for ever. */
const KEPT_ENDED = 20;

export class RunnableGroup {
  readonly name: GroupName;
  readonly #onError: OnError;
  readonly #abort = new AbortController();
  readonly #members = new Set<Member>();
  readonly #running = new Map<Member, Promise<void>>();
  #started = false;

  constructor(name: GroupName, onError: OnError) {
    this.name = name;
    this.#onError = onError;
  }

  get started(): boolean {
    return this.#started;
  }

  get stopped(): boolean {
    return this.#abort.signal.aborted;
  }

  /** In the order of their adding; of those that have ended the last twenty. */
  members(): Member[] {
    return [...this.#members];
  }

  /** Throws CapstanError STOPPED once the group is being stopped. */
  add(runnable: Runnable, ready?: Ready): void {
    const name = runnableName(runnable);
    if (this.stopped)
      throw new CapstanError('STOPPED', `${name} cannot be added: the manager is being stopped`);
    const member: Member = { name, runnable, ready, state: 'not started', error: undefined };
    this.#members.add(member);
    if (this.#started) void this.#start(member);
  }

  /**
   * Starts what was added and resolves when all of it is ready. Again, or after the stop: no
   * effect. Never rejects.
   */
  async start(): Promise<void> {
    if (this.#started || this.stopped) return;
    this.#started = true;
    await Promise.all([...this.#members].map((member) => this.#start(member)));
  }

  /**
   * Fires the signal of all runnables and resolves when they have ended, or when the deadline
   * fires; with those that have not ended. Legal at any time and any number of times.
   */
  async stopAndWait(deadline: AbortSignal): Promise<Member[]> {
    if (!this.stopped) {
      this.#abort.abort(new CapstanError('STOPPED', 'the manager is being stopped'));
      for (const member of this.#members)
        if (member.state === 'not started') this.#follow(member, this.#discard(member));
    }
    await abortable(Promise.all(this.#running.values()), deadline).catch(() => undefined);
    return [...this.#running.keys()];
  }

  async #discard(member: Member): Promise<void> {
    try {
      await member.runnable.discard?.();
    } catch (error) {
      handleError(error, `runnable "${member.name}", which was never started`);
    }
  }

  #follow(member: Member, running: Promise<void>): void {
    this.#running.set(member, running);
    void running.then(() => this.#running.delete(member));
  }

  /** How many have not ended. */
  running(): number {
    return this.#running.size;
  }

  /** Resolves when all that run now have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Resolves when it is ready, or will never be. */
  async #start(member: Member): Promise<void> {
    const { signal } = this.#abort;
    member.state = 'running';
    this.#follow(member, this.#run(member, signal));
    if (member.ready === undefined) return;
    try {
      await member.ready({ signal });
    } catch (error) {
      this.#failed(member, error);
    }
  }

  async #run(member: Member, signal: AbortSignal): Promise<void> {
    try {
      await member.runnable.start({ signal });
      if (member.state === 'running') member.state = 'ended';
    } catch (error) {
      this.#failed(member, error);
    }
    this.#forgetEnded();
  }

  #failed(member: Member, error: unknown): void {
    member.state = 'failed';
    member.error = error;
    this.#onError(error, member);
  }

  #forgetEnded(): void {
    const ended = [...this.#members].filter(({ state }) => state === 'ended');
    for (const member of ended.slice(0, Math.max(0, ended.length - KEPT_ENDED)))
      this.#members.delete(member);
  }
}

/** What a runnable is called in messages. */
export function runnableName(runnable: Runnable): string {
  if (typeof runnable.name === 'string' && runnable.name !== '') return runnable.name;
  const name: unknown = runnable.constructor?.name;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? name : 'a runnable';
}
