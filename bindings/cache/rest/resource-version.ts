/**
 * Compares resourceVersions. A reflector treats them as opaque; read-your-writes compares them as
 * decimal numbers of any length. JavaScript numbers are exact only up to 2^53, so the texts are
 * compared. client-go: k8s.io/apimachinery/pkg/util/resourceversion.
 */
import { invalid } from '../../base/errors.ts';

const VERSION = /^[1-9][0-9]*$/;

/**
 * -1, 0 or 1 if `a` is older than, the same as, or newer than `b`. Only versions of one resource on
 * one server can be compared. apimachinery: util/resourceversion CompareResourceVersion.
 *
 * @throws CapstanError INVALID_ARGUMENT unless both are decimal digits without a leading zero
 * @example
 * compareResourceVersion('9', '10') < 0;
 */
export function compareResourceVersion(a: string, b: string): -1 | 0 | 1 {
  requireVersion('a', a);
  requireVersion('b', b);
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Whether a value is a version that {@link compareResourceVersion} takes. */
export function isComparableResourceVersion(version: unknown): version is string {
  return typeof version === 'string' && VERSION.test(version);
}

function requireVersion(name: string, version: unknown): void {
  if (!isComparableResourceVersion(version))
    throw invalid(name, 'a resource version: decimal digits without leading zero', version);
}
