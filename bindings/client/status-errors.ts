/**
 * Predicates for errors of the API server. apimachinery: pkg/api/errors. They compare the reason,
 * or the HTTP code if the reason is unknown. The `is` functions accept any value, and never throw.
 */
import {
  hasReason,
  isNotFound,
  isStatusError,
  type StatusError,
} from '../cache/rest/status-error.ts';

export {
  isForbidden,
  isInternalError,
  isNotFound,
  isResourceExpired,
  isTooManyRequests,
} from '../cache/rest/status-error.ts';

/** An object of this name exists. */
export function isAlreadyExists(error: unknown): error is StatusError {
  return isStatusError(error) && error.reason === 'AlreadyExists';
}

/** The object has changed since it was read, or another manager owns fields of an apply. */
export function isConflict(error: unknown): error is StatusError {
  return hasReason(error, 'Conflict', 409);
}

/** The object is invalid. `error.body.details.causes` has the fields. */
export function isInvalid(error: unknown): error is StatusError {
  return hasReason(error, 'Invalid', 422);
}

/**
 * The server does not serve the kind, its version or its group, or a {@link Discovery} does not
 * find it. Such an error is also `isNotFound`. apimachinery: meta.IsNoMatchError.
 *
 * @example
 * const widgets = await client.list(Website).catch((error: unknown) => {
 *   if (isNoMatch(error)) return undefined; // its definition is not installed
 *   throw error;
 * });
 */
export function isNoMatch(error: unknown): error is StatusError {
  return isNotFound(error) && !(error as StatusError).body.details?.name;
}

/** The server does not understand the request. */
export function isBadRequest(error: unknown): error is StatusError {
  return hasReason(error, 'BadRequest', 400);
}

/** The request is not authenticated. */
export function isUnauthorized(error: unknown): error is StatusError {
  return hasReason(error, 'Unauthorized', 401);
}

/** The resource does not support the verb. */
export function isMethodNotSupported(error: unknown): error is StatusError {
  return hasReason(error, 'MethodNotAllowed', 405);
}

/** The server cannot answer in a requested format. */
export function isNotAcceptable(error: unknown): error is StatusError {
  return hasReason(error, 'NotAcceptable', 406);
}

/** The resource or version is permanently gone. */
export function isGone(error: unknown): error is StatusError {
  return hasReason(error, 'Gone', 410);
}

/** The object is larger than the server accepts. */
export function isRequestEntityTooLarge(error: unknown): error is StatusError {
  return isStatusError(error) && (error.reason === 'RequestEntityTooLarge' || error.status === 413);
}

/** The server does not accept this content type, such as a strategic patch of a custom resource. */
export function isUnsupportedMediaType(error: unknown): error is StatusError {
  return hasReason(error, 'UnsupportedMediaType', 415);
}

/** The server, or a proxy before it, cannot serve now. */
export function isServiceUnavailable(error: unknown): error is StatusError {
  return hasReason(error, 'ServiceUnavailable', 503);
}

/** The server took too long. It may have carried out the request. */
export function isTimeout(error: unknown): error is StatusError {
  return hasReason(error, 'Timeout', 504);
}

/**
 * The server cannot answer now and asks for a retry. No HTTP code is its own, so only the reason
 * counts.
 */
export function isServerTimeout(error: unknown): error is StatusError {
  return isStatusError(error) && error.reason === 'ServerTimeout';
}

/**
 * Whether the error has a cause of this type: `FieldManagerConflict`, `FieldValueInvalid`,
 * `NamespaceTerminating` and others.
 */
export function hasStatusCause(error: unknown, type: string): boolean {
  const causes = isStatusError(error) ? error.body.details?.causes : undefined;
  return Array.isArray(causes) && causes.some((cause) => cause?.reason === type);
}

/**
 * How long the server asks a client to wait, in milliseconds; otherwise `undefined`. apimachinery:
 * SuggestsClientDelay.
 */
export function suggestsClientDelay(error: unknown): number | undefined {
  const { reason, body } = isStatusError(error) ? error : {};
  if (body?.details === undefined) return undefined;
  const { retryAfterSeconds = 0 } = body.details; // JSON omits 0
  return retryAfterSeconds > 0 || reason === 'ServerTimeout' ? retryAfterSeconds * 1000 : undefined;
}

/**
 * For `catch`: returns `undefined` if the object does not exist, and throws any other error again.
 * (client-go returns the other error. In the `catch` of a promise that would hide it.)
 *
 * @throws the error itself, unless it is `isNotFound`
 * @example
 * const before = await client.get(Pod, key).catch(ignoreNotFound); // V1Pod or undefined
 * await client.delete(Pod, key).catch(ignoreNotFound);
 */
export function ignoreNotFound(error: unknown): undefined {
  if (error !== undefined && !isNotFound(error)) throw error;
}

/** As {@link ignoreNotFound}, for an object that exists already. */
export function ignoreAlreadyExists(error: unknown): undefined {
  if (error !== undefined && !isAlreadyExists(error)) throw error;
}
