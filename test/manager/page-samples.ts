/**
 * A manager's report with an example of everything, for tests and pictures of the live page. Each
 * test changes the part that it is about.
 */
import type { Cause, ControllerReport, KeyReport, RunReport } from 'capstan/controller';
import type {
  InformerReport,
  ManagerReport,
  ShardReplicaOverview,
  ShardReport,
  ShardSlot,
} from 'capstan/manager';

/** The clock of the samples. */
const NOW = 5_000_000;

export function sampleCause(kind: Cause['kind'], agoMs: number, more: Partial<Cause> = {}): Cause {
  return { kind, source: 'for Website', at: NOW - agoMs, ...more };
}

const website = (name: string): Cause['object'] => ({
  kind: 'Website',
  namespace: 'demo',
  name,
  resourceVersion: '4711',
});
const deployment = (name: string): Cause['object'] =>
  ({ ...website(name), kind: 'Deployment' }) as Cause['object'];

export function sampleKey(name: string, more: Partial<KeyReport> = {}): KeyReport {
  return {
    namespace: 'demo',
    name,
    state: 'ready',
    priority: 0,
    waitingMs: undefined,
    sinceMs: 40,
    failures: 0,
    lastError: undefined,
    causes: [sampleCause('update', 40, { object: website(name), predicate: 'generationChanged' })],
    moreCauses: 0,
    ...more,
  };
}

export function runOf(name: string, more: Partial<RunReport> = {}): RunReport {
  return {
    namespace: 'demo',
    name,
    reconcileId: `run-${name}-${more.agoMs ?? 12_000}`,
    outcome: 'success',
    attempt: 1,
    agoMs: 12_000,
    tookMs: 38,
    causes: [
      sampleCause('update', 12_040, { object: deployment(name), source: 'owns Deployment' }),
    ],
    moreCauses: 0,
    ...more,
  };
}

export function informerOf(key: string, more: Partial<InformerReport> = {}): InformerReport {
  return {
    key,
    resource: key,
    state: 'watching',
    lastSyncResourceVersion: '48211',
    lastSignOfLife: 2100,
    relists: 0,
    watches: 1,
    failures: { auth: 0, expired: 0, throttled: 0, network: 0, decode: 0, full: 0, server: 0 },
    skippedEvents: 0,
    lastFailure: undefined,
    hasSynced: true,
    isStopped: false,
    objects: 412,
    bytes: { live: 1_204_223, total: 2_097_152 },
    metadataOnly: 0,
    notIndexed: 0,
    queued: 0,
    handlers: [{ name: 'website', hasSynced: true, pending: 0, coalesced: 0, failed: 0 }],
    ...more,
  };
}

export function controllerOf(more: Partial<ControllerReport> = {}): ControllerReport {
  return {
    name: 'website',
    groupKind: 'Website.demo.capstan.dev',
    state: 'running',
    workers: 4,
    sources: [
      {
        name: 'for Website',
        synced: true,
        events: { handled: 1841, filtered: 9204, failed: 0 },
        informer: 'websites.demo.capstan.dev/v1',
      },
      {
        name: 'owns Deployment',
        synced: true,
        events: { handled: 3312, filtered: 118, failed: 0 },
        informer: 'deployments.apps/v1',
      },
    ],
    hotLoops: [],
    queue: { ready: 1, waiting: 2, processing: 1, hasPriorities: true },
    keys: [
      sampleKey('docs', { state: 'processing', sinceMs: 3120 }),
      sampleKey('shop', {
        state: 'waiting',
        waitingMs: 42_300,
        failures: 7,
        lastError: {
          name: 'StatusError STATUS',
          message: 'update deployments.apps "shop": 409 Conflict: the object has been modified',
          agoMs: 21_400,
        },
        causes: [
          sampleCause('update', 90_000, { object: deployment('shop'), source: 'owns Deployment' }),
          sampleCause('retry', 21_400, { source: 'website', attempt: 8 }),
        ],
      }),
      sampleKey('blog'),
      sampleKey('news', {
        state: 'waiting',
        waitingMs: 288_000,
        priority: -100,
        causes: [sampleCause('requeueAfter', 12_000, { source: 'website' })],
      }),
    ],
    recent: [
      runOf('shop', {
        agoMs: 21_400,
        outcome: 'error',
        attempt: 7,
        tookMs: 204,
        causes: [sampleCause('retry', 42_000, { source: 'website', attempt: 7 })],
        error: {
          name: 'StatusError STATUS',
          message: 'update deployments.apps "shop": 409 Conflict: the object has been modified',
          agoMs: 21_400,
        },
      }),
      runOf('news', { outcome: 'requeueAfter', requeueAfterMs: 300_000 }),
      runOf('landing'),
      runOf('wiki', {
        agoMs: 65_000,
        outcome: 'terminal',
        error: { name: 'TypeError', message: 'spec.host is empty', agoMs: 65_000 },
      }),
    ],
    totals: { success: 12_842, requeue: 3, requeueAfter: 411, error: 97, terminal: 1, aborted: 0 },
    more: false,
    ...more,
  };
}

