/**
 * What the reconciles of our controller read of their objects, and the work that each is called in
 * the report: `name` reads name and resourceVersion, `spec` the spec as well, `client` the same as
 * `spec`, not by the controller's own `get` but by the manager's client.
 */
export const READERS = ['name', 'spec', 'client'] as const;
export type Reader = (typeof READERS)[number];

/**
 * @param warm it has had events before those that are measured, so that the engine has compiled
 * what it will
 */
export const controllerWork = (reader: Reader, warm: boolean): string =>
  `${reader === 'name' ? 'controller' : `controller-${reader}`}${warm ? '-warm' : ''}`;
