/**
 * A group of runnables that start and stop together. controller-runtime:
 * pkg/manager/runnable_group.go.
 *
 * Invariants:
 * - A runnable is started at most once: with the group, or at once if it is added later.
 * - After the stop has begun, nothing is added or started.
 *
 * If a group is stopped before it was started, its runnables get `discard` instead of `start`.
 * controller-runtime starts them and cancels them at once.
 */

import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { abortable } from '../base/wait.ts';
import type { Runnable } from '../controller/index.ts';

/** All groups, in the order in which they start. */
export const GROUPS = [
  'HTTP servers',
  'webhooks',
  'caches',
  'others',
  'warmup',
  'leader election',
] as const;
/** The name of a group. Groups start in this order. */
export type GroupName = (typeof GROUPS)[number];

/**
 * Resolves when the runnable works, so that the next group may start. If it rejects, the runnable
 * has failed.
 */
export type Ready = (options: { signal: AbortSignal }) => Promise<void>;

export interface GroupMember {
  readonly name: string;
  readonly runnable: Runnable;
  readonly ready: Ready | undefined;
  state: 'not started' | 'running' | 'ended' | 'failed';
  error: unknown;
  /** In milliseconds of the manager's clock. */
  failedAt?: number;
}

/** Gets the error of a runnable or of its readiness, also during the stop. Must not throw. */
export type OnError = (error: unknown, member: GroupMember) => void;

/**
 * The number of ended runnables that are kept for reports. A program may add any number of
 * runnables.
 */
const KEPT_ENDED = 20;

export class RunnableGroup {
  readonly name: GroupName;
  readonly #onError: OnError;
  readonly #abort = new AbortController();
  readonly #members = new Set<GroupMember>();
  readonly #running = new Map<GroupMember, Promise<void>>();
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

  /** In the order in which they were added; of those that have ended, the last twenty. */
  members(): GroupMember[] {
    return [...this.#members];
  }

  /** Throws CapstanError STOPPED if the group is stopping. */
  add(runnable: Runnable, ready?: Ready): void {
    const name = runnableName(runnable);
    if (this.stopped)
      throw new CapstanError('STOPPED', `${name} cannot be added: the manager is being stopped`);
    const member: GroupMember = { name, runnable, ready, state: 'not started', error: undefined };
    this.#members.add(member);
    if (this.#started) void this.#start(member);
  }

  /**
   * Starts the runnables and resolves when all are ready. Has no effect on a second call or after
   * the stop. Never rejects.
   */
  async start(): Promise<void> {
    if (this.#started || this.stopped) return;
    this.#started = true;
    await Promise.all([...this.#members].map((member) => this.#start(member)));
  }

  /**
   * Fires the signal of all runnables. Resolves when they have ended or the deadline fires, with
   * those that have not ended. May be called at any time and repeatedly.
   */
  async stopAndWait(deadline: AbortSignal): Promise<GroupMember[]> {
    if (!this.stopped) {
      this.#abort.abort(new CapstanError('STOPPED', 'the manager is being stopped'));
      for (const member of this.#members)
        if (member.state === 'not started') this.#follow(member, this.#discard(member));
    }
    await abortable(Promise.all(this.#running.values()), deadline).catch(() => undefined);
    return [...this.#running.keys()];
  }

  async #discard(member: GroupMember): Promise<void> {
    try {
      await member.runnable.discard?.();
    } catch (error) {
      handleError(error, `runnable "${member.name}", which was never started`);
    }
  }

  #follow(member: GroupMember, running: Promise<void>): void {
    this.#running.set(member, running);
    void running.then(() => this.#running.delete(member));
  }

  /** The number of runnables that have not ended. */
  running(): number {
    return this.#running.size;
  }

  /** Resolves when all current runnables have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Resolves when the runnable is ready or has failed. */
  async #start(member: GroupMember): Promise<void> {
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

  async #run(member: GroupMember, signal: AbortSignal): Promise<void> {
    try {
      await member.runnable.start({ signal });
      if (member.state === 'running') member.state = 'ended';
    } catch (error) {
      this.#failed(member, error);
    }
    this.#forgetEnded();
  }

  #failed(member: GroupMember, error: unknown): void {
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

/** The name of a runnable in messages. */
export function runnableName(runnable: Runnable): string {
  if (typeof runnable.name === 'string' && runnable.name !== '') return runnable.name;
  const name: unknown = runnable.constructor?.name;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? name : 'a runnable';
}
