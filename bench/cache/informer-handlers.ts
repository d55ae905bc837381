/** The handlers with which our informer is measured, and the names of their works in the report. */
export const HANDLERS = ['name', 'spec', 'map'] as const;
export type Handler = (typeof HANDLERS)[number];

/** @param warm whether events came before the measured ones, so that the code is compiled */
export const workOf = (handler: Handler, warm: boolean): string =>
  `${handler === 'name' ? 'informer' : `informer-${handler}`}${warm ? '-warm' : ''}`;
