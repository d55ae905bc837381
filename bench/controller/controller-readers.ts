/**
 * The reconcile functions of our controller, and the names of their works in the report: `name`
 * reads name and resourceVersion, `spec` reads the spec too, and `client` reads the same by the
 * manager's client in place of the controller's `get`.
 */
export const READERS = ['name', 'spec', 'client'] as const;
export type Reader = (typeof READERS)[number];

/** @param warm whether events came before the measured ones, so that the code is compiled */
export const controllerWork = (reader: Reader, warm: boolean): string =>
  `${reader === 'name' ? 'controller' : `controller-${reader}`}${warm ? '-warm' : ''}`;
