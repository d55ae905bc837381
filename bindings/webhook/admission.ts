/**
 * Calls the handler of a webhook with a decoded AdmissionReview, and makes the response. No I/O.
 * controller-runtime: pkg/webhook/admission/defaulter_custom.go, validator_custom.go.
 *
 * A handler that returns allows the request. AdmissionDenied denies it with its status. Any other
 * error denies it with 500, and a timeout with 504, so that the API server shows the text.
 */
import type { Clock } from '../base/clock.ts';
import { textOfError } from '../base/error-text.ts';
import { CapstanError, hasCode, invalid, requireInteger, requireString } from '../base/errors.ts';
import { isJsonObject } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { asJson, jsonCopy, loadDiff } from './json-patch.ts';
import type {
  AdmissionOperation,
  DenialCause,
  ReviewRequest,
  ReviewResponse,
  UserInfo,
} from './review.ts';

/** A request that a webhook reviews. admission.k8s.io/v1 AdmissionRequest. */
export interface AdmissionRequest<T> {
  /** Identifies this review. */
  readonly uid: string;
  readonly operation: AdmissionOperation;
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  /**
   * Empty for an object that is created with `generateName`, and for a `deletecollection`, where
   * `oldObject` has the name.
   */
  readonly name: string;
  /** Such as `scale` or `exec`; empty for the object itself. */
  readonly subResource: string;
  /** The API server stores nothing. The handler must have no side effects. */
  readonly dryRun: boolean;
  /** Who sent the request. */
  readonly userInfo: UserInfo;
  /** The options of the request, such as CreateOptions. */
  readonly options?: object | undefined;
  /** Fires when the API server no longer waits: after `timeoutSeconds`, or when it disconnects. */
  readonly signal: AbortSignal;
  /** The stored object; `undefined` for CREATE and CONNECT. */
  readonly oldObject: T | undefined;
  /**
   * Adds a warning, which `kubectl` shows to the user. Use at most 120 characters and no line end.
   * If all warnings of a request have more than 4096 characters, the API server cuts each at 256.
   */
  warn(message: string): void;
}

/** Options of {@link AdmissionDenied}. */
export interface DenialOptions {
  /** The HTTP status of the answer to the user, from 400 to 499. Default 403. */
  code?: number | undefined;
  /** In CamelCase. Default `Forbidden`. */
  reason?: string | undefined;
  /** One cause for each invalid field. */
  causes?: readonly DenialCause[] | undefined;
}

const DENIAL_NAMES = namesOf<DenialOptions>()({
  code: 1,
  reason: 1,
  causes: namesOf<DenialCause>()({ field: 1, message: 1, reason: 1 }),
});

/**
 * A handler throws this error to deny a request. The user sees the message. Any other error of a
 * handler denies the request with the status 500. Code `ADMISSION_DENIED`.
 *
 * @example
 * throw new AdmissionDenied('the host is taken', {
 *   causes: [{ field: 'spec.host', message: 'used by default/other' }],
 * });
 */
export class AdmissionDenied extends CapstanError {
  /** The HTTP status of the answer to the user. */
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly DenialCause[];

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(message: string, options: DenialOptions = {}) {
    requireString('message', message);
    requireNames('options', options, 'option of AdmissionDenied', DENIAL_NAMES);
    const { code = 403, reason = 'Forbidden', causes = [] } = options;
    requireInteger('options.code', code, 400);
    if (code > 499) throw invalid('options.code', 'a status from 400 to 499', code);
    requireString('options.reason', reason);
    super('ADMISSION_DENIED', message);
    this.status = code;
    this.reason = reason;
    this.causes = causes;
  }

  override get name(): string {
    return 'AdmissionDenied';
  }
}

/**
 * Sets defaults in an object before it is stored. It changes the copy that it gets, or returns
 * another object. It must be idempotent: the API server may call it twice for one request
 * (`reinvocationPolicy`).
 */
export type Defaulter<T> = (
  object: T,
  request: AdmissionRequest<T>,
) => T | Nothing | Promise<T | Nothing>;

type Nothing = ReturnType<() => void>;

/**
 * Denies requests by throwing {@link AdmissionDenied}. The API server calls the webhook for the
 * operations that have a method. At least one method is needed.
 */
export interface Validator<T> {
  validateCreate?(object: T, request: AdmissionRequest<T>): void | Promise<void>;
  validateUpdate?(old: T, now: T, request: AdmissionRequest<T>): void | Promise<void>;
  validateDelete?(object: T, request: AdmissionRequest<T>): void | Promise<void>;
  /** For subresources such as `exec`. `object` is their options, such as PodExecOptions. */
  validateConnect?(object: T, request: AdmissionRequest<T>): void | Promise<void>;
}

export const VALIDATOR_NAMES = namesOf<Validator<unknown>>()({
  validateCreate: 1,
  validateUpdate: 1,
  validateDelete: 1,
  validateConnect: 1,
});

