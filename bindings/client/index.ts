/** `capstan/client`: typed reads and writes of Kubernetes objects. */

export {
  type AccessEntry,
  AccessRecord,
  accessOf,
  type RequestAccess,
  recordAccess,
} from './access-record.ts';
export { type ClientOptions, newClient } from './client.ts';
export {
  type Condition,
  type ConditionLike,
  findStatusCondition,
  isStatusConditionFalse,
  isStatusConditionPresentAndEqual,
  isStatusConditionTrue,
  type NewCondition,
  removeStatusCondition,
  type SetConditionOptions,
  setStatusCondition,
} from './conditions.ts';
export {
  type CustomObject,
  type CustomObjectInput,
  type CustomResource,
  type CustomResourceOptions,
  combineVersions,
  defineCustomResource,
  type ObjectOf,
} from './crd/define.ts';
export {
  type CRDConversion,
  type CRDVersion,
  type CustomResourceDefinition,
  crdResource,
  type PrinterColumn,
  type ScaleSubresource,
} from './crd/definition.ts';
export { CRDError, type InstallCRDsOptions, installCRDs, uninstallCRDs } from './crd/install.ts';
export {
  type InferInput,
  type InferOutput,
  type JsonSchema,
  type StandardIssue,
  type StandardResult,
  type StandardSchema,
  withJsonSchema,
} from './crd/standard-schema.ts';
export {
  SchemaError,
  type StructuralSchema,
  type ValidationRule,
} from './crd/structural-schema.ts';
export { InvalidObjectError, type Issue, type ValidationResult } from './crd/validation.ts';
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
  type GroupResource,
  type GroupVersionKind,
  groupVersionKindFor,
  isObjectNamespaced,
  type ServerResources,
} from './discovery.ts';
export {
  type EventDetails,
  type EventSeries,
  type EventType,
  eventResource,
  type KubeEvent,
  type ObjectReference,
  objectReference,
} from './events/event.ts';
export { type CoreEvent, coreEventResource, type EventAPI } from './events/forms.ts';
export {
  type EventCounts,
  EventRecorder,
  type EventRecorderOptions,
  type EventSink,
} from './events/recorder.ts';
export {
  addFinalizer,
  containsFinalizer,
  FinalizeError,
  type FinalizeResult,
  type Finalizer,
  type FinalizerHandlers,
  type FinalizerResult,
  Finalizers,
  finalizer,
  isBeingDeleted,
  removeFinalizer,
} from './finalizers.ts';
export { type Interceptors, withInterceptors } from './interceptor.ts';
export { type ListAllOptions, listAll, listPages } from './list-all.ts';
export { type MergeFromOptions, mergeFrom, type PatchBase, rawPatch } from './merge-from.ts';
export type { ObjectMeta, OwnerReference } from './metadata.ts';
export { objectKey } from './object-key.ts';
export {
  AlreadyOwnedError,
  getControllerOf,
  hasControllerReference,
  hasOwnerReference,
  type OwnerReferenceOptions,
  removeControllerReference,
  removeOwnerReference,
  setControllerReference,
  setOwnerReference,
} from './owner-references.ts';
export { type RateLimitOptions, RequestRateLimiter, rateLimitedTransport } from './rate-limit.ts';
export { type InstrumentOptions, instrumentTransport, RestClientMetrics } from './rest-metrics.ts';
export {
  defaultBackoff,
  defaultRetry,
  type RetryBackoff,
  type RetryOptions,
  retryOnConflict,
  retryOnError,
} from './retry.ts';
export {
  type FieldTerm,
  fieldSelectorOf,
  type LabelTerm,
  labelSelectorOf,
} from './selectors.ts';
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
  isNoMatch,
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
  Applied,
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
export {
  type PollOptions,
  pollUntil,
  type UntilOptions,
  until,
  type WatchObjectOptions,
  watchObject,
} from './until.ts';
export type { Warning } from './warnings.ts';
export {
  newDryRunClient,
  newNamespacedClient,
  withFieldOwner,
  withFieldValidation,
} from './wrappers.ts';
