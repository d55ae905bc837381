/**
 * `capstan`: the work queue, the cache and the controller. Transports for Node are in
 * `capstan/client-node`, the server for tests in `capstan/testing`.
 */
export * from './cache/index.ts';
export * from './controller/index.ts';
export * from './workqueue/index.ts';
