/**
 * Which of two versions of a resource is newer. A reflector never asks: to it versions are opaque.
 * To wait for this client's own writes they are compared as decimal numbers of any length, never as
 * JavaScript numbers: those are exact up to 2^53 only. client-go:
 * k8s.io/apimachinery/pkg/util/resourceversion.
 */
import { invalid } from '../../base/errors.ts';

const VERSION = /^[1-9][0-9]*$/;

/**
 * -1, 0 or 1, as `a` is older than `b`, the same, or newer. Meaningful for objects of one resource
 * of one server only.
 *
 * @throws CapstanError INVALID_ARGUMENT for what no object has as its version: "", "0", leading
 *   zeros, anything but digits
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

/** Whether a text is a version that can be compared. */
export function isComparableResourceVersion(version: unknown): version is string {
  return typeof version === 'string' && VERSION.test(version);
}

function requireVersion(name: string, version: unknown): void {
  if (!isComparableResourceVersion(version))
    throw invalid(name, 'a resource version: decimal digits without leading zero', version);
}
