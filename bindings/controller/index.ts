/**
 * `capstan/controller`: controller-runtime's controllers. Sources add requests to a queue, and
 * workers reconcile them.
 */

export { type ConsoleLoggerOptions, consoleLogger, type LogLevel } from '../base/console-logger.ts';
export {
  type LogFields,
  type Logger,
  type PinoLike,
  pinoLogger,
  silentLogger,
  withFields,
} from '../base/logger.ts';
export type { Request } from '../base/request.ts';
export type { Namespaces } from '../cache/rest/namespaces.ts';
export { type ControllerBuilder, newControllerManagedBy } from './builder.ts';
export type { Controller } from './controller.ts';
export { type ControllerOptions, createController } from './create-controller.ts';
export {
  enqueueRequestForObject,
  enqueueRequestForOwner,
  enqueueRequestsFromMapFunc,
  handlerFuncs,
  LowPriority,
  type MapFuncOptions,
  type OwnerOptions,
  type OwnerResource,
  withLowPriorityWhenUnchanged,
} from './handlers.ts';
export type {
  Collector,
  ControllerDefaults,
  Manager,
  ReportOptions,
  Runnable,
  Span,
  Tracer,
} from './manager.ts';
export { ControllerMetrics } from './metrics.ts';
export {
  type CounterSeries,
  type GaugeOptions,
  type GaugeSeries,
  type HistogramOptions,
  type HistogramSeries,
  type LabelledMetric,
  type MetricLabels,
  type MetricOptions,
  MetricsRegistry,
} from './metrics-registry.ts';
export { asReconciler, type ObjectReconciler } from './object-reconciler.ts';
export type { ControllerSettings } from './options.ts';
export { defineRequest, type RequestType } from './own-requests.ts';
export {
  and,
  annotationChangedPredicate,
  type ChangedPredicate,
  type ChangedPredicateOptions,
  generationChangedPredicate,
  labelChangedPredicate,
  labelSelectorPredicate,
  newPredicateFuncs,
  not,
  or,
  passes,
  predicateFuncs,
  resourceVersionChangedPredicate,
  type TwoStates,
  updateEvent,
} from './predicates.ts';
export {
  type CachedGet,
  type Reconcile,
  type ReconcileContext,
  type Reconciler,
  type Result,
  TerminalError,
} from './reconcile.ts';
export type {
  ControllerReport,
  ErrorReport,
  HotLoopReport,
  KeyReport,
  RunReport,
} from './report.ts';
export { requestFor } from './request-for.ts';
export type { ShardGate, Shards, ShardWorker } from './shards.ts';
export type {
  Cause,
  CauseObject,
  CreateEvent,
  DeleteEvent,
  EventHandler,
  GenericEvent,
  HandlerQueue,
  Predicate,
  Source,
  SourceQueue,
  SourceStart,
  SourceStatus,
  UpdateEvent,
} from './source.ts';
export { type ChannelSourceOptions, channelSource } from './sources/channel.ts';
export { EventChannel, type EventChannelOptions } from './sources/event-channel.ts';
export type { PipeOptions } from './sources/event-pipe.ts';
export { type FuncStart, funcSource } from './sources/func.ts';
export {
  type InformerSourceOptions,
  informerSource,
  type KindSourceOptions,
  kindSource,
} from './sources/kind.ts';
export { type TimerSourceOptions, type TimerTick, timerSource } from './sources/timer.ts';
export {
  type Owned,
  type OwnsOptions,
  owning,
  type Watched,
  type WatchesOptions,
  watching,
} from './watches.ts';
