/**
 * A controller for Websites: each has a Deployment and a Service of its name. They follow the
 * Website's spec; changes and deletions by others are reverted. A finalizer keeps a deleted Website
 * until both are deleted.
 *
 * The reconcile function is level-triggered: it compares the desired state with the current one and
 * ignores which event came, so that it may run twice or continue after a failure.
 */
import type { Resource } from 'capstan/cache';
import {
  AlreadyOwnedError,
  type Client,
  createOrUpdate,
  type EventSink,
  finalizer,
  getControllerOf,
  ignoreNotFound,
  isConflict,
  type ObjectMeta,
  objectReference,
  setControllerReference,
} from 'capstan/client';
import {
  asReconciler,
  type ControllerSettings,
  newControllerManagedBy,
  type Reconcile,
  type ReconcileContext,
  type Result,
  TerminalError,
} from 'capstan/controller';
import type { ControllerManager } from 'capstan/manager';
import type { Request } from 'capstan/workqueue';
import { deploymentOf, overlay, serviceOf } from './children.ts';
import { Deployment, Service, Website, type WebsiteObject, websites } from './resources.ts';
import { type Outcome, statusOf, writeStatus } from './status.ts';

export const FINALIZER = 'demo.capstan.dev/children';
const CONTROLLER = 'demo.capstan.dev/website-controller';

export interface WebsiteControllerOptions extends ControllerSettings {
  /** Wraps the reconcile function, for example to measure it. */
  readonly wrap?: (reconcile: Reconcile<WebsiteObject>) => Reconcile<WebsiteObject>;
}

/** Adds the controller to a manager, which starts and stops it. */
export function addWebsiteController(
  manager: ControllerManager,
  options: WebsiteControllerOptions = {},
): void {
  const { wrap = (reconcile) => reconcile, ...settings } = options;
  const reconciler = new WebsiteReconciler(manager.client, manager.eventRecorder(CONTROLLER));
  newControllerManagedBy(manager)
    .for(Website)
    .owns(Deployment)
    .owns(Service)
    .withOptions({ maxConcurrentReconciles: 8, reconciliationTimeout: 10_000, ...settings })
    .complete(
      wrap(
        asReconciler(manager.client, {
          resource: Website,
          reconcile: (website, context) => reconciler.reconcile(website, context),
        }).reconcile,
      ),
    );
}

type Context = Pick<ReconcileContext<WebsiteObject>, 'signal'>;

export class WebsiteReconciler {
  readonly #client: Client;
  readonly #events: EventSink;

  constructor(client: Client, events: EventSink) {
    this.#client = client;
    this.#events = events;
  }

  /**
   * The finalizer is added before the first child is created: otherwise a Website deleted in
   * between would leave the child behind.
   */
  async reconcile(website: WebsiteObject, { signal }: Context): Promise<Result> {
    const { namespace = '', name = '' } = website.metadata;
    const key = { namespace, name };
    try {
      await finalizer(
        this.#client,
        Website,
        FINALIZER,
        website,
        {
          apply: (held) => this.#keep(key, held, signal),
          cleanup: () => this.#release(key, website, signal),
        },
        { signal },
      );
      return {};
    } catch (error) {
      // Changed meanwhile, or created by an earlier try whose answer was lost: not a failure, since
      // the event will arrive.
      if (isConflict(error)) return { requeue: true };
      throw error;
    }
  }

  /** Updates children and status to match the spec. */
  async #keep(key: Request, website: WebsiteObject, signal: AbortSignal): Promise<void> {
    const { issues = [] } = await websites.validate(website);
    if (issues.length > 0) {
      const message = issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
      // no retry until it changes: a server with the definition rejects such a Website
      throw new TerminalError(message);
    }
    const outcome = await this.#bring(key, website, signal);
    await writeStatus(this.#client, key, website, statusOf(key, website, outcome), signal);
    if (outcome.taken !== undefined) throw outcome.taken; // retried with back-off
  }

  async #bring(key: Request, website: WebsiteObject, signal: AbortSignal): Promise<Outcome> {
    try {
      const deployment = await this.#child(
        Deployment,
        key,
        website,
        deploymentOf(key, website.spec),
        signal,
      );
      await this.#child(Service, key, website, serviceOf(key, website.spec), signal);
      return { deployment };
    } catch (error) {
      if (!(error instanceof AlreadyOwnedError)) throw error;
      const note = {
        type: 'Warning',
        reason: 'NameTaken',
        action: 'Reconciling',
        note: error.message,
      } as const;
      this.#events.event(objectReference(Website, website), note);
      return { taken: error };
    }
  }

  /** Creates the child, or updates what differs. */
  async #child<T extends { metadata: ObjectMeta }>(
    resource: Resource<T, string>,
    key: Request,
    website: WebsiteObject,
    desired: T,
    signal: AbortSignal,
  ): Promise<T> {
    const { result, object } = await createOrUpdate(
      this.#client,
      resource,
      key,
      (child) => setControllerReference(website, overlay(child, desired), Website),
      { signal },
    );
    if (result === 'created') {
      const note = `created ${resource.kind} ${key.name}`;
      // distinguishes two events with one reason
      const related = objectReference(resource, object);
      this.#events.event(objectReference(Website, website), {
        reason: 'Created',
        action: 'Creating',
        note,
        related,
      });
    }
    return object;
  }

  async #release(key: Request, website: WebsiteObject, signal: AbortSignal): Promise<void> {
    await this.#remove(Deployment, key, website, signal);
    await this.#remove(Service, key, website, signal);
  }

  /**
   * Deletes the child. Reads it from the server, because the cache may not have it yet; a child of
   * another owner stays.
   */
  async #remove(
    resource: Resource<{ metadata: ObjectMeta }, string>,
    key: Request,
    website: WebsiteObject,
    signal: AbortSignal,
  ): Promise<void> {
    const child = await this.#client
      .get(resource, key, { live: true, signal })
      .catch(ignoreNotFound);
    if (child === undefined || getControllerOf(child)?.uid !== website.metadata.uid) return;
    const { uid } = child.metadata;
    await this.#client
      .delete(resource, key, { preconditions: { uid }, signal })
      .catch(ignoreNotFound);
  }
}
