/**
 * The HTTP services of a manager: health probes, metrics, profiles, the live page and webhooks, on
 * one server for each bind address.
 *
 * Invariant: other machines can request paths below `/debug/` only if the service's options allow
 * it, or if `metrics.filter` lets them pass on the address of the metrics.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { textOfError } from '../base/error-text.ts';
import { handleError } from '../base/handle-error.ts';
import type { Collector } from '../controller/index.ts';
import { isLoopback, parseBindAddress } from './bind-address.ts';
import { collect, mergeExpositions } from './collect-metrics.ts';
import { type Checker, HealthHandler } from './healthz.ts';
import { HTTPServer } from './http-server.ts';
import type { ManagerSettings } from './options.ts';
import { type PageAccess, refusal } from './page/access.ts';
import type { LivePageHandler } from './page/debug-page.ts';
import { serveProfiles } from './profiling.ts';
import { type HTTPHandler, Router, sendText, targetOf } from './router.ts';
import { WebhookServer } from './webhook-server.ts';

const METRICS = '/metrics';
const DEBUG_PAGE = '/debug/capstan';

/** The HTTP services of a manager. */
export type Service = 'healthProbe' | 'metrics' | 'profiling' | 'debugPage' | 'webhook';

/** Makes the live page with the given access rules. */
export type NewPage = (access: {
  allowRemote: boolean;
  hosts: readonly string[];
}) => LivePageHandler;

export class Servers {
  readonly #settings: ManagerSettings;
  readonly #routers = new Map<string, { router: Router; names: string[] }>();
  readonly #servers = new Map<string, HTTPServer>();
  readonly #addresses = new Map<Service, string>();
  readonly #healthz: HealthHandler;
  readonly #readyz: HealthHandler;
  readonly #collectors: Iterable<Collector>;
  /** Undefined without the option `webhook`. */
  readonly webhooks: WebhookServer | undefined;

