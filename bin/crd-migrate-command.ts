/** The arguments of `capstan crd migrate`, and what it prints. */
import { readFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Client, crdResource, listAll } from 'capstan/client';
import { attempt } from './attempt.ts';
import { CLUSTER_FLAGS, onCluster } from './cluster.ts';
import { flag, text, usage } from './command.ts';
import { type Migration, type MigrationState, migrate } from './crd-migrate.ts';
import { writeWhole } from './whole-file.ts';

export const CRD_MIGRATE_HELP = `Usage: capstan crd migrate <name>... [options]
       capstan crd migrate --all [options]

Writes all objects of CustomResourceDefinitions again, so that the API server stores them in the
storage version, and then removes the other versions from status.storedVersions. Only then can a
version be removed from the definition. Run it when all API servers have the definition with the new
storage version. It changes no field of an object, and may be run again at any time.

  --all                  migrates all definitions with other versions in status.storedVersions
  --kubeconfig <file>    of the cluster    (default: KUBECONFIG, the own Pod, ~/.kube/config)
  --context <name>       of the kubeconfig (default: its current one)
  --page <n>             objects that are read in one request (default: 500)
  --concurrency <n>      objects that are written at a time   (default: 8)
  --state <file>         stores the progress there; an interrupted run continues from it
  --dry-run              writes nothing, and counts the objects

Example: capstan crd migrate websites.example.com --state migration.json
`;

export const CRD_MIGRATE_FLAGS = {
  all: flag,
  ...CLUSTER_FLAGS,
  page: text,
  concurrency: text,
  state: text,
  'dry-run': flag,
} as const;

export function runCrdMigrate(
  positionals: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { all, kubeconfig, context, page, concurrency, state } = values as {
    all?: boolean;
    kubeconfig?: string;
    context?: string;
    page?: string;
    concurrency?: string;
    state?: string;
  };
  if ((all === true) === positionals.length > 0)
    throw usage(
      'crd migrate expected names of definitions, such as websites.example.com, or --all',
      'crd migrate',
    );
  const dryRun = values['dry-run'] === true;
  const numbers = {
    pageSize: numberOf('page', page, 500),
    concurrency: numberOf('concurrency', concurrency, 8),
  };
  return onCluster({ kubeconfig, context }, async (client) => {
    const names = all === true ? await unmigrated(client) : positionals;
    if (names.length === 0) return 'all objects are stored in the storage version\n';
    const saved = state === undefined ? undefined : await readState(state);
    let printed = '';
    for (const name of names) {
      const migration = await migrate(client, name, {
        ...numbers,
        dryRun,
        state: saved,
        ...(state === undefined
          ? {}
          : {
              onPage: (next) => writeWhole(resolve(state), `${JSON.stringify(next)}\n`, '--state'),
            }),
      });
      if (state !== undefined && !dryRun) await rm(state, { force: true });
      printed += migrationText(migration, dryRun);
    }
    return printed;
  });
}

function migrationText(migration: Migration, dryRun: boolean): string {
  const { definition, storage, stored, written } = migration;
  if (stored.every((version) => version === storage))
    return `${definition}: all objects are stored in ${storage}\n`;
  const objects = `${written} ${written === 1 ? 'object' : 'objects'}`;
  const versions = `storedVersions ${stored.join(', ')} → ${storage}`;
  return dryRun
    ? `${definition}: would write ${objects}, ${versions}\n`
    : `${definition}: wrote ${objects}, ${versions}\n`;
}

async function unmigrated(client: Client): Promise<string[]> {
  const names: string[] = [];
  for await (const { metadata, spec, status } of listAll(client, crdResource, { pageSize: 50 })) {
    const storage = spec.versions.find((version) => version.storage)?.name;
    if (status?.storedVersions?.some((version) => version !== storage)) names.push(metadata.name);
  }
  return names.sort();
}

async function readState(path: string): Promise<MigrationState | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  return attempt(`${path} could not be read as the state of a migration`, () => {
    const state = JSON.parse(text) as MigrationState;
    if (typeof state.continue !== 'string' || !Number.isInteger(state.written))
      throw new Error('expected the members continue and written');
    return state;
  });
}

function numberOf(name: string, given: string | undefined, otherwise: number): number {
  if (given === undefined) return otherwise;
  const value = Number(given);
  if (!Number.isInteger(value) || value < 1)
    throw usage(`--${name} expected a number from 1 on, got ${given}`, 'crd migrate');
  return value;
}
