/**
 * The HTTPS server of webhooks: handlers by path, certificates, and metrics of the requests.
 * controller-runtime:
 * pkg/webhook/server.go, pkg/webhook/internal/metrics.
 */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import {
  CapstanError,
  invalid,
  requireBoolean,
  requireInteger,
  requireString,
} from '../base/errors.ts';
import {
  byName,
  emptyHistogram,
  expositionText,
  type Histogram,
  histogramSamples,
  labelPairs,
  metricFamily,
  observe,
  type Sample,
} from '../base/exposition.ts';
import type { Collector } from '../controller/index.ts';
import { parseBindAddress } from './bind-address.ts';
import { type Certificates, certificateFiles } from './certificates.ts';
import { type HTTPHandler, Router } from './router.ts';

/** How the API server reaches the webhooks: by a Service, or by a URL with a path prefix. */
export interface WebhookClientConfig {
  /** Its port is 443 by default. */
  service?: { namespace: string; name: string; port?: number | undefined } | undefined;
  /** Such as `https://127.0.0.1:9443`. */
  url?: string | undefined;
}

/** Options of certificates that the manager makes and keeps in a Secret. */
export interface SelfManagedCertificates {
  /** The namespace of the Secret. */
  namespace: string;
  /** The name of the Secret. The replicas of one program share it; each program needs its own. */
  secretName: string;
  /** The names or IP addresses in the certificate, such as `web.default.svc`. */
  dnsNames: readonly string[];
  /** As `install` of {@link WebhookOptions}. */
  install?: boolean | undefined;
}

/** Options of the webhook server of a manager. */
export interface WebhookOptions {
  /** The address to listen on. Default `:9443`. */
  bindAddress?: string | undefined;
  /**
   * The folder of `tls.crt` and `tls.key`, which are read again every ten seconds. Default:
   * `k8s-webhook-server/serving-certs` in the system's folder of temporary files, as in
   * controller-runtime.
   */
  certDir?: string | undefined;
  /** Makes a certificate authority and certificates, instead of `certDir`. */
  selfManaged?: SelfManagedCertificates | undefined;
  /**
   * How the API server reaches this server. Default: the Service of the first name in
   * `selfManaged.dnsNames` of the form `NAME.NAMESPACE.svc`.
   */
  clientConfig?: WebhookClientConfig | undefined;
  /**
   * The name of the configurations. Default: `selfManaged.secretName`, or `capstan`. Each program
   * needs its own.
   */
  configurationName?: string | undefined;
  /**
   * Applies the webhook configurations at the start, when the certificate authority changes, and
   * every ten minutes. With `certDir` the authority is `ca.crt` there. Default false.
   */
  install?: boolean | undefined;
  /**
   * The longest body of a review, in bytes. Default 3 MiB (controller-runtime: 7 MiB). A longer one
   * gets 413, and the API server applies the `failurePolicy`. A conversion may always have 64 MiB.
   */
  maxBodyBytes?: number | undefined;
}

/** The bounds of prometheus.DefBuckets, in seconds. */
const BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The source of the certificates of a webhook server. */
export interface WebhookCertificates {
  /** The present key and certificate. */
  current: () => SecureContextOptions | Promise<SecureContextOptions>;
  /** The certificates, as PEM text, of the authorities that the API server is to trust. */
  authority: () => Promise<string | undefined>;
}

interface Figures {
  inFlight: number;
  readonly codes: Map<string, number>;
  readonly latency: Histogram;
}

/**
 * The webhook server of a manager with the option `webhook`. `newWebhookManagedBy` of
 * `capstan/webhook` registers webhooks; `register` adds any other handler. controller-runtime:
 * webhook.Server.
 *
 * @example
 * const manager = newManager({ transport, webhook: { certDir: '/certs' } });
 * manager.webhookServer?.register('/hello', (_, response) => void response.end('hello'));
 */
export class WebhookServer implements Collector {
  readonly name = 'webhooks';
  readonly options: Readonly<WebhookOptions>;
  readonly #clock: Clock;
  readonly #router = new Router();
  readonly #figures = new Map<string, Figures>();
  #certificates: WebhookCertificates;
  #url: () => string | undefined = () => undefined;

