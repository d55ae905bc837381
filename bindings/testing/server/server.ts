/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The embedded API server on a socket: requests are handed to serving.ts, one at a time.
 * Invariants: `stop` leaves no socket, no timer and no listener behind; a fault that is taken back
 * hits no request that arrives afterwards.
 */
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
import { parseTarget } from './request-target.ts';
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
  /** What `transport()` trusts; `cert` itself, when left out. */
  ca?: string;
}

/** Where an {@link ApiServer} listens, and how it serves. */
export interface ApiServerOptions extends ServingOptions {
  /** The port on 127.0.0.1; 0, the default, takes a free one. */
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
   * The user as whom requests are sent, by impersonation: a name, such as
   * `system:serviceaccount:default:web`, or a name with groups.
   */
  as?: string | ServerUser | undefined;
}

const TRANSPORT_NAMES = namesOf<ServerTransportOptions>()({ headers: 1, as: 1 });

/**
 * A Kubernetes API server for tests: real HTTP/1.1 on loopback, in this process, without etcd, and
 * with the answers of a real kube-apiserver. Any group, version and resource works without
 * registration; namespaces need not exist. There is no authorization unless `authorization` asks
 * for it, no admission and no garbage collector, and nothing schedules a Pod. Without a socket:
 * {@link fakeTransport}.
 *
 * - create (generateName), get, list (limit, continue, selectors), update, delete (finalizers,
 *   preconditions), deletecollection, `/status`, `/scale`, and the other subresources of built-in
 *   kinds; conflicts by resourceVersion; generation; dry run of every write.
 * - JSON, merge and strategic merge patch, and server-side apply: `managedFields` of every write,
 *   conflicts, `force`, removal of what is applied no longer; lists merge by the keys of
 *   kube-apiserver's own types, those of custom resources by their schema.
 * - watch: from any version in the history, bookmarks, timeoutSeconds, selector transitions,
 *   initial events; 410 as an event once the version is out of the history.
 * - discovery, list by list and aggregated; metadata alone (PartialObjectMetadata), Tables as
 *   kubectl asks for them, YAML where the peer `yaml` is installed, lists above 128 KiB compressed
 *   with gzip for those who accept it, TLS.
 * - OpenAPI v2 and v3 as `kubectl explain`, `apply` and `diff` read it: of built-in kinds what
 *   kube-apiserver says, of custom kinds what their definition does.
 * - `inject` for faults, `dropConnections`, `expireHistory`, `removeResource` and `setTokens` for
 *   the rest of a bad day.
 *
 * Custom resources: the first object tells the kind and the scope, and there is a status
 * subresource; creating their CustomResourceDefinition says all this exactly, prunes, fills in
 * defaults and validates by its schema, changing it ends the watches and shows what is stored by
 * the new schema, and deleting it takes the objects and the resource away. An object is one under
 * all versions: in each it has that one's apiVersion and what its schema knows. Built-in kinds lose
 * fields that they do not have (told or refused as `fieldValidation` asks), have their types
 * checked (times and null as Go reads them), and behave as the real ones do where clients notice
 * (status, generation, updates without a version, Secrets' stringData, Events under two names).
 *
 * What differs from a real server: OpenAPI comes as JSON alone, and describes all subresources of
 * built-in kinds, also those that are not served; of the expressions in built-in kinds those of
 * mutations are compiled in part, and none without that peer; custom resources are converted as by
 * the strategy None, also where a definition has a webhook for it; rules in CEL need the peer
 * `@marcbachmann/cel-js` and are not asked without it, nor where they use `optMap`, `sortBy`,
 * comprehensions over two variables or `transformList` and the like; what rules cost is not
 * estimated, so that none is too expensive, and lists that are sets compare in their order; an
 * update that leaves a value as a rule does not want it is not warned of; a namespace that is
 * deleted is emptied and ended by a controller after 5 s by `clock`, where a bare kube-apiserver
 * has none, and one with a Pod on a node waits for that; nobody counts the healthy Pods of a
 * disruption budget, so that evictions go by the status that a test writes; no kubelet gives logs,
 * runs commands or ends Pods, so that a Pod on a node that is deleted stays, marked, until it is
 * deleted with `gracePeriodSeconds: 0`, as on envtest; nobody collects garbage, so that a Job or
 * ReplicationController that is deleted without a `propagationPolicy` stays with the finalizer
 * `orphan`, as it does on a bare server (say `Background`); what a definition's schema once cut
 * from a stored object does not come back with a later one; a strict patch is refused with the
 * object in JavaScript's order of members.
 *
 * @example
 * const server = await ApiServer.start();
 * const answer = await fetch(`${server.url}/api/v1/namespaces/default/configmaps`);
 * await server.stop();
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

  /**
   * Listens on loopback. Rejects with what the system says when the port is taken.
   */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    requireNode('capstan/testing');
    requireNames('options', options, 'option of ApiServer.start()', NAMES);
    const { port = 0, tls } = options;
    requireInteger('port', port, 0);
    if (port > 65_535) throw invalid('port', 'a port number', port);
    const serving = requireServingOptions(options);
    if (tls !== undefined && (typeof tls?.key !== 'string' || typeof tls.cert !== 'string'))
      throw invalid('tls', 'an object with key and cert as PEM text', tls);
    // A watch is silent for as long as it likes, and a pooled connection idles for as long as its
    // client likes.
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
   * A transport to this server, with a connection pool of its own; over TLS it trusts the server.
   *
   * @throws CapstanError INVALID_ARGUMENT
   * @example
   * const server = await ApiServer.start({ authorization: 'RBAC' });
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
    /** Of requests that were about to be reset when they were sent, and were not. */
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
        // A refusal has to come before there is a connection; see Fault.
        const refused = this.#serving.faults.take(target, 'refuse');
        if (refused.length > 0)
          throw new TransportError(
            'refused',
            `connect ECONNREFUSED 127.0.0.1:${this.#port} (injected)`,
          );
        if (closed || !this.#serving.faults.meets(target, 'reset')) return inner.request(request);
        // On a connection of its own: on one that was used before, a reset looks like a server that
        // had closed it meanwhile, and a GET is sent again.
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
   * Lets requests fail from now on, as `fault` says; running watches are not touched. Gives the
   * function that takes it back: what has hit already stays (a stalled request is never answered),
   * nothing else is hit.
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
   * The faults with `times` that have not hit as often yet: a test asks at its end, lest it passed
   * because nothing happened.
   */
  unmetFaults(): Fault[] {
    return this.#serving.faults.unmet();
  }

  /**
   * Drops all history: every version handed out before is from now on too old. A watch from it gets
   * 410 as an event, a continue token 410 with a token to go on with, an exact list 410. Running
   * watches go on.
   */
  expireHistory(): void {
    this.#serving.api.registry.expireHistory();
  }

  /**
   * Takes a resource away, as deleting its CustomResourceDefinition does: its objects are deleted,
   * its watches end, and its paths are 404, those of its other versions too. Gives the function
   * that brings it back, empty.
   */
  removeResource(resource: { group: string; version: string; plural: string }): () => void {
    const { group, version, plural } = resource;
    return this.#serving.api.registry.removeResource({ group, version, plural });
  }

  /**
   * From now on a request without one of these as its bearer token is 401; undefined: anybody may.
   * Running watches go on, as they were authenticated when they began.
   */
  setTokens(tokens: readonly string[] | undefined): void {
    this.#serving.api.setTokens(tokens);
  }

  /** Cuts all open connections, those of running watches too. The next connect succeeds. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends all connections and frees the port; resolves when it is free. Again: the same promise. */
  stop(): Promise<void> {
    this.#stopped ??= new Promise((resolve) => {
      this.#serving.api.registry.stop();
      // An error says that the port is closed already, by a fault.
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
