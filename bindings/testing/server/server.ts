/**
 * The embedded API server on a socket; serving.ts handles the requests. Invariants: `stop` leaves
 * no socket, timer or listener behind; a fault that was removed hits no later request.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { requireNode } from '../../base/environment.ts';
import { CapstanError, invalid, requireInteger } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { type Transport, TransportError } from '../../cache/rest/transport.ts';
import { httpTransport } from '../../client-node/http-transport.ts';
import { headersAs, requireUser, type ServerUser } from './auth/users.ts';
import { closesPort, type Fault } from './faults.ts';
import { parseTarget } from './request/request-target.ts';
import { Serving } from './serving.ts';
import {
  type CheckedServing,
  requireServingOptions,
  SERVING_NAMES,
  type ServingOptions,
} from './serving-options.ts';

/** Key and certificate of the server, as PEM text. */
export interface ServerTls {
  key: string;
  cert: string;
  /** The CA that `transport()` trusts. Default: `cert`. */
  ca?: string;
}

/** The address of an {@link ApiServer}, and how it serves. */
export interface ApiServerOptions extends ServingOptions {
  /** The port on 127.0.0.1. 0, the default, takes a free one. */
  port?: number | undefined;
  /** https instead of http, with this key and certificate (for 127.0.0.1). */
  tls?: ServerTls | undefined;
}

const NAMES = namesOf<ApiServerOptions>()({
  ...SERVING_NAMES,
  port: 1,
  tls: namesOf<ServerTls>()({ key: 1, cert: 1, ca: 1 }),
});

/** Of {@link ApiServer.transport}. */
export interface ServerTransportOptions {
  /** Sent with every request, such as `authorization`. */
  headers?: Record<string, string> | undefined;
  /**
   * Sends requests as this user, by impersonation: a name, such as
   * `system:serviceaccount:default:web`, or a name with groups.
   */
  as?: string | ServerUser | undefined;
}

const TRANSPORT_NAMES = namesOf<ServerTransportOptions>()({ headers: 1, as: 1 });

/**
 * A Kubernetes API server for tests: HTTP/1.1 on loopback, in this process, without etcd, with the
 * answers of a kube-apiserver. Any group, version and resource works without registration, and
 * namespaces need not exist. There is no authorization unless `authorization` is set, no admission
 * and no garbage collector, and no Pod is scheduled. {@link fakeTransport} is the same server
 * without a socket.
 *
 * - create (generateName), get, list (limit, continue, selectors), update, delete (finalizers,
 *   preconditions), deletecollection, `/status`, `/scale`, and the other subresources of built-in
 *   kinds; conflicts by resourceVersion; generation; dry run of every write.
 * - JSON, merge and strategic merge patch, and server-side apply: `managedFields` of every write,
 *   conflicts, `force`, removal of fields that are no longer applied. Lists are merged by the keys
 *   of kube-apiserver's types, those of custom resources by their schema.
 * - watch: from any resourceVersion in the history, bookmarks, timeoutSeconds, changes of a
 *   selector's match, initial events; 410 as an event for an expired resourceVersion.
 * - discovery, single and aggregated; PartialObjectMetadata; Tables, as kubectl uses them; YAML
 *   with the peer `yaml`; gzip for lists above 128 KiB; TLS.
 * - OpenAPI v2 and v3 as `kubectl explain`, `apply` and `diff` read it: of built-in kinds from
 *   kube-apiserver, of custom kinds from their definition.
 * - Faults and outages: `inject`, `dropConnections`, `expireHistory`, `removeResource` and
 *   `setTokens`.
 *
 * Custom resources: the first object defines the kind and the scope, and there is a status
 * subresource. A CustomResourceDefinition defines them exactly; its schema prunes, sets defaults
 * and validates. Changing it ends the watches, and stored objects are served by the new schema.
 * Deleting it deletes the objects and the resource. An object exists in all versions: each serves
 * it with its own apiVersion and the fields of its schema. Built-in kinds lose unknown fields (a
 * warning or an error, by `fieldValidation`), have their types checked (times and null as Go reads
 * them), and behave as the real ones do where clients notice (status, generation, updates without a
 * resourceVersion, stringData of Secrets, Events in two groups).
 *
 * Differences from a real server:
 * - OpenAPI is served as JSON only, and describes all subresources of built-in kinds, also those
 *   that are not served.
 * - Expressions in mutating admission policies are compiled only in part.
 * - Custom resources are converted by the strategy None, also if their definition has a conversion
 *   webhook.
 * - Rules in CEL need the peer `@marcbachmann/cel-js`. Without it they are not evaluated, and
 *   expressions in built-in kinds are not compiled. Rules that use `sortBy`,
 *   `transformMap`, `transformMapEntry`, `jsonpatch` or `authorizer` are never evaluated. The cost
 *   of rules is not estimated or limited. Lists that are sets compare in their order.
 * - An update that keeps a value that violates a rule gets no warning.
 * - A controller ends a deleted namespace after 5 s by `clock`, which a bare kube-apiserver does
 *   not do; a namespace with a Pod on a node waits for it.
 * - No controller counts the healthy Pods of a disruption budget: evictions go by the status that a
 *   test writes.
 * - No kubelet gives logs, runs commands or ends Pods: a deleted Pod on a node stays, marked, until
 *   it is deleted with `gracePeriodSeconds: 0`, as on envtest.
 * - No garbage collector runs: a Job or ReplicationController that is deleted without
 *   `propagationPolicy` stays with the finalizer `orphan`, as on a bare kube-apiserver (set
 *   `Background`).
 * - Fields that a schema once pruned from a stored object do not come back with a later schema.
 * - The error of a strict patch quotes the object in JavaScript's order of members.
 *
 * In a test declare it by `await using`: it then ends with the test, also if the test fails. A
 * server that is not stopped keeps the process alive.
 *
 * @example
 * await using server = await ApiServer.start();
 * const answer = await fetch(`${server.url}/api/v1/namespaces/default/configmaps`);
 */
