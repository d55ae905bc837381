/**
 * A controller for Websites: each has a Deployment and a Service of its name. Both are put back
 * when somebody changes or deletes them, follow the Website's spec, and go when it goes: a
 * finalizer holds the Website until they are deleted.
 *
 * The reconcile function is level-triggered. It never asks what happened, only what should be and
 * what is; doing nothing twice, or a whole reconcile again after a failure half-way, ends in the
 * same place.
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
  /** Puts something around the reconcile function, such as a measurement. */
  readonly wrap?: (reconcile: Reconcile<WebsiteObject>) => Reconcile<WebsiteObject>;
}

/** Adds the controller to a manager, which starts and ends it. */
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
   * The finalizer comes before the first child: otherwise a Website deleted in between would leave
   * it behind.
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
      // Changed, or created already, by a try whose answer was lost: that is no failure, the news
      // is on its way.
      if (isConflict(error)) return { requeue: true };
      throw error;
    }
  }

  /** Brings children and status to what the spec says. */
  async #keep(key: Request, website: WebsiteObject, signal: AbortSignal): Promise<void> {
    const { issues = [] } = await websites.validate(website);
    if (issues.length > 0) {
      const message = issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
      // until it changes: a server that has the definition takes no such Website
      throw new TerminalError(message);
    }
    const outcome = await this.#bring(key, website, signal);
    await writeStatus(this.#client, key, website, statusOf(key, website, outcome), signal);
    if (outcome.taken !== undefined) throw outcome.taken; // to look again, less and less often
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

  /** Creates the child, or corrects what differs. */
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
      // what tells two events of one reason apart
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
   * Asks the server, as a child that the cache does not know yet would be left behind; leaves alone
   * what belongs to another.
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
