/**
 * `capstan crd migrate`: writes all objects of a kind again, so that the server stores them in the
 * storage version, and then updates `status.storedVersions`. It sends an empty patch for each
 * object, which changes no field and overwrites no write of another client. Kubernetes: the storage
 * version migrator.
 */

import { defineResource, type KubeObject, type StatusError } from 'capstan/cache';
import {
  type Client,
  type CustomResourceDefinition,
  crdResource,
  isConflict,
  isNotFound,
  isResourceExpired,
  isServerTimeout,
  isTooManyRequests,
  retryOnConflict,
  retryOnError,
} from 'capstan/client';
import { CapstanError } from 'capstan/workqueue';

/** The progress of a migration. */
export interface MigrationState {
  readonly definition: string;
  readonly uid: string;
  readonly generation: number;
  readonly storage: string;
  /** The continue token of the next page. */
  readonly continue: string;
  /** How many objects were written. */
  readonly written: number;
}

export interface MigrationOptions {
  readonly pageSize: number;
  /** How many objects are written at the same time. */
  readonly concurrency: number;
  readonly dryRun: boolean;
  /** The state of an interrupted run. It is ignored if the definition has changed since. */
  readonly state?: MigrationState | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after each page but the last. */
  onPage?(state: MigrationState): Promise<void> | void;
}

export interface Migration {
  readonly definition: string;
  readonly storage: string;
  /** `status.storedVersions` before. */
  readonly stored: readonly string[];
  /** How many objects were written; with `dryRun`, how many would be. */
  readonly written: number;
}

/** How many failures an error names. */
const SHOWN = 3;
/** Pauses of 0.2, 0.4, 0.8, 1.6 and 3.2 s. */
const PATIENT = { steps: 6, duration: 200, factor: 2, jitter: 0.1 };

/**
 * Migrates the objects of one definition.
 *
 * @throws CapstanError INVALID_ARGUMENT for a definition that serves no version, that changed
 *   meanwhile, or whose objects could not all be written; then `storedVersions` is as it was
 */
export async function migrate(
  client: Client,
  name: string,
  options: MigrationOptions,
): Promise<Migration> {
  const { signal, dryRun } = options;
  const crd = await readDefinition(client, name, signal);
  const storage = storageOf(crd);
  const stored = crd.status?.storedVersions ?? [];
  const result = { definition: name, storage, stored };
  if (stored.every((version) => version === storage)) return { ...result, written: 0 };
  const written = await rewrite(client, crd, options);
  if (!dryRun) await writeStoredVersions(client, crd, signal);
  return { ...result, written };
}

const readDefinition = (client: Client, name: string, signal: AbortSignal | undefined) =>
  client.get(crdResource, { name }, { live: true, signal });

function storageOf({ metadata, spec }: CustomResourceDefinition): string {
  const version = spec.versions.find(({ storage }) => storage);
  if (version !== undefined) return version.name;
  throw new CapstanError('INVALID_ARGUMENT', `${metadata.name} has no storage version`);
}

/** A resource in the storage version, or in another one that is served. */
function servedResource({ metadata, spec }: CustomResourceDefinition) {
  const served = spec.versions.filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  if (version === undefined)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${metadata.name} expected a served version, to write its objects, got none`,
    );
  return defineResource<KubeObject>()({
    group: spec.group,
    version: version.name,
    kind: spec.names.kind,
    plural: spec.names.plural,
    namespaced: spec.scope === 'Namespaced',
  });
}

/** Writes all objects, page by page. Resolves with their number. */
async function rewrite(
  client: Client,
  crd: CustomResourceDefinition,
  options: MigrationOptions,
): Promise<number> {
  const { signal, pageSize, dryRun } = options;
  const resource = servedResource(crd);
  const begin: MigrationState = {
    definition: crd.metadata.name ?? '',
    uid: crd.metadata.uid ?? '',
    generation: crd.metadata.generation ?? 0,
    storage: storageOf(crd),
    continue: '',
    written: 0,
  };
  const { state } = options;
  const isSame = (['definition', 'uid', 'generation', 'storage'] as const).every(
    (member) => state?.[member] === begin[member],
  );
  let { continue: token, written } = isSame && state !== undefined ? state : begin;
  const failures: string[] = [];
  do {
    const page = await client
      .list(resource, { live: true, limit: pageSize, continue: token, signal })
      .catch((error: unknown) => {
        const next = tokenAfterExpiry(error);
        if (next === undefined) throw error;
        return { items: [], metadata: { continue: next } };
      });
    if (dryRun) written += page.items.length;
    else written += await writePage(client, resource, page.items, options, failures);
    token = page.metadata.continue ?? '';
    if (token !== '' && !dryRun && failures.length === 0)
      await options.onPage?.({ ...begin, continue: token, written });
  } while (token !== '');
  if (failures.length === 0) return written;
  const shown = failures.slice(0, SHOWN).join('; ');
  const more = failures.length > SHOWN ? `; and ${failures.length - SHOWN} more` : '';
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `${begin.definition} expected all objects to be written, and ${failures.length} could not ` +
      `be, so status.storedVersions stays as it is: ${shown}${more}`,
  );
}

/**
 * The new token that a server sends with "expired". With it the list continues at a newer
 * resourceVersion. Objects that were written in between are stored in the storage version already.
 */
function tokenAfterExpiry(error: unknown): string | undefined {
  if (!isResourceExpired(error)) return undefined;
  const { metadata } = (error as StatusError).body as { metadata?: { continue?: unknown } };
  const token = metadata?.continue;
  return typeof token === 'string' && token !== '' ? token : undefined;
}

async function writePage(
  client: Client,
  resource: ReturnType<typeof servedResource>,
  items: readonly KubeObject[],
  { concurrency, signal }: MigrationOptions,
  failures: string[],
): Promise<number> {
  const waiting = [...items];
  let written = 0;
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      const { name = '', namespace = '' } = item.metadata ?? {};
      const key = { name, namespace };
      try {
        await retryOnError(PATIENT, isPassing, () =>
          client.patch(resource, key, { type: 'merge', body: {} }, { signal }),
        );
        written++;
      } catch (error) {
        if (signal?.aborted === true) throw error;
        // A deleted object needs no write.
        if (!isNotFound(error))
          failures.push(`${namespace === '' ? '' : `${namespace}/`}${name}: ${errorText(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return written;
}

/** The server itself has retried a patch before it answers with a conflict. */
const isPassing = (error: unknown): boolean =>
  isConflict(error) || isTooManyRequests(error) || isServerTimeout(error);

const errorText = (error: unknown): string => (error instanceof Error ? error.message : '');

/** Throws if the definition has changed meanwhile, as objects may then have another version. */
async function writeStoredVersions(
  client: Client,
  was: CustomResourceDefinition,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name = '', uid, generation } = was.metadata;
  await retryOnConflict(PATIENT, async () => {
    const now = await readDefinition(client, name, signal);
    if (now.metadata.uid !== uid || now.metadata.generation !== generation)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${name} was changed while its objects were written: run the command again`,
      );
    const status = { ...now.status, storedVersions: [storageOf(now)] };
    await client.status().update(crdResource, { ...now, status }, { signal });
  });
}
