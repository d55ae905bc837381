/**
 * `capstan crd`: prints the CustomResourceDefinitions that modules export, for `kubectl apply -f`.
 */
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { CustomResourceDefinition } from 'capstan/client';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { yamlOf } from './yaml.ts';

/**
 * YAML with one document per definition, sorted by name.
 *
 * @throws CapstanError INVALID_ARGUMENT as definitionsOfModules
 */
export async function manifestsOf(paths: readonly string[]): Promise<string> {
  const definitions = await definitionsOfModules(paths);
  const documents = definitions.map((crd) =>
    attempt(`${crd.metadata.name} could not be written as YAML`, () => yamlOf(crd)),
  );
  return (await Promise.all(documents)).join('---\n');
}

/**
 * The definitions that modules export, sorted by name. An export may have any name and be a
 * result of `defineCustomResource`, a definition, or an array of these. Of several definitions with
 * one name, the one that includes all versions is used.
 *
 * @throws CapstanError INVALID_ARGUMENT for a module that exports no definition or cannot be
 *   loaded, and if no definition of a name has all of its versions
 */
export async function definitionsOfModules(
  paths: readonly string[],
): Promise<CustomResourceDefinition[]> {
  const found = new Map<string, CustomResourceDefinition[]>();
  for (const path of paths) {
    const definitions = await attempt(`${path} could not be loaded`, async () => {
      const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
      const exported = Object.values(module).flatMap((value: unknown) => value);
      return exported.flatMap((value) => definitionIn(value) ?? []);
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
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, all]) => wholeOf(name, all));
}

/** The definition that has all versions. Applying any other one would remove versions silently. */
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
 * Whether `whole` equals `part` apart from more versions, as combineVersions makes them. The
 * storage version and the conversion may differ.
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
  const seen = new Set<unknown>(); // `crd` may be circular
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
