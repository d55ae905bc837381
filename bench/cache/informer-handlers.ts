/**
 * The handlers that our informer is measured with, and the work that each is called in the report.
 */
export const HANDLERS = ['name', 'spec', 'map'] as const;
export type Handler = (typeof HANDLERS)[number];

/**
 * @param warm it has had events before those that are measured, so that the engine has compiled
 * what it will
 */
export const workOf = (handler: Handler, warm: boolean): string =>
  `${handler === 'name' ? 'informer' : `informer-${handler}`}${warm ? '-warm' : ''}`;
