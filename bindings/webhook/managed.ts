/** Serves the webhooks of one manager, counts their answers, and installs their configurations. */
import { wallNowOf } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { silentLogger } from '../base/logger.ts';
import { requireManager } from '../controller/manager.ts';
import { isPanic } from '../controller/reconcile.ts';
import { type ControllerManager, type GroupedRunnable, healthz } from '../manager/index.ts';
import { CONVERT_PATH, type ConversionRegistration } from './conversion.ts';
import { conversionInstaller } from './conversion-definitions.ts';
import { admissionHandler, conversionHandler } from './handler.ts';
import { configurationInstaller, Installation, type Installer } from './install.ts';
import { loadDiff } from './json-patch.ts';
import { AdmissionMetrics, ConversionMetrics } from './metrics.ts';
import { RecordedWebhooks } from './recorded.ts';
import type { WebhookRegistration } from './registration.ts';
import type { RotationTimes } from './rotation.ts';
import { SelfManaged } from './self-managed.ts';

/** Shorter validities of certificates, for tests. */
export const rotationTimes = new WeakMap<object, RotationTimes>();

const ofManagers = new WeakMap<object, ManagedWebhooks>();

/** The webhooks of a manager. Throws CapstanError INVALID_ARGUMENT. */
export function webhooksOf(manager: object): ManagedWebhooks {
  let webhooks = ofManagers.get(manager);
  if (webhooks === undefined) {
    requireManager('manager', manager);
    webhooks = new ManagedWebhooks(manager as ControllerManager);
    ofManagers.set(manager, webhooks);
  }
  return webhooks;
}

class ManagedWebhooks extends RecordedWebhooks {
  readonly manager: ControllerManager;
  readonly server: NonNullable<ControllerManager['webhookServer']>;
  readonly #metrics = new AdmissionMetrics();
  readonly #installation: Installation | undefined;
  #loadsDiff = false;

  constructor(manager: ControllerManager) {
    const { webhookServer } = manager;
    if (webhookServer === undefined)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        'the manager has no webhook server: use newManager({ webhook: { certDir } })',
      );
    super();
    this.manager = manager;
    this.server = webhookServer;
    const { install, selfManaged } = webhookServer.options;
    if (install ?? selfManaged?.install ?? false) {
      const installation = new Installation(manager, webhookServer);
      installation.add(configurationInstaller(manager, this.registrations));
      manager.add(installation);
      manager.addReadyzCheck(
        'webhook-configurations',
        healthz.unless(() => installation.problem()),
      );
      this.#installation = installation;
    }
    if (selfManaged !== undefined) {
      const certificates = new SelfManaged({
        ...selfManaged,
        client: manager.client,
        clock: manager.clock,
        wallNow: manager.wallNow ?? wallNowOf(manager.clock),
        logger: manager.logger,
        isInstalled: (bundle) => this.#installation?.has(bundle) ?? true,
        times: rotationTimes.get(manager),
      });
      webhookServer.useCertificates(certificates);
      manager.add(certificates);
    }
    manager.addCollector(this.#metrics);
  }

  /** Adds an installer. It is called only with the option `install`. */
  addInstaller(installer: Installer): void {
    this.#installation?.add(installer);
  }

  override add(registration: WebhookRegistration): void {
    const { path, admission, timeoutSeconds } = registration;
    const { clock } = this.manager;
    super.add(registration);
    const handler = admissionHandler(admission, {
      clock,
      timeout: timeoutSeconds * 1000,
      maxBodyBytes: this.server.options.maxBodyBytes,
      onError: (error) => this.#failed(path, error, this.#metrics),
      onResponse: ({ allowed, status }) =>
        this.#metrics.responded(path, allowed, status?.code ?? 200),
    });
    this.server.register(path, handler);
    this.#metrics.add(path);
    if (registration.type === 'validating' || this.#loadsDiff) return;
    this.#loadsDiff = true;
    // Without the library the start of the manager fails, not the first request.
    const loaded: GroupedRunnable = {
      name: 'JSON Patch of webhooks',
      group: 'webhooks',
      needLeaderElection: () => false,
      start: async () => void (await loadDiff()),
    };
    this.manager.add(loaded);
  }

  override addConversion(registration: ConversionRegistration): void {
    super.addConversion(registration);
    if (this.conversions.size > 1) return;
    const { clock, client } = this.manager;
    const metrics = new ConversionMetrics();
    this.server.register(
      CONVERT_PATH,
      conversionHandler(this.conversions, {
        clock,
        maxBodyBytes: this.server.options.maxBodyBytes,
        onError: (error) => this.#failed(CONVERT_PATH, error, metrics),
      }),
    );
    this.manager.addCollector(metrics);
    this.addInstaller(conversionInstaller({ client }, this.conversions));
  }

  #failed(path: string, error: unknown, metrics: { panicked(): void }): void {
    const { logger } = this.manager;
    if (isPanic(error)) metrics.panicked();
    if (logger === silentLogger) handleError(error, `webhook ${path}`);
    else logger.error('a webhook has failed', { webhook: path, error });
  }
}
