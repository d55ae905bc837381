/**
 * Errors of the API: every error body is a `Status` with the members, reasons and messages of a
 * real kube-apiserver (k8s.io/apimachinery pkg/api/errors).
 */

/** One cause in `details.causes`. */
export interface StatusCause {
  reason?: string;
  message: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** The wire form of metav1.Status. */
export interface StatusBody {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string };
  status: 'Failure' | 'Success';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

/** The subject of an error: the group, the resource or kind, and the object's name. */
export interface Subject {
  group: string;
  /** The plural; the kind where the real server uses that. */
  what: string;
  name: string;
}

/** A request that is answered with a `Status` of failure. serving.ts writes the answer. */
export class ApiError extends Error {
  readonly body: StatusBody;
  /** Warnings collected before the failure. */
  warnings: readonly string[] = [];

  constructor(
    code: number,
    message: string,
    options: {
      reason?: string | undefined;
      details?: StatusDetails | undefined;
      continue?: string | undefined;
    } = {},
  ) {
    super(message);
    this.body = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: options.continue === undefined ? {} : { continue: options.continue },
      status: 'Failure',
      message,
      ...(options.reason === undefined ? {} : { reason: options.reason }),
      ...(options.details === undefined ? {} : { details: options.details }),
      code,
    };
  }

  /**
   * The route does not have the method or the media type: the real server refuses such a request
   * before it can warn of anything.
   */
  get isOfRoute(): boolean {
    const { code, details } = this.body;
    return code === 405 || ((code === 406 || code === 415) && details !== undefined);
  }

  get code(): number {
    return this.body.code ?? 500;
  }
}

function details(subject: Subject, causes?: StatusCause[]): StatusDetails {
  return {
    ...(subject.name === '' ? {} : { name: subject.name }),
    ...(subject.group === '' ? {} : { group: subject.group }),
    ...(subject.what === '' ? {} : { kind: subject.what }),
    ...(causes === undefined ? {} : { causes }),
  };
}

const qualified = (subject: Subject): string =>
  subject.group === '' ? subject.what : `${subject.what}.${subject.group}`;

export const badRequest = (message: string): ApiError =>
  new ApiError(400, message, { reason: 'BadRequest' });

export const notFound = (subject: Subject): ApiError =>
  new ApiError(404, `${qualified(subject)} "${subject.name}" not found`, {
    reason: 'NotFound',
    details: details(subject),
  });

export const alreadyExists = (subject: Subject, deleting: boolean): ApiError =>
  new ApiError(
    409,
    `${deleting ? 'object is being deleted: ' : ''}${qualified(subject)} "${subject.name}" ` +
      'already exists',
    {
      reason: 'AlreadyExists',
      details: details(subject),
    },
  );

export const conflict = (subject: Subject, why: string): ApiError =>
  new ApiError(
    409,
    `Operation cannot be fulfilled on ${qualified(subject)} "${subject.name}": ${why}`,
    {
      reason: 'Conflict',
      details: details(subject),
    },
  );

/** The conflict of an update whose resourceVersion is not the latest. */
export const staleVersion = (subject: Subject): ApiError =>
  conflict(
    subject,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

export const methodNotAllowed = (): ApiError =>
  new ApiError(405, 'the server does not allow this method on the requested resource', {
    reason: 'MethodNotAllowed',
    details: {},
  });

/** A method that the resource has, but the subresource does not. */
export const notSupported = (verb: string, subject: Subject): ApiError =>
  new ApiError(405, `${verb} is not supported on resources of kind "${qualified(subject)}"`, {
    reason: 'MethodNotAllowed',
    details: details({ ...subject, name: '' }),
  });

/** An unknown path in a known group. */
export const noSuchPath = (): ApiError =>
  new ApiError(404, 'the server could not find the requested resource', {
    reason: 'NotFound',
    details: {},
  });

/** @param served the media type is served, but not in the requested form */
export const notAcceptable = (served: boolean): ApiError =>
  new ApiError(
    406,
    'only the following media types are accepted: application/json, application/yaml',
    { reason: 'NotAcceptable', ...(served ? {} : { details: {} }) },
  );

export const unsupportedMediaType = (accepted: readonly string[]): ApiError =>
  new ApiError(
    415,
    'the body of the request was in an unknown format - accepted media types include: ' +
      `${accepted.join(', ')}`,
    {
      reason: 'UnsupportedMediaType',
    },
  );

export const tooLarge = (limit: number): ApiError =>
  new ApiError(413, `Request entity too large: limit is ${limit}`, {
    reason: 'RequestEntityTooLarge',
  });

/** A JSON patch that parses and cannot be applied; the real server adds no detail. */
export const patchFailed = (): ApiError =>
  new ApiError(422, 'the server rejected our request due to an error in our request', {
    reason: 'Invalid',
    details: {},
  });

/** One error of validation: `spec.x: Invalid value: 1: must be greater`. */
export interface FieldError {
  field: string;
  reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueDuplicate'
    | 'FieldValueNotFound'
    | 'FieldValueTypeInvalid';
  message: string;
}

const quoted = (value: unknown): string => JSON.stringify(value) ?? 'null';

export const fieldInvalid = (field: string, value: unknown, why: string): FieldError => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${quoted(value)}: ${why}`,
});

export const fieldRequired = (field: string, why: string): FieldError => ({
  field,
  reason: 'FieldValueRequired',
  message: why === '' ? 'Required value' : `Required value: ${why}`,
});

export const fieldForbidden = (field: string, why: string): FieldError => ({
  field,
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${why}`,
});

