/** `capstan/client`: typed reads and writes of Kubernetes objects. */

export { type ClientOptions, newClient } from './client.ts';
export {
  type CreateOrUpdateOptions,
  createOrPatch,
  createOrUpdate,
  type Mutate,
  type Operation,
  type OperationResult,
} from './create-or-update.ts';
export {
  Discovery,
  discover,
  type GroupKind,
  type GroupVersionKind,
  groupVersionKindFor,
  isObjectNamespaced,
} from './discovery.ts';
export { type Interceptors, withInterceptors } from './interceptor.ts';
export { type ListAllOptions, listAll, listPages } from './list-all.ts';
export { type MergeFromOptions, mergeFrom, type PatchBase, rawPatch } from './merge-from.ts';
export { type RateLimitOptions, RequestRateLimiter, rateLimitedTransport } from './rate-limit.ts';
export { instrumentTransport, RestClientMetrics } from './rest-metrics.ts';
export {
  defaultBackoff,
  defaultRetry,
  type RetryBackoff,
  type RetryOptions,
  retryOnConflict,
  retryOnError,
} from './retry.ts';
export {
  hasStatusCause,
  ignoreAlreadyExists,
  ignoreNotFound,
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isForbidden,
  isGone,
  isInternalError,
  isInvalid,
  isMethodNotSupported,
  isNotAcceptable,
  isNotFound,
  isRequestEntityTooLarge,
  isResourceExpired,
  isServerTimeout,
  isServiceUnavailable,
  isTimeout,
  isTooManyRequests,
  isUnauthorized,
  isUnsupportedMediaType,
  suggestsClientDelay,
} from './status-errors.ts';
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
  SubResourceApplyOptions,
  SubResourceClient,
  SubResourceWriteOptions,
  WriteOptions,
  Writer,
} from './types.ts';
export type { Warning } from './warnings.ts';
export { newDryRunClient, newNamespacedClient, withFieldOwner, withFieldValidation } from './wrappers.ts';
