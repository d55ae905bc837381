/**
 * Checks the options `namespace` and `namespaces`. Invariant: `namespaces` has no duplicates and no
 * "", so that no object is cached twice.
 */
import { invalid, requireString } from '../../base/errors.ts';
import { pathSegment } from '../../base/urls.ts';

/** One namespace or several; all namespaces if both are undefined. */
export interface Namespaces {
  readonly namespace?: string | undefined;
  readonly namespaces?: readonly string[] | undefined;
}

/**
 * Throws CapstanError INVALID_ARGUMENT.
 *
 * @param name the name of the options, for messages
 * @param mayBeNone whether `namespaces` may be empty
 */
export function requireNamespaces(
  name: string,
  { namespace, namespaces }: Namespaces,
  mayBeNone = false,
): void {
  if (namespace !== undefined) requireString(`${name}.namespace`, namespace);
  if (namespace) pathSegment(`${name}.namespace`, namespace);
  if (namespaces === undefined) return;
  if (namespace !== undefined)
    throw invalid(
      `${name}.namespace`,
      `nothing beside ${name}.namespaces, which says it already`,
      namespace,
    );
  if (mayBeNone && Array.isArray(namespaces) && namespaces.length === 0) return;
  requireDistinct(`${name}.namespaces`, namespaces, mayBeNone ? '' : 'one at least and ');
}

/** Throws CapstanError INVALID_ARGUMENT unless these are names of namespaces, each once. */
export function requireDistinct(
  name: string,
  namespaces: readonly string[],
  atLeast: string,
): void {
  const distinct =
    Array.isArray(namespaces) &&
    (namespaces.length > 0 || atLeast === '') &&
    new Set(namespaces).size === namespaces.length;
  if (!distinct || !namespaces.every((each) => typeof each === 'string' && each !== ''))
    throw invalid(name, `names of namespaces, ${atLeast}each once`, namespaces);
  for (const [i, each] of namespaces.entries()) pathSegment(`${name}[${i}]`, each);
}
