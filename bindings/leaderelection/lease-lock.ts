/**
 * A lock on a Lease of coordination.k8s.io/v1. It keeps the whole object that was read or written
 * last and sends it back with a new spec. The server therefore refuses the write if anyone has
 * changed the Lease since, and labels, annotations and owners of others stay. client-go:
 * tools/leaderelection/resourcelock/leaselock.go.
 */

import { CapstanError, invalid } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { pathSegment } from '../base/urls.ts';
import { requireTransport, type Transport } from '../cache/rest/transport.ts';
import { requestJson } from './lease-requests.ts';
import {
  type LeaderElectionRecord,
  type LeaseSpec,
  type LockCall,
  type LockReference,
  type ResourceLock,
  recordOfSpec,
  specOfRecord,
} from './lock.ts';

/** Options of a {@link LeaseLock}. */
export interface LeaseLockOptions {
  /** The namespace of the Lease. */
  readonly namespace: string;
  /** The name of the Lease. */
  readonly name: string;
  /**
   * The identity of this candidate. No other candidate may have it, nor this one after a restart
   * within a lease duration; for example the host name with a random part. Two processes with one
   * identity would both lead.
   */
  readonly identity: string;
  /** Set on the Lease with each write. Other labels stay. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The field manager of the writes. Default: the server derives it from the user agent. */
  readonly fieldOwner?: string | undefined;
}

const NAMES = namesOf<LeaseLockOptions>()({
  namespace: 1,
  name: 1,
  identity: 1,
  labels: 1,
  fieldOwner: 1,
});

interface Lease {
  apiVersion: string;
  kind: string;
  metadata: { namespace?: string; name?: string; uid?: string; labels?: Record<string, string> };
  spec?: LeaseSpec;
}

const GROUP_VERSION = 'coordination.k8s.io/v1';

/**
 * The lock of an election that uses a Lease. The account needs the verbs get, create and update on
 * `leases` of `coordination.k8s.io`. client-go: resourcelock.LeaseLock.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const lock = new LeaseLock(transport, {
 *   namespace: 'default',
 *   name: 'website-controller',
 *   identity: `web-${crypto.randomUUID()}`,
 * });
 */
export class LeaseLock implements ResourceLock {
  readonly identity: string;
  readonly #transport: Transport;
  readonly #namespace: string;
  readonly #name: string;
  readonly #labels: Readonly<Record<string, string>> | undefined;
  readonly #fieldOwner: string | undefined;
  readonly #path: string;
  readonly #own: string;
  /** The last response of the server; the base of the next update. */
  #lease: Lease | undefined;

  constructor(transport: Transport, options: LeaseLockOptions) {
    requireTransport('transport', transport);
    requireNames('options', options, 'option of a LeaseLock', NAMES);
    const { namespace, name, identity, labels, fieldOwner } = options;
    if (typeof identity !== 'string' || identity === '')
      throw invalid('identity', 'a string that is not empty', identity);
    if (fieldOwner !== undefined && typeof fieldOwner !== 'string')
      throw invalid('fieldOwner', 'a string', fieldOwner);
    this.identity = identity;
    this.#transport = transport;
    this.#namespace = namespace;
    this.#name = name;
    this.#labels = labels;
    this.#fieldOwner = fieldOwner;
    this.#path = `/apis/${GROUP_VERSION}/namespaces/${pathSegment('namespace', namespace)}/leases`;
    this.#own = `${this.#path}/${pathSegment('name', name)}`;
  }

  async get(call: LockCall): Promise<LeaderElectionRecord> {
    this.#lease = await this.#request('GET', this.#own, undefined, call);
    return recordOfSpec(this.#lease.spec ?? {});
  }

  async create(record: LeaderElectionRecord, call: LockCall): Promise<void> {
    const lease: Lease = {
      apiVersion: GROUP_VERSION,
      kind: 'Lease',
      metadata: {
        namespace: this.#namespace,
        name: this.#name,
        ...(this.#labels === undefined ? {} : { labels: { ...this.#labels } }),
      },
      spec: specOfRecord(record),
    };
    this.#lease = await this.#request('POST', this.#path, lease, call);
  }

  /**
   * Rejects with CapstanError INVALID_ARGUMENT before the first `get` or `create`, because there is
   * no version to compare with.
   */
  async update(record: LeaderElectionRecord, call: LockCall): Promise<void> {
    const last = this.#lease;
    if (last === undefined)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `lease ${this.describe()}: call get or create before update`,
      );
    const labels =
      this.#labels === undefined ? {} : { labels: { ...last.metadata.labels, ...this.#labels } };
    const lease: Lease = {
      ...last,
      metadata: { ...last.metadata, ...labels },
      spec: specOfRecord(record),
    };
    this.#lease = await this.#request('PUT', this.#own, lease, call);
  }

  /** `namespace/name`. */
  describe(): string {
    return `${this.#namespace}/${this.#name}`;
  }

  reference(): LockReference {
    const uid = this.#lease?.metadata.uid;
    return {
      apiVersion: GROUP_VERSION,
      kind: 'Lease',
      metadata: {
        namespace: this.#namespace,
        name: this.#name,
        ...(uid === undefined ? {} : { uid }),
      },
    };
  }

  async #request(
    method: string,
    path: string,
    body: Lease | undefined,
    call: LockCall,
  ): Promise<Lease> {
    const headers: Record<string, string> = { accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    // The server gets the same timeout, as from client-go, so that a write does not take effect
    // after the call was given up.
    const query: Record<string, string> = { timeout: `${Math.ceil(call.timeout)}ms` };
    if (body !== undefined && this.#fieldOwner !== undefined) query.fieldManager = this.#fieldOwner;
    const answer = await requestJson(
      this.#transport,
      {
        method,
        path,
        query,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      call,
    );
    const { metadata } = answer as Partial<Lease>;
    if (typeof metadata === 'object' && metadata !== null)
      return { ...(answer as Lease), metadata };
    throw new CapstanError(
      'DECODE',
      `${method} ${path} expected a Lease, got an object without metadata`,
    );
  }
}
