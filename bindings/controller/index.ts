/** `capstan/controller`: watches that feed a queue, and workers that reconcile what comes out of it. */
export { type Controller, type ControllerOptions, createController } from './controller.ts';
export { LowPriority } from './handler.ts';
export { type CachedGet, type Reconcile, type ReconcileContext, type Result, TerminalError } from './reconcile.ts';
