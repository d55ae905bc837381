/** `capstan/client`: typed reads and writes of Kubernetes objects. */

export { instrumentTransport, RestClientMetrics } from './rest-metrics.ts';
export type {
  AnyResource,
  ApplyOptions,
  CallOptions,
  Client,
  DeleteAllOfOptions,
  DeleteOptions,
  JsonPatchOperation,
  ListOptions,
  ObjectKey,
  ObjectList,
  Patch,
  Reader,
  ReadOptions,
  SubResourceClient,
  WriteOptions,
  Writer,
} from './types.ts';
