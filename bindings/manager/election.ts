/**
 * The elector of a manager, from its options: which Lease, under which name, and what is told of
 * it. controller-runtime: pkg/leaderelection/leader_election.go.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { CapstanError, invalid, requireObject } from '../base/errors.ts';
import { namesOf } from '../base/names.ts';
import type { Transport } from '../cache/index.ts';
import {
  HealthzAdaptor,
  type LeaderCallbacks,
  LeaderElectionMetrics,
  LeaderElector,
  type LeaderElectorOptions,
  LeaseLock,
  type ResourceLock,
} from '../leaderelection/index.ts';
import type { ManagerSettings } from './options.ts';

const IN_CLUSTER_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
/**
 * For how long a lease that could not be renewed is tolerated before this process is unhealthy.
 * kube-controller-manager: 20 s.
 */
const TOLERATED_MS = 20_000;

/** Times are milliseconds. */
export interface LeaderElectionOptions
  extends Pick<LeaderElectorOptions, 'maxClockSkewRatio' | 'recorder' | 'random' | 'wallNow'> {
  /** The name of the Lease; every program needs its own. */
  id: string;
  /** The namespace of the Lease. Default: that of the pod. */
  namespace?: string | undefined;
  /** How long the others wait before they take the lease. Default 15 000. */
  leaseDuration?: number | undefined;
  /** How long a leader tries to renew before it gives up. Default 10 000. */
  renewDeadline?: number | undefined;
  /** How long to wait between two tries. Default 2000. */
  retryPeriod?: number | undefined;
  /**
   * Whether the lease is given away when the manager ends, so that the next leader need not wait
   * for it to run out. It is given away once everything that the leader runs has ended, and else
   * left to run out. Default false.
   */
  releaseOnCancel?: boolean | undefined;
  /**
   * When leading ends: `'lapse'`, the default, as soon as the own lease can no longer be relied
   * upon; `'deadline'`, as client-go does, when it could not be renewed for `renewDeadline`, even
   * if another has taken it. With `'lapse'` a process whose lease has run out sends nothing any
   * more but GET and HEAD through the manager's transport, its client included: such calls reject
   * with CapstanError ABORTED, also those of what needs no election, as the manager is ending.
   */
  stepDown?: LeaderElectorOptions['stepDown'] | undefined;
  /**
   * Which candidate this is; default the name of the host, where it may be read, and something
   * random.
   */
  identity?: string | undefined;
  /** Labels of the Lease. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** In place of a Lease; `id` is then a name for messages and metrics alone. */
  lock?: ResourceLock | undefined;
}

export const ELECTION_NAMES = namesOf<LeaderElectionOptions>()({
  id: 1,
  namespace: 1,
  leaseDuration: 1,
  renewDeadline: 1,
  retryPeriod: 1,
  releaseOnCancel: 1,
  stepDown: 1,
  identity: 1,
  labels: 1,
  lock: 1,
  maxClockSkewRatio: 1,
  recorder: 1,
  random: 1,
  wallNow: 1,
});

/** An election that a manager takes part in. */
export interface Election {
  readonly elector: LeaderElector;
  readonly metrics: LeaderElectionMetrics;
  /** Throws where this process believes to lead and has not renewed for too long. */
  readonly check: () => void;
  /** `namespace/name` of the Lease. */
  readonly lease: string;
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function electionOf(
  options: LeaderElectionOptions,
  transport: Transport,
  { clock, logger, wallNow }: ManagerSettings,
  callbacks: LeaderCallbacks,
): Election {
  requireObject('options.leaderElection', options);
  const { id, namespace, identity, labels, lock: given, stepDown = 'lapse', ...timing } = options;
  if (typeof id !== 'string' || id === '')
    throw invalid('options.leaderElection.id', 'the name of a Lease', id);
  const lock =
    given ??
    new LeaseLock(transport, {
      namespace: namespace ?? inClusterNamespace(),
      name: id,
      identity: identity ?? ownIdentity(),
      ...(labels === undefined ? {} : { labels }),
    });
  const metrics = new LeaderElectionMetrics();
  const watchDog = new HealthzAdaptor(TOLERATED_MS);
  const elector = new LeaderElector({
    ...timing,
    wallNow: timing.wallNow ?? wallNow,
    lock,
    stepDown,
    name: id,
    clock,
    logger,
    metrics,
    watchDog,
    callbacks,
  });
  return { elector, metrics, check: () => watchDog.check(), lease: lock.describe() };
}

function ownIdentity(): string {
  const random = randomUUID();
  try {
    return `${hostname()}_${random}`;
  } catch {
    return random; // Deno, without --allow-sys=hostname
  }
}

function inClusterNamespace(): string {
  try {
    const namespace = readFileSync(IN_CLUSTER_NAMESPACE, 'utf8').trim();
    if (namespace === '') throw new Error(`${IN_CLUSTER_NAMESPACE} is empty`);
    return namespace;
  } catch (cause) {
    const why =
      (cause as NodeJS.ErrnoException).code === 'ENOENT'
        ? 'this process does not run in a pod, whose namespace would be the default'
        : `the pod's, which is the default, could not be read from ${IN_CLUSTER_NAMESPACE}; allow that, or set it`;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"options.leaderElection.namespace" is needed: ${why}`,
      { cause },
    );
  }
}
