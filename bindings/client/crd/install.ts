/**
 * Installs and removes CustomResourceDefinitions. A definition is installed when the server has
 * accepted its names and schema, says so in its conditions, and answers for each of its versions.
 * controller-runtime: pkg/envtest InstallCRDs, UninstallCRDs.
 */

import { type Clock, systemClock } from '../../base/clock.ts';
import { aborted, CapstanError, invalid, requireMs, requireObject } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { sleep } from '../../base/wait.ts';
import { isNotFound, isStatusError } from '../../cache/rest/status-error.ts';
import { type Condition, findStatusCondition, isStatusConditionTrue } from '../conditions.ts';
import { isBeingDeleted } from '../finalizers.ts';
import type { Client } from '../types.ts';
import { type CustomResourceDefinition, crdResource } from './definition.ts';

/** Options of {@link installCRDs} and {@link uninstallCRDs}. */
export interface InstallCRDsOptions {
  readonly signal?: AbortSignal | undefined;
  /** The time limit for all of them, in milliseconds. Default 10 000, as in envtest. */
  readonly timeout?: number | undefined;
  /** The field manager of the definitions. Default `capstan`. */
  readonly fieldOwner?: string | undefined;
  readonly clock?: Clock | undefined;
}

const NAMES = namesOf<InstallCRDsOptions>()({
  signal: 1,
  timeout: 1,
  fieldOwner: 1,
  clock: 1,
});

/**
 * The server does not serve a definition, or does not delete it. `conditions` are the definition's.
 * Code `CRD`.
 */
export class CRDError extends CapstanError {
  /** The name of the definition, such as `websites.example.com`. */
  readonly definition: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly message?: string;
  }[];

  constructor(
    message: string,
    crd: CustomResourceDefinition,
    options?: { cause?: unknown | undefined },
  ) {
    super('CRD', message, options);
    this.definition = nameOf(crd);
    this.conditions = conditionsOf(crd);
  }

  override get name(): string {
    return 'CRDError';
  }
}

/** envtest: defaultPollInterval, defaultMaxWait. */
const POLL_MS = 100;
const TIMEOUT_MS = 10_000;
/**
 * How long the server must report that names are taken, in milliseconds: it also reports that
 * before it has checked them.
 */
const REFUSAL_MS = 1000;

/**
 * Creates or updates definitions by server-side apply, and waits until their resources are served.
 * A definition that is still being deleted is installed once it is gone.
 *
 * @returns the definitions as the server has them
 * @throws CRDError when names are taken or the time is over, with the server's words; StatusError
 *   when it refuses a definition, as for a schema it does not like; CapstanError ABORTED,
 *   INVALID_ARGUMENT
 * @example
 * async function prepare(client: Client, crds: CustomResourceDefinition[]): Promise<void> {
 *   await installCRDs(client, crds, { signal, timeout: 30_000 });
 * }
 */
export async function installCRDs(
  client: Client,
  crds: readonly CustomResourceDefinition[],
  options: InstallCRDsOptions = {},
): Promise<CustomResourceDefinition[]> {
  requireNames('options', options, 'option of installCRDs()', NAMES);
  const wait = new Wait(options);
  const { fieldOwner = 'capstan', signal } = options;
  requireDefinitions(crds);
  const apply = (crd: CustomResourceDefinition) => {
    const { status: _, ...wanted } = crd;
    return client.apply(crdResource, wanted, { fieldOwner, force: true, signal });
  };
  const applied: CustomResourceDefinition[] = [];
  // one after the other, so that the last definition of a name wins
  for (const crd of crds) applied.push(await apply(crd));
  return Promise.all(
    applied.map((crd, at) =>
      untilServed(client, crd, () => apply(crds[at] as CustomResourceDefinition), wait, signal),
    ),
  );
}

/**
 * Deletes definitions with all of their objects, and waits until they are gone. A missing
 * definition counts as deleted.
 *
 * @throws CRDError when the time is over: an object may have a finalizer; StatusError; CapstanError
 *   ABORTED, INVALID_ARGUMENT
 */
