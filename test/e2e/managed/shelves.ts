/**
 * A controller that uses all features of a manager: a definition made of a schema, a finalizer,
 * server-side apply of children, a status, events, and a Secret that it reads. The spec of a Shelf
 * decides how its reconcile ends, so that a test can cause each end.
 */
import { defineResource } from 'capstan/cache';
import {
  type Client,
  defineCustomResource,
  type EventSink,
  finalizer,
  ignoreNotFound,
  objectReference,
  setControllerReference,
  setStatusCondition,
} from 'capstan/client';
import {
  newControllerManagedBy,
  type ReconcileContext,
  type Result,
  TerminalError,
} from 'capstan/controller';
import type { ControllerManager } from 'capstan/manager';
import * as z from 'zod';

export const FINALIZER = 'managed.capstan.dev/ledger';
export const REPORTER = 'managed.capstan.dev/shelves';
/** The field manager of the controller's writes. */
export const OWNER = 'shelves';
/** A longer reconcile is aborted; in milliseconds. */
export const TIMEOUT_MS = 3000;
/** More than a shelf can hold. */
export const TOO_MANY = 1000;

const condition = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.iso.datetime(),
  observedGeneration: z.int().optional(),
});

export const shelves = defineCustomResource({
  group: 'managed.capstan.dev',
  version: 'v1',
  kind: 'Shelf',
  plural: 'shelves',
  scope: 'Namespaced',
  spec: z.object({
    books: z.int().default(1),
    /** The name of a Secret, whose `password` is a number. */
    secretName: z.string().optional(),
    again: z.enum(['at once', 'later']).optional(),
    endless: z.boolean().default(false),
  }),
  status: z.object({ books: z.int(), conditions: z.array(condition).optional() }),
});

export const Shelf = shelves.resource;
export type ShelfInput = Parameters<typeof shelves.parse>[0]['spec'];
export type ShelfObject = Awaited<ReturnType<typeof shelves.parse>>;

interface Kept {
  metadata: { name: string; namespace: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

const core = { group: '', version: 'v1', namespaced: true } as const;
export const LedgerConfigMap = defineResource<Kept>()({
  ...core,
  kind: 'ConfigMap',
  plural: 'configmaps',
});
export const Secret = defineResource<Kept>()({ ...core, kind: 'Secret', plural: 'secrets' });

/** An object made for a shelf without owner reference: the finalizer deletes it. */
export const ledgerOf = (name: string): string => `${name}-ledger`;

type Context = ReconcileContext<ShelfObject>;

class Librarian {
  readonly #client: Client;
  readonly #events: EventSink;

  constructor(client: Client, events: EventSink) {
    this.#client = client;
    this.#events = events;
  }

  async reconcile(shelf: ShelfObject, context: Context): Promise<Result | undefined> {
    const { signal } = context;
    const { namespace = '', name = '' } = shelf.metadata;
    const handlers = {
      apply: (held: ShelfObject) => this.#keep(held, { namespace, name }, context),
      cleanup: async () => {
        await this.#client
          .delete(LedgerConfigMap, { namespace, name: ledgerOf(name) }, { signal })
          .catch(ignoreNotFound);
        this.#tell(shelf, 'Closed', `removed ${ledgerOf(name)}`);
        return undefined;
      },
    };
    return finalizer(this.#client, Shelf, FINALIZER, shelf, handlers, { signal });
  }

  async #keep(
    shelf: ShelfObject,
    key: { namespace: string; name: string },
    { signal, attempt }: Context,
  ): Promise<Result | undefined> {
    const { books, again, endless } = shelf.spec;
    if (endless) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      signal.throwIfAborted();
    }
    if (books >= TOO_MANY) throw new TerminalError(`no shelf has room for ${books} books`);
    const row = '#'.repeat(books); // a bug of the program: a negative count throws
    await this.#requirePassword(shelf, key.namespace, signal);
    for (const kept of [
      setControllerReference(shelf, { metadata: key, data: { row } }, Shelf),
      { metadata: { ...key, name: ledgerOf(key.name) }, data: { row } },
    ])
      await this.#client.apply(LedgerConfigMap, kept, { signal, force: true });
    const status = {
      books,
      conditions: setStatusCondition(shelf.status?.conditions, {
        type: 'Ready',
        status: 'True',
        reason: 'Filled',
        message: '',
        observedGeneration: shelf.metadata.generation ?? 0,
      }),
    };
    await this.#client.status().apply(Shelf, { metadata: key, status }, { signal, force: true });
    this.#tell(shelf, 'Filled', `${books} books`);
    if (again === 'later') return { requeueAfter: 3_600_000 };
    return again === 'at once' && attempt === 1 ? { requeue: true } : undefined;
  }

  async #requirePassword(
    shelf: ShelfObject,
    namespace: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { secretName } = shelf.spec;
    if (secretName === undefined) return;
    const { data = {} } = await this.#client.get(
      Secret,
      { namespace, name: secretName },
      { signal },
    );
    const password = Buffer.from(data.password ?? '', 'base64').toString();
    // Careless on purpose: the errors quote the refused value, decoded and as the server returned
    // it.
    if (!/^\d+$/.test(password))
      throw new Error(
        `secret ${secretName}: password: "${password}" (${data.password}) is no number`,
      );
  }

  #tell(shelf: ShelfObject, reason: string, note: string): void {
    this.#events.event(objectReference(Shelf, shelf), { reason, action: 'Reconciling', note });
  }
}

export function addShelfController(manager: ControllerManager): void {
  const librarian = new Librarian(manager.client, manager.eventRecorder(REPORTER));
  newControllerManagedBy(manager)
    .for(Shelf)
    .owns(LedgerConfigMap)
    .withOptions({ maxConcurrentReconciles: 2, reconciliationTimeout: TIMEOUT_MS })
    .complete(async (request, context) => {
      const shelf = context.get(request);
      return shelf === undefined ? undefined : librarian.reconcile(shelf, context);
    });
}
