/**
 * The groups of a manager's runnables: which runnable belongs to which group, and the order in
 * which groups start and stop. controller-runtime: pkg/manager/runnable_group.go runnables,
 * internal.go Start and engageStopProcedure.
 */

import { invalid, requireFunction } from '../base/errors.ts';
import { namesOf, requireMembers } from '../base/names.ts';
import type { Runnable } from '../controller/index.ts';
import { RUNNABLE_NAMES } from '../controller/manager.ts';
import {
  GROUPS,
  type GroupMember,
  type GroupName,
  type OnError,
  type Ready,
  RunnableGroup,
  runnableName,
} from './runnable-group.ts';

/**
 * A runnable that must work before the controllers start: an HTTP server, a webhook server, or a
 * cache of another cluster. A runnable without a group belongs to `leader election`, or to `others`
 * if `needLeaderElection` returns false.
 */
export interface GroupedRunnable extends Runnable {
  readonly group: 'HTTP servers' | 'webhooks' | 'caches';
  /**
   * Resolves when the runnable works, so that the next group may start. Absent: the manager does
   * not wait.
   */
  ready?: Ready;
}

const NAMES = namesOf<GroupedRunnable>()({ ...RUNNABLE_NAMES, group: 1, ready: 1 });

/** Stopped one after the other, while warm-up stops at the same time. */
const STOP_ORDER: readonly GroupName[] = [
  'others',
  'leader election',
  'caches',
  'webhooks',
  'HTTP servers',
];

export class Runnables {
  readonly #groups: Readonly<Record<GroupName, RunnableGroup>>;

  constructor(onError: OnError) {
    const group = (name: GroupName): RunnableGroup => new RunnableGroup(name, onError);
    this.#groups = {
      'HTTP servers': group('HTTP servers'),
      webhooks: group('webhooks'),
      caches: group('caches'),
      others: group('others'),
      warmup: group('warmup'),
      'leader election': group('leader election'),
    };
  }

  group(name: GroupName): RunnableGroup {
    return this.#groups[name];
  }

  /**
   * Throws CapstanError INVALID_ARGUMENT for a value that is not a runnable, STOPPED if the manager
   * is stopping.
   */
  add(runnable: Runnable): void {
    requireMembers('runnable', runnable, 'member of a Runnable', NAMES, true);
    requireFunction('runnable.start', runnable.start);
    for (const method of ['needLeaderElection', 'warmup', 'discard', 'report'] as const) {
      if (runnable[method] !== undefined) requireFunction(`runnable.${method}`, runnable[method]);
    }
    const { group, ready } = runnable as Partial<GroupedRunnable>;
    const needsLeader = runnable.needLeaderElection?.() ?? group === undefined;
    if (needsLeader || group === undefined) {
      this.#add(needsLeader ? 'leader election' : 'others', runnable);
      return;
    }
    if (group !== 'HTTP servers' && group !== 'webhooks' && group !== 'caches')
      throw invalid('runnable.group', "'HTTP servers', 'webhooks' or 'caches'", group);
    if (ready !== undefined) requireFunction('runnable.ready', ready);
    this.#groups[group].add(
      runnable,
      ready === undefined ? undefined : (options) => ready.call(runnable, options),
    );
  }

  /** In the order in which their groups start. */
  members(): (GroupMember & { readonly group: GroupName })[] {
    return GROUPS.flatMap((group) =>
      this.#groups[group].members().map((member) => ({ ...member, group })),
    );
  }

  /**
   * Stops all groups in order. Resolves when all have ended, or when the deadline fires and all
   * were told to stop. Returns the names of the runnables that were awaited and have not ended.
   */
  async stopAll(deadline: AbortSignal): Promise<string[]> {
    const late = async (name: GroupName): Promise<string[]> => {
      const hadTime = !deadline.aborted;
      const left = await this.#groups[name].stopAndWait(deadline);
      return hadTime ? left.map((member) => `${member.name} (${name})`) : [];
    };
    // At the same time, because a warm-up may wait for one of the others, or the reverse.
    const warmup = late('warmup');
    const names: string[] = [];
    for (const name of STOP_ORDER) names.push(...(await late(name)));
    return [...names, ...(await warmup)];
  }

  #add(group: 'others' | 'leader election', runnable: Runnable): void {
    const { warmup } = this.#groups;
    // First, because it may throw: nothing is then added to warm-up.
    this.#groups[group].add(runnable);
    if (runnable.warmup === undefined) return;
    warmup.add({
      name: runnableName(runnable),
      start: async (options) => runnable.warmup?.(options),
    });
  }
}
