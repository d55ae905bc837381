/**
 * What a handler of a webhook gets and may do, and the response that becomes of it. No I/O: a
 * decoded review in, a response out. controller-runtime: pkg/webhook/admission/defaulter_custom.go,
 * validator_custom.go.
 *
 * Outcomes: a handler that returns allows; AdmissionDenied denies with its status; anything else
 * that is thrown, or no answer in time, is an internal error in the response, so that the API
 * server shows its text.
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
  /** Identifies this call; the API server's audit log has it. */
  readonly uid: string;
  readonly operation: AdmissionOperation;
  /** Empty for an object of the cluster. */
  readonly namespace: string;
  /**
   * Empty for an object that is created with `generateName`, and for each object of a collection
   * that is deleted: `oldObject` has the name then.
   */
  readonly name: string;
  /** Such as `scale` or `exec`; empty for the object itself. */
  readonly subResource: string;
  /** Nothing will be stored: the handler must have no effect either. */
  readonly dryRun: boolean;
  /** Who sent the request. */
  readonly userInfo: UserInfo;
  /** Such as the CreateOptions of the request. */
  readonly options?: object | undefined;
  /** Fires when nobody waits for the answer any more: after `timeoutSeconds`, or at a hang-up. */
  readonly signal: AbortSignal;
  /** What is stored now; `undefined` for CREATE and CONNECT. */
  readonly oldObject: T | undefined;
  /**
   * Shows a warning to the user, as `kubectl` does. At most 120 characters, without a line end; the
   * API server cuts longer ones.
   */
  warn(message: string): void;
}

/** Options of {@link AdmissionDenied}. */
export interface DenialOptions {
  /** The HTTP status of the answer to the user, from 400 to 499. Default 403. */
  code?: number | undefined;
  /** In CamelCase. Default `Forbidden`. */
  reason?: string | undefined;
  /** What is wrong, field by field. */
  causes?: readonly DenialCause[] | undefined;
}

const DENIAL_NAMES = namesOf<DenialOptions>()({
  code: 1,
  reason: 1,
  causes: namesOf<DenialCause>()({ field: 1, message: 1, reason: 1 }),
});

/**
 * Thrown by a handler: the request is denied, and the user sees the message. Anything else that a
 * handler throws is an internal error of the review. Code `ADMISSION_DENIED`.
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
 * Changes an object before it is stored: the given copy, or returns another one. It may be called
 * several times for one request (`reinvocationPolicy`), so it has to leave its own result as it is.
 */
export type Defaulter<T> = (
  object: T,
  request: AdmissionRequest<T>,
) => T | Nothing | Promise<T | Nothing>;

type Nothing = ReturnType<() => void>;

/**
 * Denies requests by throwing {@link AdmissionDenied}. Its methods say which operations the API
 * server asks about; it has at least one.
 */
export interface Validator<T> {
  validateCreate?(object: T, request: AdmissionRequest<T>): void | Promise<void>;
  validateUpdate?(old: T, now: T, request: AdmissionRequest<T>): void | Promise<void>;
  validateDelete?(object: T, request: AdmissionRequest<T>): void | Promise<void>;
  /** For subresources such as `exec`: `object` has their options, such as PodExecOptions. */
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

/** One webhook: what is reviewed, and by what. */
export interface AdmissionHandlers {
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string };
  readonly subResource: string;
  readonly defaulter?: Defaulter<object> | undefined;
  readonly validator?: Validator<object> | undefined;
}

/** What a review needs besides the request. */
export interface ReviewContext {
  readonly clock: Clock;
  /** In milliseconds. */
  readonly timeout: number;
  /** Fires when the caller has hung up. */
  readonly hungUp: AbortSignal;
  /** Gets what a handler has thrown, apart from denials. */
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

/** A JSON Patch, or nothing if there is none. */
async function handle(
  review: ReviewRequest,
  { defaulter, validator }: AdmissionHandlers,
  request: AdmissionRequest<object>,
): Promise<object[] | undefined> {
  const { object, oldObject } = review;
  if (defaulter !== undefined) {
    if (object === undefined) return undefined; // DELETE has nothing to change
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

/** Says why a review does not belong to this webhook: a configuration that was written by hand. */
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
