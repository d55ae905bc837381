/**
 * The other clusters of a manager: each has its own cache and client, and uses the manager for all
 * else. controller-runtime: pkg/cluster.
 */
import { CapstanError, invalid } from '../base/errors.ts';
import { omitUndefined } from '../base/json-value.ts';
import { type Logger, silentLogger, withFields } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FactoryOptions, SharedIndexInformer, Transport } from '../cache/index.ts';
import { FACTORY_NAMES } from '../cache/informer/factory-options.ts';
import { requireTransport } from '../cache/rest/transport.ts';
import { OWN_CLIENT_NAMES } from '../client/client.ts';
import type { Client, ClientOptions } from '../client/index.ts';
import type { Collector, Manager, Runnable } from '../controller/index.ts';
import { ManagedCache } from './managed-cache.ts';
import { clientOf } from './options.ts';
import type { GroupedRunnable } from './runnables.ts';

/** Options of `addCluster` of a manager. */
export interface ClusterOptions {
  /** Names the cluster in logs, metrics and reports, such as `east`. */
  readonly name: string;
  /** The connection to its API server. It is not closed by the manager. */
  readonly transport: Transport;
  /** Options of its informers, as `cache` of a manager. */
  readonly cache?: FactoryOptions | undefined;
  /** Options of its client, as `client` of a manager. */
  readonly client?: Omit<ClientOptions, 'transport' | 'cache'> | undefined;
}

/**
 * Another cluster of a manager. It stands for the manager where a controller is made, so that the
 * controller watches, reads and writes there: `newControllerManagedBy(east).for(Pod)`. The process,
 * its lease and its servers are the manager's.
 */
export interface Cluster extends Manager {
  readonly name: string;
}

const CLUSTER_NAMES = namesOf<ClusterOptions>()({
  name: 1,
  transport: 1,
  cache: FACTORY_NAMES,
  client: OWN_CLIENT_NAMES,
});

/** Throws CapstanError INVALID_ARGUMENT. */
function requireClusterOptions(options: ClusterOptions): void {
  requireNames('options', options, 'option of addCluster()', CLUSTER_NAMES);
  const { name } = options;
  if (typeof name !== 'string' || name === '') throw invalid('options.name', 'a name', name);
  requireTransport('options.transport', options.transport);
}

/** What the clusters take from their manager. */
interface ClusterHost {
  readonly manager: Manager;
  /** Adds the metrics and the lease of the manager to a transport. */
  readonly managed: (transport: Transport) => Transport;
  readonly informerMetrics: FactoryOptions['metricsProvider'];
  readonly newClient: (options: ClientOptions) => Client;
}

/** The other clusters of one manager, by name. */
export class Clusters {
  readonly #host: ClusterHost;
  readonly #byName = new Map<string, ManagedCluster>();

  constructor(host: ClusterHost) {
    this.#host = host;
  }

  /** See `addCluster` of a manager. */
  add(options: ClusterOptions): Cluster {
    requireClusterOptions(options);
    const { name } = options;
    const { manager } = this.#host;
    if (manager.shards !== undefined)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        'a manager with shards has no other clusters: each replica would work on all objects there',
      );
    if (this.#byName.has(name))
      throw invalid('options.name', 'a name that no other cluster of this manager has', name);
    const cluster = new ManagedCluster(options, this.#host);
    const { cache } = cluster;
    const informers: GroupedRunnable = {
      name: `informers of ${name}`,
      group: 'caches',
      start: (run) => cache.run(run),
      ready: (run) => cache.ready(run),
      discard: () => cache.shutdown(),
    };
    manager.add(informers);
    this.#byName.set(name, cluster);
    return cluster;
  }

  /** By the names of their cluster and resource. */
  informers(): Map<string, SharedIndexInformer<never, string>> {
    const all = new Map<string, SharedIndexInformer<never, string>>();
    for (const [cluster, { cache }] of this.#byName)
      for (const [name, informer] of cache.informers()) all.set(`${cluster}: ${name}`, informer);
    return all;
  }
}

class ManagedCluster implements Cluster {
  readonly name: string;
  readonly transport: Transport;
  readonly cache: ManagedCache;
  readonly client: Client;
  readonly logger: Logger;
  readonly #manager: Manager;

  constructor(options: ClusterOptions, host: ClusterHost) {
    const { name, cache, client } = options;
    const { manager, informerMetrics } = host;
    const { clock } = manager;
    this.name = name;
    this.#manager = manager;
    this.transport = host.managed(options.transport);
    const { logger } = manager;
    this.logger = logger === silentLogger ? logger : withFields(logger, { cluster: name });
    const all = { clock, name, metricsProvider: informerMetrics, ...omitUndefined(cache ?? {}) };
    this.cache = new ManagedCache(this.transport, all, clock, this.logger);
    this.client = clientOf(host.newClient, {
      ...{ logger: this.logger, clock },
      ...omitUndefined(client ?? {}),
      transport: this.transport,
      cache: this.cache,
    });
  }

  get clock(): Manager['clock'] {
    return this.#manager.clock;
  }

  get wallNow(): Manager['wallNow'] {
    return this.#manager.wallNow;
  }

  get tracer(): Manager['tracer'] {
    return this.#manager.tracer;
  }

  get controllerDefaults(): Manager['controllerDefaults'] {
    return this.#manager.controllerDefaults;
  }

  get queueMetrics(): Manager['queueMetrics'] {
    return this.#manager.queueMetrics;
  }

  add(runnable: Runnable): void {
    this.#manager.add(runnable);
  }

  addCollector(collector: Collector): void {
    this.#manager.addCollector(collector);
  }

  elected(): Promise<void> {
    return this.#manager.elected();
  }

  holdsLease(): boolean {
    return this.#manager.holdsLease();
  }
}