/** The operations of a validator's methods, in the order of rules. */
export const METHODS = {
  validateCreate: 'CREATE',
  validateUpdate: 'UPDATE',
  validateDelete: 'DELETE',
  validateConnect: 'CONNECT',
} as const satisfies Record<keyof Validator<unknown>, AdmissionOperation>;

/** One webhook: the resource, and the handler. */
export interface AdmissionHandlers {
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string };
  readonly subResource: string;
  readonly defaulter?: Defaulter<object> | undefined;
  readonly validator?: Validator<object> | undefined;
}

/** What {@link respond} needs besides the request. */
export interface ReviewContext {
  readonly clock: Clock;
  /** In milliseconds. */
  readonly timeout: number;
  /** Fires when the API server disconnects. */
  readonly hungUp: AbortSignal;
  /** Gets each error of a handler that is not a denial. */
  onError(error: unknown): void;
}

/** Never rejects. */
export async function respond(
  review: ReviewRequest,
  admission: AdmissionHandlers,
  context: ReviewContext,
): Promise<ReviewResponse> {
  const warnings: string[] = [];
  const unfit = misdirected(review, admission);
  if (unfit !== undefined)
    return { allowed: false, warnings, status: failure(400, 'BadRequest', unfit) };
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, context.hungUp]);
  const late = Promise.withResolvers<never>();
  const timer = context.clock.setTimer(() => {
    const error = new CapstanError(
      'TIMEOUT',
      `the webhook has not answered within ${context.timeout} ms`,
    );
    ended.abort(error);
    late.reject(error);
  }, context.timeout);
  const request: AdmissionRequest<object> = {
    uid: review.uid,
    operation: review.operation,
    namespace: review.namespace,
    name: review.name,
    subResource: review.subResource,
    dryRun: review.dryRun,
    userInfo: review.userInfo,
    options: review.options,
    signal,
    oldObject: review.oldObject,
    warn(message) {
      requireString('message', message);
      if (message !== '') warnings.push(message);
    },
  };
  try {
    const handled = handle(review, admission, request);
    const patch = await Promise.race([handled, late.promise]);
    // Copied, because a handler may warn later.
    return { allowed: true, patch, warnings: [...warnings] };
  } catch (error) {
    const denial = denialOf(error);
    if (denial !== undefined) return { allowed: false, warnings: [...warnings], status: denial };
    context.onError(error);
    const isLate = ended.signal.aborted;
    const status = isLate
      ? failure(504, 'Timeout', textOfError(ended.signal.reason))
      : failure(500, 'InternalError', textOfError(error));
    return { allowed: false, warnings: [...warnings], status };
  } finally {
    context.clock.clearTimer(timer);
  }
}

/** Returns a JSON Patch, or `undefined` if there is none. */
async function handle(
  review: ReviewRequest,
  { defaulter, validator }: AdmissionHandlers,
  request: AdmissionRequest<object>,
): Promise<object[] | undefined> {
  const { object, oldObject } = review;
  if (defaulter !== undefined) {
    if (object === undefined) return undefined; // DELETE
    const copy = jsonCopy(object);
    const changed: unknown = (await defaulter(copy, request)) ?? copy;
    if (!isJsonObject(changed))
      throw invalid('the result of a defaulter', 'an object or nothing', changed);
    return (await loadDiff())(object, asJson(changed) as object);
  }
  switch (review.operation) {
    case 'CREATE':
      await validator?.validateCreate?.(object as object, request);
      break;
    case 'UPDATE':
      await validator?.validateUpdate?.(oldObject as object, object as object, request);
      break;
    case 'DELETE':
      await validator?.validateDelete?.(oldObject as object, request);
      break;
    case 'CONNECT':
      await validator?.validateConnect?.(object as object, request);
  }
  return undefined;
}

/** Says why a review does not belong to this webhook, as with a wrong configuration. */
function misdirected(
  review: ReviewRequest,
  { resource, subResource }: AdmissionHandlers,
): string | undefined {
  const { group, version, resource: plural } = review.resource;
  const pathOf = (...parts: string[]): string => parts.filter((part) => part !== '').join('/');
  const got = pathOf(group, version, plural, review.subResource);
  const expected = pathOf(resource.group, resource.version, resource.plural, subResource);
  if (got !== expected) return `this webhook reviews ${expected}, got ${got}`;
  const { operation, object, oldObject } = review;
  if (operation !== 'DELETE' && object === undefined) return `${operation} without an object`;
  if ((operation === 'DELETE' || operation === 'UPDATE') && oldObject === undefined)
    return `${operation} without an oldObject`;
  return undefined;
}

const failure = (
  code: number,
  reason: string,
  message: string,
): NonNullable<ReviewResponse['status']> => ({ code, reason, message });

function denialOf(error: unknown): ReviewResponse['status'] {
  if (!hasCode(error, 'ADMISSION_DENIED')) return undefined;
  const { status, reason, message, causes } = error as AdmissionDenied;
  return {
    code: status,
    reason,
    message,
    ...(causes.length === 0 ? {} : { details: { causes } }),
  };
}
