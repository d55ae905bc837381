/**
 * `capstan crd`: the CustomResourceDefinitions that modules export, as `kubectl apply -f` takes
 * them.
 */
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { CapstanError } from 'capstan';
import type { CustomResourceDefinition } from 'capstan/client';
import { attempt } from './attempt.ts';
import { yamlOf } from './yaml.ts';

/**
 * YAML with a document for each definition, in the order of their names: of what
 * `defineCustomResource` gives, and of definitions themselves, exported under any name. Of several
 * of one name it is the one that has the versions of all others.
 *
 * @throws CapstanError INVALID_ARGUMENT for a module that exports none, or cannot be loaded, and
 *   for versions of one name that no definition has together
 */
export async function manifestsOf(paths: readonly string[]): Promise<string> {
  const found = new Map<string, CustomResourceDefinition[]>();
  for (const path of paths) {
    const definitions = await attempt(`${path} could not be loaded`, async () => {
      const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
      return Object.values(module).flatMap((value) => definitionIn(value) ?? []);
    });
    if (definitions.length === 0)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${path} expected an export that is a custom resource (of ` +
          'defineCustomResource) or a CustomResourceDefinition',
      );
    for (const definition of definitions) {
      const name = definition.metadata.name ?? '';
      found.set(name, [...(found.get(name) ?? []), definition]);
    }
  }
  const documents = [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, all]) => {
      const whole = wholeOf(name, all);
      return attempt(`${name} could not be written as YAML`, () => yamlOf(whole));
    });
  return (await Promise.all(documents)).join('---\n');
}

/** Whichever were left out, the server would lose versions without a word. */
function wholeOf(name: string, all: readonly CustomResourceDefinition[]): CustomResourceDefinition {
  const whole = all.find((one) => all.every((other) => covers(one, other)));
  if (whole !== undefined) return whole;
  const versions = all.map((one) =>
    versionsOf(one)
      .map((version) => version.name)
      .join(', '),
  );
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `${name} expected one definition with all of its versions, got several that differ, of ` +
      `${versions.join(' and of ')}: export combineVersions([...]) of them alone`,
  );
}

/**
 * Whether one says all that another says, and more versions, as combineVersions does: which of them
 * is stored, and how they convert, is then its own.
 */
function covers(whole: CustomResourceDefinition, part: CustomResourceDefinition): boolean {
  if (isDeepStrictEqual(whole, part)) return true;
  const [versions, fewer] = [versionsOf(whole), versionsOf(part)];
  if (fewer.length >= versions.length) return false;
  const { conversion } = whole.spec;
  const besides = (one: CustomResourceDefinition): object => ({
    ...one,
    spec: { conversion, ...one.spec, versions: undefined },
  });
  return (
    isDeepStrictEqual(besides(whole), besides(part)) &&
    fewer.every(({ storage: _, ...version }) =>
      versions.some(({ storage: _, ...same }) => isDeepStrictEqual(same, version)),
    )
  );
}

function versionsOf({
  spec,
}: CustomResourceDefinition): CustomResourceDefinition['spec']['versions'] {
  return spec?.versions ?? [];
}

function definitionIn(exported: unknown): CustomResourceDefinition | undefined {
  const seen = new Set<unknown>(); // they may hold themselves
  for (let value = exported; typeof value === 'object' && value !== null && !seen.has(value); ) {
    seen.add(value);
    const { crd, kind, metadata } = value as {
      crd?: unknown;
      kind?: unknown;
      metadata?: { name?: unknown };
    };
    if (kind === 'CustomResourceDefinition' && typeof metadata?.name === 'string')
      return value as CustomResourceDefinition;
    value = crd;
  }
  return undefined;
}