/** Two replicas that share slots, one that joins, and one that has died. */
export function shardsOf(more: Partial<ShardReport> = {}): ShardReport {
  const names = ['web-6d8f-2kq4x-81c0', 'web-6d8f-9nd7p-4be2', 'web-6d8f-x2x1p-0f37'];
  const [a = '', b = '', c = ''] = names;
  const slots = Array.from({ length: 64 }, (_, slot): ShardSlot => {
    const owner = slot === 63 ? '' : slot < 30 ? a : slot < 60 ? b : c;
    const isMoved = slot === 28 || slot === 29 || slot === 58;
    return {
      slot,
      from: `0x${(slot * 4).toString(16).padStart(2, '0')}00000000000000`,
      to: `0x${(slot * 4 + 4).toString(16).padStart(2, '0')}00000000000000`,
      owner,
      ...(isMoved && { movesTo: c, step: slot === 29 ? 'warming' : 'warm' }),
      ...(owner !== '' && { objects: 290 + ((slot * 37) % 41) }),
    };
  });
  const replica = (name: string, rest: Partial<ShardReplicaOverview>): ShardReplicaOverview => {
    const own = slots.filter(({ owner }) => owner === name);
    return {
      name,
      state: 'live',
      slots: own.map(({ slot }) => slot),
      incoming: slots.filter(({ movesTo }) => movesTo === name).length,
      outgoing: own.filter(({ movesTo }) => movesTo !== undefined).length,
      objects: own.reduce((sum, { objects = 0 }) => sum + objects, 0),
      renewedMs: 900,
      leaseDuration: 15_000,
      epoch: 48_231,
      ...rest,
    };
  };
  return {
    id: 'website-controller',
    namespace: 'demo',
    map: 'good',
    epoch: 48_231,
    isNew: false,
    coordinator: b,
    slots,
    replicas: [
      replica(a, {}),
      replica(b, { renewedMs: 1700 }),
      replica(c, { renewedMs: 200 }),
      replica('web-6d8f-zz7lw-77aa', { state: 'ended', renewedMs: 18_400, epoch: 48_219 }),
    ],
    replica: a,
    isValid: true,
    isReady: true,
    states: slots.map(({ owner }) => (owner === a ? 'open' : 'idle')),
    unownedMs: 3400,
    moves: { assigned: 64, died: 31, leaving: 0, rebalance: 4 },
    ...more,
  };
}

export function reportOf(more: Partial<ManagerReport> = {}): ManagerReport {
  return {
    version: '0.1.0',
    startedAgoMs: 7_512_000,
    now: NOW,
    stopping: false,
    leader: {
      lease: 'demo/website-controller',
      identity: 'website-7c9f-x2x1p',
      holder: 'website-7c9f-x2x1p',
      holdsLease: true,
      validMs: 12_400,
    },
    controllers: [controllerOf()],
    informers: [
      informerOf('websites.demo.capstan.dev/v1'),
      informerOf('deployments.apps/v1', {
        state: 'waiting',
        lastSignOfLife: 61_000,
        relists: 2,
        failures: { auth: 0, expired: 1, throttled: 0, network: 4, decode: 0, full: 0, server: 0 },
        lastFailure: {
          class: 'network',
          next: 'rewatch',
          afterMs: 8000,
          agoMs: 3100,
          error: new Error('connect ECONNREFUSED 10.96.0.1:443'),
        },
        handlers: [{ name: 'website', hasSynced: true, pending: 31, coalesced: 0, failed: 0 }],
      }),
    ],
    runnables: [
      { name: 'metrics', group: 'HTTP servers', state: 'running' },
      { name: 'cleanup', group: 'leader election', state: 'running' },
    ],
    ...more,
  };
}
