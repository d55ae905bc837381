/**
 * Another cluster of a manager: a cache and a client of its own, and all else of the manager.
 * controller-runtime: pkg/cluster.
 */
import { invalid } from '../base/errors.ts';
import { omitUndefined } from '../base/json-value.ts';
import { type Logger, silentLogger, withFields } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FactoryOptions, Transport } from '../cache/index.ts';
import { FACTORY_NAMES } from '../cache/informer/factory-options.ts';
import { requireTransport } from '../cache/rest/transport.ts';
import { OWN_CLIENT_NAMES } from '../client/client.ts';
import type { Client, ClientOptions } from '../client/index.ts';
import type { Collector, Manager, Runnable } from '../controller/index.ts';
import { ManagedCache } from './managed-cache.ts';

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
export function requireClusterOptions(options: ClusterOptions): void {
  requireNames('options', options, 'option of addCluster()', CLUSTER_NAMES);
  const { name } = options;
  if (typeof name !== 'string' || name === '') throw invalid('options.name', 'a name', name);
  requireTransport('options.transport', options.transport);
}

/** What a cluster takes from its manager. */
export interface ClusterHost {
  readonly manager: Manager;
  /** With the metrics and the lease of the manager. */
  readonly transport: Transport;
  readonly informerMetrics: FactoryOptions['metricsProvider'];
  newClient(options: ClientOptions): Client;
}

export class ManagedCluster implements Cluster {
  readonly name: string;
  readonly transport: Transport;
  readonly cache: ManagedCache;
  readonly client: Client;
  readonly logger: Logger;
  readonly #manager: Manager;

  constructor(options: ClusterOptions, host: ClusterHost) {
    const { name, cache, client } = options;
    const { manager, transport, informerMetrics } = host;
    const { clock } = manager;
    this.name = name;
    this.#manager = manager;
    this.transport = transport;
    const { logger } = manager;
    this.logger = logger === silentLogger ? logger : withFields(logger, { cluster: name });
    const all = { clock, name, metricsProvider: informerMetrics, ...omitUndefined(cache ?? {}) };
    this.cache = new ManagedCache(transport, all, clock, this.logger);
    this.client = host.newClient({
      ...{ logger: this.logger, clock },
      ...omitUndefined(client ?? {}),
      transport,
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