  /** `collectors` is read on each scrape. */
  constructor(settings: ManagerSettings, collectors: Iterable<Collector>, newPage: NewPage) {
    this.#settings = settings;
    this.#collectors = collectors;
    this.#healthz = new HealthHandler(settings.logger);
    this.#readyz = new HealthHandler(settings.logger);
    this.#mountHealth();
    this.#mountMetrics();
    this.#mountProfiles();
    this.#mountPage(newPage);
    this.webhooks = this.#mountWebhooks();
    const webhookAddress = this.#addresses.get('webhook');
    for (const [bindAddress, { router, names }] of this.#routers) {
      const ownTLS =
        bindAddress === settings.metrics.bindAddress ? settings.metrics.tls : undefined;
      const servesWebhooks = bindAddress === webhookAddress;
      const tls = servesWebhooks ? this.webhooks?.tls : ownTLS;
      const { clock, logger } = settings;
      const name = names.join(', ');
      this.#servers.set(
        bindAddress,
        new HTTPServer({
          name,
          bindAddress,
          handler: router.serve,
          clock,
          logger,
          // A server that has other services too starts with these, before the group of webhooks.
          webhooks: servesWebhooks && names.length === 1,
          ...(tls === undefined ? {} : { tls }),
        }),
      );
    }
  }

  all(): HTTPServer[] {
    return [...this.#servers.values()];
  }

  has(service: Service): boolean {
    return this.#addresses.has(service);
  }

  /** The URL of a service; `undefined` if it is off or does not listen yet. */
  url(service: Service): string | undefined {
    const address = this.#addresses.get(service);
    return address === undefined ? undefined : this.#servers.get(address)?.url;
  }

  addHealthzCheck(name: string, check: Checker): void {
    this.#healthz.set(name, check);
  }

  addReadyzCheck(name: string, check: Checker): void {
    this.#readyz.set(name, check);
  }

  /** Returns false if metrics are not served. */
  addMetricsHandler(path: string, handler: HTTPHandler): boolean {
    const address = this.#addresses.get('metrics');
    if (address === undefined) return false;
    this.#router(address).handle(path, this.#filtered(handler));
    return true;
  }

  #router(address: string, name?: string): Router {
    let entry = this.#routers.get(address);
    if (entry === undefined) {
      entry = { router: new Router(), names: [] };
      this.#routers.set(address, entry);
    }
    if (name !== undefined) entry.names.push(name);
    return entry.router;
  }

  /** The router for a service; `undefined` if the service is off. */
  #routerFor(service: Service, bindAddress: string | undefined, name: string): Router | undefined {
    if (bindAddress === undefined || parseBindAddress(service, bindAddress) === undefined)
      return undefined;
    this.#addresses.set(service, bindAddress);
    return this.#router(bindAddress, name);
  }

  #mountHealth(): void {
    const {
      bindAddress,
      readinessEndpointName = '/readyz',
      livenessEndpointName = '/healthz',
    } = this.#settings.healthProbe;
    const router = this.#routerFor('healthProbe', bindAddress, 'health probes');
    for (const [endpoint, handler] of [
      [readinessEndpointName, this.#readyz],
      [livenessEndpointName, this.#healthz],
    ] as const) {
      const serve: HTTPHandler = (request, response) =>
        handler.serve(targetOf(request).path.slice(endpoint.length), request, response);
      router?.handle(endpoint, serve);
      router?.handle(`${endpoint}/`, serve);
    }
  }

  #mountMetrics(): void {
    const { bindAddress, extraHandlers = {} } = this.#settings.metrics;
    const router = this.#routerFor('metrics', bindAddress, 'metrics');
    if (router === undefined) return;
    router.handle(
      METRICS,
      this.#filtered((request, response) => this.#serveMetrics(request, response)),
    );
    for (const [path, handler] of Object.entries(extraHandlers))
      this.addMetricsHandler(path, handler);
  }

  /**
   * If one collector fails, the response is an error, as in Prometheus' own handler: missing series
   * would look like a counter reset.
   */
  async #serveMetrics(...[request, response]: Parameters<HTTPHandler>): Promise<void> {
    const texts: string[] = [];
    const failures: string[] = [];
    for (const collected of await collect(this.#collectors, this.#settings.clock)) {
      if ('text' in collected) texts.push(collected.text);
      else {
        const { collectorName, error } = collected;
        handleError(error, `metrics: ${collectorName}`);
        failures.push(`${collectorName}: ${textOfError(error)}\n`);
      }
    }
    if (failures.length > 0) {
      sendText(
        response,
        500,
        `An error has occurred while serving metrics:\n\n${failures.join('')}`,
      );
      return;
    }
    const text = mergeExpositions(texts);
    const headers = {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      vary: 'accept-encoding',
    };
    if (!takesGzip(request.headers['accept-encoding'])) {
      response.writeHead(200, headers).end(text);
      return;
    }
    const packed = await gzipped(text);
    response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(packed);
  }

  #mountWebhooks(): WebhookServer | undefined {
    const { webhook, clock } = this.#settings;
    if (webhook === undefined) return undefined;
    const server = new WebhookServer(webhook, clock);
    this.#routerFor('webhook', webhook.bindAddress ?? ':9443', 'webhooks')?.handle(
      '/',
      server.serve,
    );
    server.listensAt(() => this.url('webhook'));
    return server;
  }

  #filtered(handler: HTTPHandler): HTTPHandler {
    const { filter } = this.#settings.metrics;
    if (filter === undefined) return handler;
    return async (request, response) => {
      if (await filter(request, response)) return handler(request, response);
    };
  }

  #mountProfiles(): void {
    const { bindAddress, allowRemote = false } = this.#settings.profiling;
    const router = this.#routerFor('profiling', bindAddress, 'profiles');
    if (router === undefined) return;
    const inner = new Router();
    const stopping = (): AbortSignal | undefined =>
      this.#servers.get(bindAddress as string)?.stopping;
    serveProfiles(inner, this.#settings.clock, stopping);
    const serve = localOnly(inner.serve, { allowRemote, hosts: new Set() });
    const isShared = bindAddress === this.#settings.metrics.bindAddress;
    router.handle('/debug/pprof/', isShared ? this.#filtered(serve) : serve);
  }

  /** The page checks access itself. */
  #mountPage(newPage: NewPage): void {
    const { debugPage, metrics } = this.#settings;
    if (debugPage === false) return;
    const own = typeof debugPage === 'object' ? debugPage : undefined;
    const bindAddress = own?.bindAddress ?? metrics.bindAddress;
    const bind = parseBindAddress('options.debugPage.bindAddress', bindAddress);
    if (bind === undefined || (debugPage === undefined && !isLoopback(bind.host))) return;
    const router = this.#routerFor('debugPage', bindAddress, 'live page');
    const allowRemote = own?.allowRemote ?? (debugPage === true && !isLoopback(bind.host));
    const page = newPage({ allowRemote, hosts: own?.hosts ?? [] });
    const open: HTTPHandler = (request, response) => void page(request, response);
    const serve = bindAddress === metrics.bindAddress ? this.#filtered(open) : open;
    router?.handle(DEBUG_PAGE, serve);
    router?.handle(`${DEBUG_PAGE}/`, serve);
  }
}

const gzipped = promisify<string, Buffer>(gzip);

/**
 * Parses the header in linear time, because a client may send any text: the pattern cannot match in
 * two ways.
 */
function takesGzip(header: string | string[] | undefined): boolean {
  return String(header)
    .split(',')
    .some((coding) => {
      const [gzip, weight = '1'] = /^\s*gzip\s*(?:;\s*q=([\d.]+)\s*)?$/i.exec(coding) ?? [];
      return gzip !== undefined && Number(weight) > 0;
    });
}

function localOnly(handler: HTTPHandler, access: PageAccess): HTTPHandler {
  return (request, response) => {
    if (access.allowRemote || refusal(request, access) === undefined)
      return handler(request, response);
    sendText(
      response,
      403,
      'profiles are served to this machine only: ' +
        'use localhost, for example with kubectl port-forward\n',
    );
  };
}
