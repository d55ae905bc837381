/**
 * Reads CustomResourceDefinitions of files, addresses and stdin (YAML or JSON), of modules, and of
 * a cluster. Other kinds beside them, as in the manifests of an installation, are left out.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { type CustomResourceDefinition, crdResource, listAll } from 'capstan/client';
import type { ClusterChoice } from 'capstan/client-node';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { onCluster } from './cluster.ts';
import { definitionsOfModules } from './crd.ts';

/** A fetch that takes longer fails. */
const FETCH_MS = 30_000;
const GROUP = 'apiextensions.k8s.io/';

/**
 * The definitions of all sources, by name, sorted by name. A source is a path, `-` for stdin, or
 * an address with http or https.
 *
 * @throws CapstanError INVALID_ARGUMENT for a source without a definition, one that cannot be
 *   read, and two definitions of a name that differ
 */
export async function definitionsOf(
  sources: readonly string[],
): Promise<CustomResourceDefinition[]> {
  const found = new Map<string, { crd: CustomResourceDefinition; source: string }>();
  for (const source of sources) {
    const definitions = await definitionsIn(source);
    if (definitions.length === 0)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${source} expected CustomResourceDefinitions of ${GROUP}v1, got none`,
      );
    for (const crd of definitions) {
      const name = nameOf(crd);
      const first = found.get(name);
      if (first !== undefined && !isDeepStrictEqual(first.crd, crd))
        throw new CapstanError(
          'INVALID_ARGUMENT',
          `${name} expected one definition, got two that differ, of ${first.source} and of ` +
            `${source}: leave one of them out`,
        );
      found.set(name, { crd, source });
    }
  }
  return sortedByName([...found.values()].map(({ crd }) => crd));
}

/** The definitions that a cluster has, sorted by name. Asks for pages of 50. */
export async function definitionsOfCluster(
  choice: ClusterChoice,
): Promise<CustomResourceDefinition[]> {
  return onCluster(choice, async (client) => {
    const found: CustomResourceDefinition[] = [];
    for await (const crd of listAll(client, crdResource, { pageSize: 50 })) found.push(crd);
    return sortedByName(found);
  });
}

function sortedByName(definitions: CustomResourceDefinition[]): CustomResourceDefinition[] {
  return definitions.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

const nameOf = (crd: CustomResourceDefinition): string => crd.metadata?.name ?? '';

/** Whether a source is a module: a file that ends in `.ts`, `.mts`, `.js` or `.mjs`. */
export const isModule = (source: string): boolean =>
  /\.m?[jt]s$/.test(source) && !isAddress(source);

async function definitionsIn(source: string): Promise<CustomResourceDefinition[]> {
  if (isModule(source)) return definitionsOfModules([resolve(source)]);
  const text = await attempt(`${source} could not be read`, () => readSource(source));
  const documents = await documentsIn(source, text);
  return documents.flatMap((document) => definitionsAmong(document, source));
}

const isAddress = (source: string): boolean => /^https?:\/\//.test(source);

/** The text of a path, `-` for stdin, or an address. */
export async function readSource(source: string): Promise<string> {
  if (source === '-') return textOf(process.stdin);
  if (!isAddress(source)) return readFile(source, 'utf8');
  const response = await fetch(source, { signal: AbortSignal.timeout(FETCH_MS) });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.text();
}

/** The documents of a text that is JSON or YAML. */
export async function documentsIn(source: string, text: string): Promise<unknown[]> {
  if (/^\s*[{[]/.test(text)) {
    try {
      return [JSON.parse(text)];
    } catch {
      // YAML may begin so, too
    }
  }
  const { parseAllDocuments } = await yaml(source);
  return attempt(`${source} could not be read as YAML`, () =>
    [...parseAllDocuments(text, { version: '1.1', merge: true })].map((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw new Error(error.message.split('\n')[0]);
      return document.toJS() as unknown;
    }),
  );
}

async function yaml(source: string): Promise<typeof import('yaml')> {
  try {
    return await import('yaml');
  } catch (cause) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${source} is YAML, and to read it capstan needs the package "yaml": npm install -D yaml`,
      { cause },
    );
  }
}

/** The definitions of a document: itself, or items of a list. */
function definitionsAmong(document: unknown, source: string): CustomResourceDefinition[] {
  if (typeof document !== 'object' || document === null) return [];
  if (Array.isArray(document)) return document.flatMap((one) => definitionsAmong(one, source));
  const { apiVersion, kind, items, metadata } = document as {
    apiVersion?: unknown;
    kind?: unknown;
    items?: unknown;
    metadata?: { name?: unknown };
  };
  if (Array.isArray(items)) {
    // The items of a typed list have no kind of their own.
    const type =
      kind === 'CustomResourceDefinitionList' ? { apiVersion, kind: kind.slice(0, -4) } : {};
    return items.flatMap((item) => definitionsAmong({ ...type, ...(item as object) }, source));
  }
  if (kind !== 'CustomResourceDefinition') return [];
  if (apiVersion !== `${GROUP}v1`)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${source} expected definitions of ${GROUP}v1, got ${String(metadata?.name)} of ` +
        `${String(apiVersion)}, which no API server takes since Kubernetes 1.22`,
    );
  requireShape(document, source);
  return [document as CustomResourceDefinition];
}

/** Throws unless the members that commands read are there: a file may be a template. */
function requireShape(document: object, source: string): void {
  const { metadata, spec } = document as {
    metadata?: { name?: unknown } | null;
    spec?: {
      group?: unknown;
      names?: { kind?: unknown; plural?: unknown } | null;
      versions?: unknown;
    };
  };
  const missing = [
    ['metadata.name', typeof metadata?.name === 'string'],
    ['spec.group', typeof spec?.group === 'string'],
    ['spec.names.kind', typeof spec?.names?.kind === 'string'],
    ['spec.names.plural', typeof spec?.names?.plural === 'string'],
    ['spec.versions', Array.isArray(spec?.versions) && spec.versions.length > 0],
  ].find(([, there]) => !there);
  if (missing !== undefined)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${source} expected a whole definition, and one of it has no ${String(missing[0])}`,
    );
}
