/**
 * StatusError: an HTTP answer that reports a failure. The predicates (expired, too many requests)
 * follow k8s.io/apimachinery/pkg/api/errors: the reason decides, and the HTTP code only if the
 * reason is not a known one.
 */
import { ownText, withoutCredentials } from '../../base/error-text.ts';
import { CapstanError, hasCode } from '../../base/errors.ts';

/** The members of a Kubernetes `Status` that errors use. apimachinery: meta/v1 Status. */
export interface Status {
  kind?: string;
  apiVersion?: string;
  status?: string;
  message?: string;
  reason?: string;
  code?: number;
  details?: {
    name?: string;
    group?: string;
    /** The plural of the resource, mostly. */
    kind?: string;
    uid?: string;
    causes?: { reason?: string; message?: string; field?: string }[];
    retryAfterSeconds?: number;
  };
}

/**
 * An answer of the API server that reports a failure: `status` is the HTTP code, `reason` the
 * reason of the Status (may be ""), `body` the whole Status. Code `STATUS`. apimachinery:
 * api/errors StatusError.
 */
export class StatusError extends CapstanError {
  readonly status: number;
  readonly reason: string;
  readonly body: Status;

  /** @param advice what to do, appended to the server's message */
  constructor(status: number, body: Status, what: string, advice = '') {
    const checked = wellTyped(body);
    const { reason = '', message = 'no message' } = checked;
    super('STATUS', `${what}: ${status}${reason === '' ? '' : ` ${reason}`}: ${message}${advice}`);
    this.status = status;
    this.reason = reason;
    this.body = checked;
  }

  override get name(): string {
    return 'StatusError';
  }
}

/**
 * Removes members of the wrong type, so that no predicate throws, whatever a server or a proxy
 * sent.
 */
function wellTyped(body: Status): Status {
  const { message, reason, code, details } = body;
  const seconds = details?.retryAfterSeconds;
  const copy = { ...body };
  if (typeof message !== 'string') delete copy.message;
  if (typeof reason !== 'string') delete copy.reason;
  if (!Number.isInteger(code)) delete copy.code;
  if (details === null) delete copy.details;
  if (seconds !== undefined && !(Number.isSafeInteger(seconds) && seconds >= 0)) {
    copy.details = { ...details };
    delete copy.details.retryAfterSeconds;
  }
  return copy;
}

/**
 * Makes an error of an answer's code and text. A text that is not a Status (a proxy's page) becomes
 * the message.
 */
export function statusErrorFromAnswer(
  code: number,
  answer: string,
  what: string,
  advice?: string,
): StatusError {
  const text = withoutCredentials(answer);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const page = ownText(text.slice(0, 200));
  const message = isRedirect(code) ? `${NOT_FOLLOWED}${page === '' ? '' : `: ${page}`}` : page;
  return new StatusError(code, isStatus(body) ? body : { message, code }, what, advice);
}

const NOT_FOLLOWED =
  'redirects are not followed: give the address that the server, or a proxy before it, leads to';

function isRedirect(code: number): boolean {
  return code >= 300 && code < 400 && code !== 304;
}

export function isStatus(value: unknown): value is Status {
  return (
    typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'Status'
  );
}

/** The reasons of apimachinery; with one of them the HTTP code does not count. */
const KNOWN_REASONS = new Set([
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'AlreadyExists',
  'Conflict',
  'Gone',
  'Invalid',
  'ServerTimeout',
  'Timeout',
  'TooManyRequests',
  'BadRequest',
  'MethodNotAllowed',
  'NotAcceptable',
  'RequestEntityTooLarge',
  'UnsupportedMediaType',
  'InternalError',
  'Expired',
  'ServiceUnavailable',
]);

/** Asks for the code, so that an error from another copy of the package counts too. */
export function isStatusError(error: unknown): error is StatusError {
  return hasCode(error, 'STATUS') && 'body' in (error as object);
}

/** Whether the error has `reason`, or no known reason and the HTTP code `code`. */
export function hasReason(error: unknown, reason: string, code: number): error is StatusError {
  if (!isStatusError(error)) return false;
  return error.reason === reason || (error.status === code && !KNOWN_REASONS.has(error.reason));
}

/** apimachinery: errors.IsForbidden. */
export function isForbidden(error: unknown): error is StatusError {
  return hasReason(error, 'Forbidden', 403);
}

/** apimachinery: errors.IsUnauthorized, errors.IsForbidden. */
export function isDenied(error: unknown): boolean {
  return hasReason(error, 'Unauthorized', 401) || isForbidden(error);
}

/** apimachinery: errors.IsNotFound. */
export function isNotFound(error: unknown): boolean {
  return hasReason(error, 'NotFound', 404);
}

/** apimachinery: errors.IsInternalError. */
export function isInternalError(error: unknown): boolean {
  return hasReason(error, 'InternalError', 500);
}

/**
 * Only the reason `Expired`, after which a paged list falls back to a full one. apimachinery:
 * errors.IsResourceExpired.
 */
export function isResourceExpired(error: unknown): boolean {
  return isStatusError(error) && error.reason === 'Expired';
}

/**
 * `Expired` or `Gone`: the server no longer has the requested version. client-go: reflector.go
 * isExpiredError.
 */
export function isExpired(error: unknown): boolean {
  return isResourceExpired(error) || hasReason(error, 'Gone', 410);
}

/** apimachinery: errors.IsTooManyRequests, where the code alone is enough. */
export function isTooManyRequests(error: unknown): boolean {
  return isStatusError(error) && (error.reason === 'TooManyRequests' || error.status === 429);
}

const TOO_LARGE = 'Too large resource version';

/**
 * Knows the three forms of kube-apiserver before 1.17, up to 1.18.5, and since. client-go:
 * reflector.go isTooLargeResourceVersionError.
 */
export function isTooLargeResourceVersion(error: unknown): boolean {
  if (!isStatusError(error)) return false;
  const { details } = error.body;
  const causes = Array.isArray(details?.causes) ? details.causes : [];
  if (causes.some((cause) => cause?.reason === 'ResourceVersionTooLarge')) return true;
  if (!hasReason(error, 'Timeout', 504) || details === undefined) return false;
  return (
    causes.some((cause) => cause?.message === TOO_LARGE) ||
    (error.body.message ?? '').includes(TOO_LARGE)
  );
}