export class ApiServer {
  /** `http://127.0.0.1:<port>`, or https. */
  readonly url: string;
  readonly #port: number;
  readonly #ca: string | undefined;
  readonly #server: Server;
  readonly #serving: Serving;
  readonly #sockets: Set<Socket>;
  #stopped: Promise<void> | undefined;

  /** Listens on loopback. Rejects with the system's error if the port is in use. */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    requireNode('capstan/testing');
    requireNames('options', options, 'option of ApiServer.start()', NAMES);
    const { port = 0, tls } = options;
    requireInteger('port', port, 0);
    if (port > 65_535) throw invalid('port', 'a port number', port);
    const serving = requireServingOptions(options);
    if (tls !== undefined && (typeof tls?.key !== 'string' || typeof tls.cert !== 'string'))
      throw invalid('tls', 'an object with key and cert as PEM text', tls);
    // Watches may be silent, and pooled connections idle, for any time.
    const patient = { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 };
    const server =
      tls === undefined ? createServer(patient) : createTlsServer({ ...patient, ...tls });
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await listen(server, port);
    const apiServer = new ApiServer(server, sockets, tls, serving);
    apiServer.setTokens(options.tokens);
    return apiServer;
  }

  private constructor(
    server: Server,
    sockets: Set<Socket>,
    tls: ServerTls | undefined,
    options: CheckedServing,
  ) {
    this.#server = server;
    this.#sockets = sockets;
    this.#port = (server.address() as AddressInfo).port;
    this.#ca = tls === undefined ? undefined : (tls.ca ?? tls.cert);
    this.url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
    this.#serving = new Serving(`127.0.0.1:${this.#port}`, options, true);
    server.on('request', (request, response) => void this.#serving.serve(request, response));
    server.on('error', (error) => handleError(error, 'embedded API server'));
  }

  /**
   * A transport to this server, with its own connection pool; over TLS it trusts the server.
   *
   * @throws CapstanError INVALID_ARGUMENT
   * @example
   * await using server = await ApiServer.start({ authorization: 'RBAC' });
   * const transport = server.transport({ as: 'system:serviceaccount:default:web' });
   */
  transport(options: ServerTransportOptions = {}): Transport & AsyncDisposable {
    requireNames('options', options, 'option of transport()', TRANSPORT_NAMES);
    const { as } = options;
    if (as !== undefined) requireUser('as', as);
    const headers = { ...(as === undefined ? {} : headersAs(as)), ...options.headers };
    const connect = (): Transport =>
      httpTransport(this.url, {
        headers,
        ...(this.#ca === undefined ? {} : { tls: { ca: this.#ca } }),
      });
    const inner = connect();
    /** Connections for requests that were to be reset when they were sent, and then were not. */
    const others = new Set<Transport>();
    let closed = false;
    const close = async (): Promise<void> => {
      closed = true;
      await Promise.all([inner, ...others].map((each) => each.close?.()));
    };
    return {
      request: async (request) => {
        const query = new URLSearchParams(request.query ?? {}).toString();
        const target = parseTarget(
          request.method,
          query === '' ? request.path : `${request.path}?${query}`,
        );
        // A refusal must come before there is a connection; see Fault.
        const refused = this.#serving.faults.take(target, 'refuse');
        if (refused.length > 0)
          throw new TransportError(
            'refused',
            `connect ECONNREFUSED 127.0.0.1:${this.#port} (injected)`,
          );
        if (closed || !this.#serving.faults.meets(target, 'reset')) return inner.request(request);
        // On its own connection: on a reused one a reset looks as if the server had closed it,
        // and a GET would be sent again.
        const other = connect();
        others.add(other);
        try {
          return await other.request(request);
        } catch (error) {
          others.delete(other);
          await other.close?.();
          throw error;
        }
      },
      close,
      [Symbol.asyncDispose]: close,
      host: () => new URL(this.url).host,
    };
  }

  /**
   * Injects a fault into later requests; running watches are not affected. Returns the function
   * that removes the fault: it hits no further request, but requests that it has hit stay so (a
   * stalled one is never answered).
   */
  inject(fault: Fault): () => void {
    if (this.#stopped !== undefined)
      throw new CapstanError('STOPPED', 'inject() on a server that was stopped');
    const takeBack = this.#serving.faults.add(fault);
    if (closesPort(fault)) {
      this.#server.close();
      this.dropConnections();
    }
    return () => {
      takeBack();
      if (
        this.#stopped === undefined &&
        !this.#server.listening &&
        !this.#serving.faults.portClosed()
      ) {
        this.#server.listen(this.#port, '127.0.0.1');
      }
    };
  }

  /**
   * The faults with `times` that have hit fewer requests. A test checks at its end that there are
   * none, as it may otherwise pass without the fault.
   */
  unmetFaults(): Fault[] {
    return this.#serving.faults.unmet();
  }

  /**
   * Drops the history: every resourceVersion so far is expired. A watch from one gets 410 as an
   * event, a continue token 410 with a new token, an exact list 410. Running watches go on.
   */
  expireHistory(): void {
    this.#serving.api.registry.expireHistory();
  }

  /**
   * Removes a resource in all versions, as deleting its CustomResourceDefinition does: its objects
   * are deleted, its watches end, and its paths answer 404. Returns the function that restores it,
   * without objects.
   */
  removeResource(resource: { group: string; version: string; plural: string }): () => void {
    const { group, version, plural } = resource;
    return this.#serving.api.registry.removeResource({ group, version, plural });
  }

  /**
   * Requires one of these bearer tokens; other requests get 401. undefined: no token is required.
   * Running watches go on, as they were authenticated at their start.
   */
  setTokens(tokens: readonly string[] | undefined): void {
    this.#serving.api.setTokens(tokens);
  }

  /**
   * Cuts all open connections, also those of running watches. The server still accepts new ones.
   */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /**
   * Ends all connections and frees the port; resolves when it is free. Later calls return the same
   * promise.
   */
  stop(): Promise<void> {
    this.#stopped ??= new Promise((resolve) => {
      this.#serving.api.registry.stop();
      // An error means that a fault has closed the port.
      this.#server.close(() => resolve());
      this.dropConnections();
    });
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
