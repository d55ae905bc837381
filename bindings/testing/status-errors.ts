/**
 * Errors as a server's answers make them, for interceptors and fakes in tests. apimachinery:
 * pkg/api/errors NewNotFound, NewConflict and others.
 */
import { CapstanError, requireMs, requireString } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { StatusError } from '../cache/rest/status-error.ts';
import { requireResource } from '../client/paths.ts';
import type { AnyResource } from '../client/types.ts';
import {
  ApiError,
  alreadyExists,
  badRequest,
  conflict,
  expired,
  type FieldError,
  forbiddenObject,
  genericStatus,
  invalidObject,
  notFound,
  notSupported,
  type StatusDetails,
  type Subject,
  staleVersion,
} from './server/status.ts';

/** When the server asks for a retry. */
export interface RetryAfter {
  /** In milliseconds; a server says it in whole seconds, so that it is rounded up. */
  readonly retryAfter?: number | undefined;
}

/** What is wrong with one field of an object. */
export interface FieldCause {
  /** A path such as `spec.replicas`. */
  readonly field: string;
  /** Without the field, such as `Invalid value: -1: must be at least 0`. */
  readonly message: string;
  /** Default `FieldValueInvalid`. */
  readonly reason?: FieldError['reason'] | undefined;
}

const RETRY_NAMES = namesOf<RetryAfter>()({ retryAfter: 1 });

/**
 * Makes the errors that a client rejects with, with the reason, code, message and details of a real
 * server: for interceptors and fakes of tests. All throw CapstanError INVALID_ARGUMENT for
 * arguments that are none. apimachinery: errors.NewNotFound and the others of that file.
 *
 * @example
 * const { conflict } = statusErrors;
 * let conflicts = 2;
 * const client = fakeClient({
 *   interceptors: {
 *     update: (inner, resource, object, options) => {
 *       if (conflicts-- > 0) throw conflict(resource, objectKey(object).name);
 *       return inner.update(resource, object, options);
 *     },
 *   },
 * });
 */
export const statusErrors = {
  /** 404: there is no such object. */
  notFound: (resource: AnyResource, name: string): StatusError =>
    errorOf(notFound(subjectOf(resource, name))),

  /** 409: an object of that name exists. */
  alreadyExists: (resource: AnyResource, name: string): StatusError =>
    errorOf(alreadyExists(subjectOf(resource, name), false)),

  /** 409; default of `why`: the object has been modified since it was read. */
  conflict: (resource: AnyResource, name: string, why?: string): StatusError => {
    const subject = subjectOf(resource, name);
    return errorOf(why === undefined ? staleVersion(subject) : conflict(subject, why));
  },

  /** 403; a `name` of "" is for a verb without one, such as list. */
  forbidden: (resource: AnyResource, name: string, why: string): StatusError =>
    errorOf(forbiddenObject(subjectOf(resource, name), why)),

  /** 422: the object is invalid. */
  invalid: (resource: AnyResource, name: string, causes: readonly FieldCause[]): StatusError => {
    requireResource(resource);
    const subject = { group: resource.group, what: resource.kind, name };
    const errors = causes.map(({ field, message, reason = 'FieldValueInvalid' }) => {
      requireString('cause.field', field);
      requireString('cause.message', message);
      return { field, message, reason };
    });
    return errorOf(invalidObject(subject, errors));
  },

  /** 400: the server does not understand the request. */
  badRequest: (why: string): StatusError => errorOf(badRequest(text('why', why))),

  /** 401: the request is not authenticated. */
  unauthorized: (why = 'Unauthorized'): StatusError => plain(401, 'Unauthorized', why),

  /** 405: the resource has no such verb. */
  methodNotSupported: (resource: AnyResource, verb: string): StatusError =>
    errorOf(notSupported(text('verb', verb), subjectOf(resource, ''))),

  /** 410: the server no longer has the requested version. */
  resourceExpired: (
    message = 'The resourceVersion for the provided list is too old.',
  ): StatusError => errorOf(expired(text('message', message))),

  /** 413: the object is larger than the server accepts. */
  requestEntityTooLarge: (message = 'limit is 3145728'): StatusError =>
    plain(413, 'RequestEntityTooLarge', `Request entity too large: ${text('message', message)}`),

  /** 429. With `retryAfter`, a client repeats such an answer of a server by itself. */
  tooManyRequests: (message: string, options: RetryAfter = {}): StatusError =>
    plain(429, 'TooManyRequests', message, retryOf(options, 'tooManyRequests()')),

  /** 500: the server has failed. */
  internalError: (why: string): StatusError =>
    plain(500, 'InternalError', `Internal error occurred: ${text('why', why)}`, {
      causes: [{ message: why }],
    }),

  /** 500 with the reason ServerTimeout: the server asks for a retry. */
  serverTimeout: (resource: AnyResource, verb: string, options: RetryAfter = {}): StatusError => {
    const { group, what } = subjectOf(resource, '');
    const qualified = group === '' ? what : `${what}.${group}`;
    const message =
      `The ${text('verb', verb)} operation against ${qualified} could not be completed at this ` +
      'time, please try again.';
    return plain(500, 'ServerTimeout', message, {
      ...(group === '' ? {} : { group }),
      kind: what,
      ...retryOf(options, 'serverTimeout()'),
    });
  },

  /** 503: the server, or a proxy before it, cannot serve now. */
  serviceUnavailable: (why: string): StatusError =>
    plain(503, 'ServiceUnavailable', text('why', why)),

  /** 504: the server took too long, and may have carried out the request. */
  timeout: (message: string, options: RetryAfter = {}): StatusError =>
    plain(504, 'Timeout', `Timeout: ${text('message', message)}`, retryOf(options, 'timeout()')),

  /** Any code, with the usual reason and message of it. */
  ofCode: (code: number): StatusError => {
    if (!Number.isInteger(code) || code < 400 || code > 599)
      throw new CapstanError('INVALID_ARGUMENT', `"code" expected 400 to 599, got ${code}`);
    return errorOf(genericStatus(code));
  },
} as const;

function errorOf({ code, body }: ApiError): StatusError {
  return new StatusError(code, body, 'the server');
}

function plain(
  code: number,
  reason: string,
  message: string,
  details?: StatusDetails,
): StatusError {
  return errorOf(new ApiError(code, text('message', message), { reason, details }));
}

function subjectOf(resource: AnyResource, name: string): Subject {
  requireResource(resource);
  requireString('name', name);
  return { group: resource.group, what: resource.plural, name };
}

function text(name: string, value: string): string {
  requireString(name, value);
  return value;
}

function retryOf(options: RetryAfter, what: string): StatusDetails {
  requireNames('options', options, `option of ${what}`, RETRY_NAMES);
  const { retryAfter } = options;
  if (retryAfter === undefined) return {};
  requireMs('options.retryAfter', retryAfter);
  return { retryAfterSeconds: Math.ceil(retryAfter / 1000) };
}
