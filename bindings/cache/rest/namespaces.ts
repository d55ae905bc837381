/**
 * Checks the options `namespace` and `namespaces`. Invariant: `namespaces` has no duplicates and no
 * "", so that no object is cached twice.
 */
import { invalid, requireString } from '../../base/errors.ts';

/** One namespace or several; all namespaces if both are undefined. */
export interface Namespaces {
  readonly namespace?: string | undefined;
  readonly namespaces?: readonly string[] | undefined;
}

/** Throws CapstanError INVALID_ARGUMENT. @param name the name of the options, for messages */
export function requireNamespaces(name: string, { namespace, namespaces }: Namespaces): void {
  if (namespace !== undefined) requireString(`${name}.namespace`, namespace);
  if (namespaces === undefined) return;
  if (namespace !== undefined)
    throw invalid(
      `${name}.namespace`,
      `nothing beside ${name}.namespaces, which says it already`,
      namespace,
    );
  const distinct =
    Array.isArray(namespaces) &&
    namespaces.length > 0 &&
    new Set(namespaces).size === namespaces.length;
  if (!distinct || !namespaces.every((each) => typeof each === 'string' && each !== ''))
    throw invalid(
      `${name}.namespaces`,
      'names of namespaces, one at least and each once',
      namespaces,
    );
}
