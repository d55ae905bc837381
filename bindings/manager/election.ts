/**
 * Makes the elector of a manager from the option `leaderElection`: its Lease, identity, metrics and
 * health check. controller-runtime: pkg/leaderelection/leader_election.go.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { CapstanError, invalid, requireObject } from '../base/errors.ts';
import type { Transport } from '../cache/index.ts';
import {
  HealthzAdaptor,
  type LeaderCallbacks,
  LeaderElectionMetrics,
  LeaderElector,
  LeaseLock,
} from '../leaderelection/index.ts';
import type { LeaderElectionOptions, ManagerSettings } from './options.ts';

const IN_CLUSTER_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
/**
 * How long the lease may be expired before the health check fails, in milliseconds.
 * kube-controller-manager: 20 s.
 */
const TOLERATED_MS = 20_000;

/** The election of a manager. */
export interface Election {
  readonly elector: LeaderElector;
  readonly metrics: LeaderElectionMetrics;
  /** Throws if this process is the leader and has not renewed the lease for too long. */
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
      namespace: namespace ?? inClusterNamespace('options.leaderElection.namespace'),
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
    return random; // Deno without --allow-sys=hostname
  }
}

/** @param option the name of the option whose default it is */
export function inClusterNamespace(option: string): string {
  try {
    const namespace = readFileSync(IN_CLUSTER_NAMESPACE, 'utf8').trim();
    if (namespace === '') throw new Error(`${IN_CLUSTER_NAMESPACE} is empty`);
    return namespace;
  } catch (cause) {
    const why =
      (cause as NodeJS.ErrnoException).code === 'ENOENT'
        ? 'this process does not run in a pod, whose namespace is the default'
        : `the pod's namespace, which is the default, could not be read from ` +
          `${IN_CLUSTER_NAMESPACE}; allow that, or set the option`;
    throw new CapstanError('INVALID_ARGUMENT', `"${option}" is needed: ${why}`, { cause });
  }
}
