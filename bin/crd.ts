/** `capstan crd`: the CustomResourceDefinitions that modules export, as `kubectl apply -f` takes them. */
import { pathToFileURL } from 'node:url';
import { CapstanError } from 'capstan';
import type { CustomResourceDefinition } from 'capstan/client';
import { yamlOf } from './yaml.ts';

/**
 * YAML with a document for each definition, in the order of their names: of what `defineCustomResource` gives, and of definitions themselves, exported
 * under any name.
 *
 * @throws CapstanError INVALID_ARGUMENT for a module that exports none, or cannot be loaded
 */
export async function manifestsOf(paths: readonly string[]): Promise<string> {
  const found = new Map<string, CustomResourceDefinition>();
  for (const path of paths) {
    const definitions = Object.values(await load(path)).flatMap((value) => definitionIn(value) ?? []);
    if (definitions.length === 0)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${path} expected an export that is a custom resource (of defineCustomResource) or a CustomResourceDefinition`,
      );
    for (const definition of definitions) found.set(definition.metadata.name ?? '', definition);
  }
  const documents = [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, definition]) => yamlOf(definition));
  return documents.join('---\n');
}

async function load(path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CapstanError('INVALID_ARGUMENT', `${path} could not be loaded: ${why}`, { cause });
  }
}

function definitionIn(value: unknown): CustomResourceDefinition | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { crd, kind, metadata } = value as { crd?: unknown; kind?: unknown; metadata?: { name?: unknown } };
  if (kind === 'CustomResourceDefinition' && typeof metadata?.name === 'string')
    return value as CustomResourceDefinition;
  return crd === value ? undefined : definitionIn(crd);
}