export async function uninstallCRDs(
  client: Client,
  crds: readonly CustomResourceDefinition[],
  options: InstallCRDsOptions = {},
): Promise<void> {
  requireNames('options', options, 'option of uninstallCRDs()', NAMES);
  const wait = new Wait(options);
  const { signal } = options;
  requireDefinitions(crds);
  for (const crd of crds) {
    await client.delete(crdResource, { name: nameOf(crd) }, { signal }).catch(unlessNotFound);
  }
  for (const crd of crds) {
    let uid: string | undefined;
    for (;;) {
      const now = await client
        .get(crdResource, { name: nameOf(crd) }, { live: true, signal })
        .catch(unlessNotFound);
      uid ??= now?.metadata.uid;
      if (now === undefined || now.metadata.uid !== uid) break; // deleted, or created again
      await wait.more(now, 'is not gone');
    }
  }
}

function requireDefinitions(crds: unknown): void {
  if (!Array.isArray(crds)) throw invalid('crds', 'an array of definitions', crds);
  for (const crd of crds) requireObject('crds[]', crd);
}

function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function nameOf(crd: CustomResourceDefinition): string {
  const name = crd.metadata?.name;
  if (typeof name !== 'string' || name === '') throw invalid('crd.metadata.name', 'a name', name);
  return name;
}

/** The deadline for all definitions of a call. */
class Wait {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #timeout: number;
  readonly #end: number;

  constructor({ clock = systemClock, signal, timeout = TIMEOUT_MS }: InstallCRDsOptions) {
    requireMs('timeout', timeout);
    this.#clock = clock;
    this.#signal = signal ?? new AbortController().signal;
    this.#timeout = timeout;
    this.#end = clock.now() + timeout;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Waits until the next poll. */
  async more(crd: CustomResourceDefinition, how: string): Promise<void> {
    if (this.#clock.now() >= this.#end)
      throw new CRDError(`${nameOf(crd)} ${how} after ${this.#timeout} ms: ${saidOf(crd)}`, crd);
    await sleep(this.#clock, POLL_MS, this.#signal);
    if (this.#signal.aborted) throw aborted(`waiting for ${nameOf(crd)}`, this.#signal.reason);
  }
}

function conditionsOf(crd: CustomResourceDefinition) {
  const conditions: readonly (Condition | null)[] = crd.status?.conditions ?? [];
  return conditions.filter((condition) => condition !== null);
}

function saidOf(crd: CustomResourceDefinition): string {
  const conditions = conditionsOf(crd);
  if (conditions.length === 0) return 'the server says nothing of it';
  return conditions
    .map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`)
    .join('; ');
}

async function untilServed(
  client: Client,
  applied: CustomResourceDefinition,
  again: () => Promise<CustomResourceDefinition>,
  wait: Wait,
  signal: AbortSignal | undefined,
): Promise<CustomResourceDefinition> {
  let crd = applied;
  let refusedSince: number | undefined;
  for (;;) {
    const conditions = crd.status?.conditions;
    const deleted = isBeingDeleted(crd);
    if (
      !deleted &&
      isStatusConditionTrue(conditions, 'Established') &&
      (await served(client, crd, signal))
    )
      return crd;
    const names = findStatusCondition(conditions, 'NamesAccepted');
    const schema = findStatusCondition(conditions, 'NonStructuralSchema');
    const refused = !deleted && (names?.status === 'False' || schema?.status === 'True');
    refusedSince = refused ? (refusedSince ?? wait.now()) : undefined;
    if (refusedSince !== undefined && wait.now() - refusedSince >= REFUSAL_MS)
      throw new CRDError(`the server does not accept ${nameOf(crd)}: ${saidOf(crd)}`, crd);
    await wait.more(crd, 'is not served');
    const found = await client
      .get(crdResource, { name: nameOf(crd) }, { live: true, signal })
      .catch(unlessNotFound);
    crd = found ?? (await again());
  }
}

/**
 * Whether the server answers for each version. A client that may not list still sees that the
 * resource exists.
 */
async function served(
  client: Client,
  crd: CustomResourceDefinition,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { group, names, scope, versions } = crd.spec;
  for (const version of versions) {
    if (!version.served) continue;
    const { kind, plural } = names;
    const resource = {
      group,
      version: version.name,
      kind,
      plural,
      namespaced: scope === 'Namespaced',
      indexers: {},
    };
    try {
      await client.list(resource, { live: true, limit: 1, signal });
    } catch (error) {
      if (!isStatusError(error)) throw error;
      // 429 while the storage is created, for example after a definition of the same name was
      // deleted
      if (isNotFound(error) || error.status === 429 || error.status >= 500) return false;
    }
  }
  return true;
}