  /** @internal */
  constructor(options: WebhookOptions, clock: Clock) {
    this.options = options;
    this.#clock = clock;
    const folder = certDirOf(options);
    this.#certificates = {
      current: certificateFiles({ cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }),
      authority: () => readFile(join(folder, 'ca.crt'), 'utf8'),
    };
    if (options.selfManaged !== undefined)
      this.#certificates.current = () => {
        throw new CapstanError(
          'INVALID_ARGUMENT',
          'options.webhook.selfManaged needs a webhook: register one with ' +
            'newWebhookManagedBy of capstan/webhook',
        );
      };
  }

  /** The folder of the certificate files. */
  get certDir(): string {
    return certDirOf(this.options);
  }

  /** Such as `https://127.0.0.1:9443`; `undefined` before the server listens. */
  get url(): string | undefined {
    return this.#url();
  }

  /** The paths that have a handler. */
  get paths(): readonly string[] {
    return [...this.#figures.keys()];
  }

  /**
   * Serves a path. Its requests are counted with the path as the label `webhook`.
   *
   * @throws CapstanError INVALID_ARGUMENT for a path that is taken
   */
  register(path: string, handler: HTTPHandler): void {
    this.#router.handle(path, (request, response) =>
      this.#measured(path, handler)(request, response),
    );
    // The series that exist from the start, so that their rates begin at 0.
    const codes = new Map([
      ['200', 0],
      ['500', 0],
    ]);
    this.#figures.set(path, { inFlight: 0, codes, latency: emptyHistogram(BUCKETS) });
  }

  /** @internal Takes certificates from elsewhere than the files. */
  useCertificates(certificates: WebhookCertificates): void {
    this.#certificates = certificates;
  }

  /** @internal The certificates of the authorities that the API server is to trust, as PEM. */
  authority(): Promise<string | undefined> {
    return this.#certificates.authority();
  }

  /** @internal */
  listensAt(url: () => string | undefined): void {
    this.#url = url;
  }

  /** @internal */
  readonly tls: Extract<Certificates, (...none: never) => unknown> = () =>
    this.#certificates.current();

  /** @internal */
  readonly serve: HTTPHandler = (request, response) => this.#router.serve(request, response);

  #measured(path: string, handler: HTTPHandler): HTTPHandler {
    return (request: IncomingMessage, response: ServerResponse) => {
      const figures = this.#figures.get(path) as Figures;
      const began = this.#clock.now();
      figures.inFlight++;
      // 'close' also comes for a response that was cut off.
      response.once('close', () => {
        figures.inFlight--;
        const code = String(response.statusCode);
        figures.codes.set(code, (figures.codes.get(code) ?? 0) + 1);
        observe(BUCKETS, figures.latency, (this.#clock.now() - began) / 1000);
      });
      return handler(request, response);
    };
  }

  /** In Prometheus' text format 0.0.4. Empty without a handler. */
  text(): string {
    const all = byName(this.#figures);
    const each = (samples: (figures: Figures, labels: string) => Sample[]): Sample[] =>
      all.flatMap(([webhook, figures]) => samples(figures, labelPairs({ webhook })));
    return expositionText([
      ...metricFamily(
        'histogram',
        'controller_runtime_webhook_latency_seconds',
        'Histogram of the latency of processing admission requests',
        each((figures, labels) => histogramSamples(labels, BUCKETS, figures.latency)),
      ),
      ...metricFamily(
        'gauge',
        'controller_runtime_webhook_requests_in_flight',
        'Current number of admission requests being served.',
        each((figures, labels) => [[labels, figures.inFlight]]),
      ),
      ...metricFamily(
        'counter',
        'controller_runtime_webhook_requests_total',
        'Total number of admission requests by HTTP status code.',
        each(({ codes }, labels) =>
          byName(codes).map(([code, count]): Sample => [`code="${code}",${labels}`, count]),
        ),
      ),
    ]);
  }
}

const certDirOf = ({ certDir }: WebhookOptions): string =>
  certDir ?? join(tmpdir(), 'k8s-webhook-server', 'serving-certs');

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireWebhookOptions(name: string, options: WebhookOptions): void {
  const { bindAddress = ':9443', certDir, selfManaged, clientConfig } = options;
  const { configurationName, maxBodyBytes, install } = options;
  if (maxBodyBytes !== undefined) requireInteger(`${name}.maxBodyBytes`, maxBodyBytes, 1);
  requireBoolean(`${name}.install`, install);
  requireBoolean(`${name}.selfManaged.install`, selfManaged?.install);
  if (parseBindAddress(`${name}.bindAddress`, bindAddress) === undefined)
    throw invalid(`${name}.bindAddress`, 'an address such as ":9443"', bindAddress);
  if (certDir !== undefined) requireString(`${name}.certDir`, certDir);
  if (configurationName !== undefined) requireName(`${name}.configurationName`, configurationName);
  if (selfManaged !== undefined) {
    if (certDir !== undefined)
      throw invalid(name, 'either certDir or selfManaged, not both', options);
    requireName(`${name}.selfManaged.namespace`, selfManaged.namespace);
    requireName(`${name}.selfManaged.secretName`, selfManaged.secretName);
    const { dnsNames } = selfManaged;
    if (!Array.isArray(dnsNames) || dnsNames.length === 0 || !dnsNames.every(isHost))
      throw invalid(
        `${name}.selfManaged.dnsNames`,
        'names such as ["web.default.svc"]',
        Array.isArray(dnsNames) ? (dnsNames.find((one) => !isHost(one)) ?? dnsNames) : dnsNames,
      );
  }
  if (clientConfig === undefined) return;
  const { service, url } = clientConfig;
  if ((service === undefined) === (url === undefined))
    throw invalid(`${name}.clientConfig`, 'either service or url', clientConfig);
  if (service !== undefined) {
    requireName(`${name}.clientConfig.service.namespace`, service.namespace);
    requireName(`${name}.clientConfig.service.name`, service.name);
  }
  if (url !== undefined && !(typeof url === 'string' && /^https:\/\/[^?#\s]+$/.test(url)))
    throw invalid(`${name}.clientConfig.url`, 'a URL such as "https://127.0.0.1:9443"', url);
}

function requireName(name: string, value: unknown): void {
  if (typeof value !== 'string' || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value))
    throw invalid(name, 'a name such as "website-webhook"', value);
}

const isHost = (value: unknown): boolean =>
  typeof value === 'string' && /^[\w*][\w.*:-]*$/.test(value);
