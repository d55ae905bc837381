/**
 * What the reconciles of our controller read of their objects, and the work that each is called in the report: `name` reads name and
 * resourceVersion, `spec` the spec as well, `client` the same as `spec`, not by the controller's own `get` but by the manager's client.
 */
export const READERS = ['name', 'spec', 'client'] as const;
export type Reader = (typeof READERS)[number];

export const workOf = (reader: Reader): string => (reader === 'name' ? 'controller' : `controller-${reader}`);
