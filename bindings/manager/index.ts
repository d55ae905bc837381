/**
 * `capstan/manager`: controller-runtime's manager, which runs controllers in a process with HTTP
 * servers, leader election and signals. It needs `node:` modules: Node or Deno.
 */
import { requireNode } from '../base/environment.ts';

export type { SharedInformerFactory } from '../cache/informer/factory.ts';
export type { Transport } from '../cache/rest/transport.ts';
export type { Client } from '../client/types.ts';
export type {
  Collector,
  ControllerDefaults,
  Manager,
  ReportOptions,
  Runnable,
  Span,
  Tracer,
} from '../controller/manager.ts';
export type { ShardGate, Shards, ShardWorker } from '../controller/shards.ts';
export {
  type ReadShardsOptions,
  readShards,
  type ShardOverview,
  type ShardReplicaOverview,
  type ShardReport,
  type ShardSlot,
} from '../shards/overview.ts';
export { type AccessReviewOptions, withAuthenticationAndAuthorization } from './access-review.ts';
export { type CertificateReads, type Certificates, certificateFiles } from './certificates.ts';
export type { Cluster, ClusterOptions } from './cluster.ts';
export { type Checker, healthz } from './healthz.ts';
export { HTTPServer, type HTTPServerOptions } from './http-server.ts';
export { type ControllerManager, newManager } from './manager.ts';
export type {
  DebugPageOptions,
  HealthProbeOptions,
  LeaderElectionOptions,
  ManagerOptions,
  MetricsOptions,
  ProfilingOptions,
  ShardOptions,
} from './options.ts';
export { debugPage, type LivePageHandler, type LivePageOptions } from './page/debug-page.ts';
export type { InformerState, LivePageState } from './page/state.ts';
export type { Verdict, VerdictState } from './page/verdict.ts';
export { ProcessMetrics } from './process-metrics.ts';
export {
  findObjects,
  type InformerReport,
  type LeaderReport,
  type ManagerReport,
  type ObjectReport,
  type RunnableReport,
  type SearchedInformer,
} from './report.ts';
export type { HTTPHandler } from './router.ts';
export type { GroupName, Ready } from './runnable-group.ts';
export type { GroupedRunnable } from './runnables.ts';
export type { Service } from './servers.ts';
export type { ManagerShards } from './shards.ts';
export { setupSignalHandler } from './signals.ts';
export {
  type SelfManagedCertificates,
  type WebhookClientConfig,
  type WebhookOptions,
  WebhookServer,
} from './webhook-server.ts';

requireNode('capstan/manager');
