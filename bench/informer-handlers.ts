/** The handlers that our informer is measured with, and the work that each is called in the report. */
export const HANDLERS = ['name', 'spec', 'map'] as const;
export type Handler = (typeof HANDLERS)[number];

export const workOf = (handler: Handler): string => (handler === 'name' ? 'informer' : `informer-${handler}`);
