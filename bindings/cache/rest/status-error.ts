/**
 * An HTTP answer that reports a failure, as an error. The questions asked of it (expired? too many
 * requests?) follow k8s.io/apimachinery/pkg/api/errors: the reason decides, and the HTTP code only
 * where the reason is none of the known.
 */
import { ownText } from '../../base/error-text.ts';
import { CapstanError, hasCode } from '../../base/errors.ts';

/** The part of a Kubernetes `Status` object that errors are made of. */
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
 * `status` is the HTTP code, `reason` Kubernetes' word for it (may be empty), `body` the whole
 * Status. Code `STATUS`.
 */
export class StatusError extends CapstanError {
  readonly status: number;
  readonly reason: string;
  readonly body: Status;

  /** @param advice what to do, appended to the server's message */
  constructor(status: number, body: Status, what: string, advice = '') {
    const sound = wellTyped(body);
    const { reason = '', message = 'no message' } = sound;
    super('STATUS', `${what}: ${status}${reason === '' ? '' : ` ${reason}`}: ${message}${advice}`);
    this.status = status;
    this.reason = reason;
    this.body = sound;
  }

  override get name(): string {
    return 'StatusError';
  }
}

/**
 * Without those members that are not of their type, so that nothing that is asked of an error can
 * throw, whatever a server or a proxy says.
 */
function wellTyped(body: Status): Status {
  const { message, reason, code, details } = body;
  const seconds = details?.retryAfterSeconds;
  const sound = { ...body };
  if (typeof message !== 'string') delete sound.message;
  if (typeof reason !== 'string') delete sound.reason;
  if (!Number.isInteger(code)) delete sound.code;
  if (details === null) delete sound.details;
  if (seconds !== undefined && !(Number.isSafeInteger(seconds) && seconds >= 0)) {
    sound.details = { ...details };
    delete sound.details.retryAfterSeconds;
  }
  return sound;
}

/**
 * From an answer's code and text. A text that is no Status (a proxy's page) becomes the message.
 */
export function statusErrorFromAnswer(
  code: number,
  text: string,
  what: string,
  advice?: string,
): StatusError {
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

/** Reasons apimachinery knows; with one of them the HTTP code is not asked. */
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

/** By its code: an error of another copy of the package is one, too. */
export function isStatusError(error: unknown): error is StatusError {
  return hasCode(error, 'STATUS') && 'body' in (error as object);
}

/** Whether the error says `reason`, or no reason that is known and `code`. */
export function hasReason(error: unknown, reason: string, code: number): error is StatusError {
  if (!isStatusError(error)) return false;
  return error.reason === reason || (error.status === code && !KNOWN_REASONS.has(error.reason));
}

/** The caller may not do this. apimachinery: errors.IsForbidden. */
export function isForbidden(error: unknown): error is StatusError {
  return hasReason(error, 'Forbidden', 403);
}

/** The caller is not who it says, or may not do this. apimachinery: errors.IsUnauthorized. */
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
 * Only the reason `Expired`: what lets a paged list fall back to a full one. apimachinery:
 * errors.IsResourceExpired.
 */
export function isResourceExpired(error: unknown): boolean {
  return isStatusError(error) && error.reason === 'Expired';
}

/**
 * `Expired` or `Gone`: the version asked for is no longer in the server's window. client-go:
 * reflector.go isExpiredError.
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
 * The three dialects of kube-apiserver before 1.17, to 1.18.5 and since. client-go: reflector.go
 * isTooLargeResourceVersionError.
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