export const fieldNotSupported = (
  field: string,
  value: unknown,
  supported: readonly string[],
): FieldError => ({
  field,
  reason: 'FieldValueNotSupported',
  message:
    `Unsupported value: ${quoted(value)}: supported values: ` +
    `${supported.map(quoted).join(', ')}`,
});

export const fieldTooLong = (field: string, most: number): FieldError => ({
  field,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${most} bytes`,
});

/**
 * 422: the object was decoded and is invalid. `subject.what` is the kind here, unless a caller says
 * otherwise.
 */
export function invalidObject(subject: Subject, errors: readonly FieldError[]): ApiError {
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  const all = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return new ApiError(422, `${qualified(subject)} "${subject.name}" is invalid: ${all}`, {
    reason: 'Invalid',
    details: details(
      subject,
      errors.map(({ reason, message, field }) =>
        field === '' ? { reason, message } : { reason, message, field },
      ),
    ),
  });
}

/** 422 for invalid options of a request, which have their own kind. */
export const invalidOptions = (kind: string, errors: readonly FieldError[]): ApiError =>
  invalidObject({ group: 'meta.k8s.io', what: kind, name: '' }, errors);

/**
 * 410: the resourceVersion is older than the history. A list with an expired continue token gets a
 * new token, with which it continues inconsistently.
 */
export const expired = (message: string, token?: string): ApiError =>
  new ApiError(410, message, {
    reason: 'Expired',
    ...(token === undefined ? {} : { continue: token }),
  });

/** 504: the resourceVersion is newer than the server's, also after a wait (reads/freshness.ts). */
export class TooLargeVersion extends ApiError {
  readonly requested: number;
  /** The real server does not cache Events: etcd answers at once. */
  readonly isCached: boolean;

  constructor(
    requested: number,
    current: number,
    { group, plural }: { group: string; plural: string },
  ) {
    const isCached = plural !== 'events' || !['', 'events.k8s.io'].includes(group);
    super(504, `Timeout: Too large resource version: ${requested}, current: ${current}`, {
      reason: 'Timeout',
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        ...(isCached ? { retryAfterSeconds: 1 } : {}),
      },
    });
    this.requested = requested;
    this.isCached = isCached;
  }
}

/** The answer to a delete that removed the object at once. */
export const deleted = (subject: Subject, uid: string): StatusBody => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: { ...details(subject), uid },
});

/**
 * Reason and message of an HTTP status without a body: apimachinery's NewGenericServerResponse.
 */
const GENERIC: Record<number, [reason: string, message: string]> = {
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  406: [
    'NotAcceptable',
    'the server was unable to respond with a content type that the client supports',
  ],
  409: ['Conflict', 'the server reported a conflict'],
  410: ['Expired', 'The resourceVersion for the provided list is too old.'],
  422: ['Invalid', 'the server rejected our request due to an error in our request'],
  429: [
    'TooManyRequests',
    'the server has received too many requests and has asked us to try again later',
  ],
  500: ['InternalError', 'an error on the server has prevented the request from succeeding'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: [
    'Timeout',
    'the server was unable to return a response in the time allotted, but may still be ' +
      'processing the request',
  ],
};

/**
 * A Status for an injected fault: any code, with the usual reason and message unless a reason is
 * given.
 *
 * @param retryAfter seconds
 */
export function genericStatus(code: number, reason?: string, retryAfter?: number): ApiError {
  const known = GENERIC[code];
  return new ApiError(code, known?.[1] ?? `the server responded with the status code ${code}`, {
    reason: reason ?? known?.[0] ?? 'Unknown',
    ...(retryAfter === undefined ? {} : { details: { retryAfterSeconds: retryAfter } }),
  });
}

/** 403 on an object, or on a resource. */
export function forbiddenObject(subject: Subject, why: string): ApiError {
  const { group, name } = subject;
  const what = name === '' ? qualified(subject) : `${qualified(subject)} ${JSON.stringify(name)}`;
  return new ApiError(403, `${what} is forbidden: ${why}`, {
    reason: 'Forbidden',
    details: {
      ...(name === '' ? {} : { name }),
      ...(group === '' ? {} : { group }),
      kind: subject.what,
    },
  });
}

/** A create in a terminating namespace (NamespaceLifecycle). */
export const namespaceTerminating = (subject: Subject, namespace: string): ApiError =>
  new ApiError(
    403,
    `${qualified(subject)} "${subject.name}" is forbidden: unable to create new content in ` +
      `namespace ${namespace} because it is being terminated`,
    {
      reason: 'Forbidden',
      details: details(subject, [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ]),
    },
  );
