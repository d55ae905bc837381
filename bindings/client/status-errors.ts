/**
 * Which failure of the server it was. The reason decides, and the HTTP code only where the reason
 * is none of the known, as in apimachinery: pkg/api/errors. None of the `is` functions throws,
 * whatever it is given.
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

/** An object of that name is there already. */
export function isAlreadyExists(error: unknown): error is StatusError {
  return isStatusError(error) && error.reason === 'AlreadyExists';
}

/** The object has changed since it was read, or another owns the fields that were applied. */
export function isConflict(error: unknown): error is StatusError {
  return hasReason(error, 'Conflict', 409);
}

/** The object is not valid: `error.body.details.causes` says where. */
export function isInvalid(error: unknown): error is StatusError {
  return hasReason(error, 'Invalid', 422);
}

/** The server does not understand the request. */
export function isBadRequest(error: unknown): error is StatusError {
  return hasReason(error, 'BadRequest', 400);
}

/** The server does not know who asks. */
export function isUnauthorized(error: unknown): error is StatusError {
  return hasReason(error, 'Unauthorized', 401);
}

/** The resource has no such verb. */
export function isMethodNotSupported(error: unknown): error is StatusError {
  return hasReason(error, 'MethodNotAllowed', 405);
}

/** The server has no answer in a form that was asked for. */
export function isNotAcceptable(error: unknown): error is StatusError {
  return hasReason(error, 'NotAcceptable', 406);
}

/** What was asked for is no longer there, and will not be again. */
export function isGone(error: unknown): error is StatusError {
  return hasReason(error, 'Gone', 410);
}

/** The object is bigger than the server takes. */
export function isRequestEntityTooLarge(error: unknown): error is StatusError {
  return isStatusError(error) && (error.reason === 'RequestEntityTooLarge' || error.status === 413);
}

/** The server does not take such a body, as a strategic patch of a custom resource. */
export function isUnsupportedMediaType(error: unknown): error is StatusError {
  return hasReason(error, 'UnsupportedMediaType', 415);
}

/** The server, or what stands before it, cannot serve now. */
export function isServiceUnavailable(error: unknown): error is StatusError {
  return hasReason(error, 'ServiceUnavailable', 503);
}

/** The server took too long: whether it has done what was asked is not known. */
export function isTimeout(error: unknown): error is StatusError {
  return hasReason(error, 'Timeout', 504);
}

/**
 * The server cannot answer now, and asks to try again. No code of its own tells this, so the reason
 * alone counts.
 */
export function isServerTimeout(error: unknown): error is StatusError {
  return isStatusError(error) && error.reason === 'ServerTimeout';
}

/**
 * Whether a cause of this type is given: `FieldManagerConflict`, `FieldValueInvalid`,
 * `NamespaceTerminating` and others.
 */
export function hasStatusCause(error: unknown, type: string): boolean {
  const causes = isStatusError(error) ? error.body.details?.causes : undefined;
  return Array.isArray(causes) && causes.some((cause) => cause?.reason === type);
}

/**
 * How long the server asks to wait, in milliseconds; undefined where it does not. apimachinery:
 * SuggestsClientDelay.
 */
export function suggestsClientDelay(error: unknown): number | undefined {
  const { reason, body } = isStatusError(error) ? error : {};
  if (body?.details === undefined) return undefined;
  const { retryAfterSeconds = 0 } = body.details; // 0 is not written
  return retryAfterSeconds > 0 || reason === 'ServerTimeout' ? retryAfterSeconds * 1000 : undefined;
}

/**
 * For `catch`: an object that is not there gives undefined; any other error is thrown again.
 * (client-go's returns it instead, which as the handler of a promise would swallow it.)
 *
 * @throws the error itself, unless it is `isNotFound`
 * @example
 * const before = await client.get(Pod, key).catch(ignoreNotFound); // V1Pod or undefined
 * await client.delete(Pod, key).catch(ignoreNotFound);
 */
export function ignoreNotFound(error: unknown): undefined {
  if (error !== undefined && !isNotFound(error)) throw error;
}

/** As {@link ignoreNotFound}, for an object that is there already. */
export function ignoreAlreadyExists(error: unknown): undefined {
  if (error !== undefined && !isAlreadyExists(error)) throw error;
}
