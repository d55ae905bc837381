/**
 * Checks and decodes an AdmissionReview of admission.k8s.io/v1, and encodes the answer. No I/O.
 * controller-runtime: pkg/webhook/admission/http.go.
 */
import { show } from '../base/errors.ts';
import { jsonText, parseJson } from '../base/exact-json.ts';
import { isJsonObject } from '../base/json-value.ts';

/** The operation of the reviewed request. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

const OPERATIONS: readonly unknown[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'];

/** The user whose request is reviewed. authentication.k8s.io/v1 UserInfo. */
export interface UserInfo {
  readonly username?: string | undefined;
  readonly uid?: string | undefined;
  readonly groups?: string[] | undefined;
  readonly extra?: Readonly<Record<string, string[]>> | undefined;
}

/** The `request` of an AdmissionReview. Absent strings are empty. */
export interface ReviewRequest {
  readonly uid: string;
  readonly operation: AdmissionOperation;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: {
    readonly group: string;
    readonly version: string;
    readonly resource: string;
  };
  readonly subResource: string;
  readonly namespace: string;
  readonly name: string;
  readonly dryRun: boolean;
  readonly userInfo: UserInfo;
  readonly options: object | undefined;
  readonly object: object | undefined;
  readonly oldObject: object | undefined;
}

/** One cause of a denial. metav1.StatusCause. */
export interface DenialCause {
  /** The path of the field, such as `spec.host`. */
  readonly field?: string | undefined;
  readonly message: string;
  /** In CamelCase, such as `FieldValueInvalid`. */
  readonly reason?: string | undefined;
}

/** The `response` of an AdmissionReview, without its uid. */
export interface ReviewResponse {
  readonly allowed: boolean;
  /** A JSON Patch of the object. */
  readonly patch?: readonly object[] | undefined;
  readonly warnings: readonly string[];
  readonly status?:
    | {
        readonly code: number;
        readonly reason: string;
        readonly message: string;
        readonly details?: { readonly causes: readonly DenialCause[] } | undefined;
      }
    | undefined;
}

/** A request that is not a review. It is answered with an HTTP status and the message. */
export class BadReview extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  override get name(): string {
    return 'BadReview';
  }
}

const bad = (message: string): BadReview => new BadReview(400, message);
const mismatch = (what: string, expected: string, got: unknown): BadReview =>
  bad(`${what}: expected ${expected}, got ${show(got)}`);

/** Throws BadReview. */
export function requireJsonType(contentType: string | undefined): void {
  const [type = ''] = (contentType ?? '').split(';', 1);
  if (type.trim().toLowerCase() !== 'application/json')
    throw new BadReview(415, `content type: expected application/json, got ${show(contentType)}`);
}

/**
 * Decodes the body of a request. It refuses other versions of AdmissionReview, because the answer
 * must have the version of the request.
 *
 * Throws BadReview.
 */
export function decodeReview(body: Uint8Array): ReviewRequest {
  const request = requestOf(body, 'AdmissionReview', 'admission.k8s.io/v1');
  const { uid, operation, dryRun } = request;
  if (typeof uid !== 'string' || uid === '') throw mismatch('request.uid', 'a text', uid);
  if (!OPERATIONS.includes(operation))
    throw mismatch('request.operation', 'CREATE, UPDATE, DELETE or CONNECT', operation);
  if (dryRun !== undefined && dryRun !== null && typeof dryRun !== 'boolean')
    throw mismatch('request.dryRun', 'true or false', dryRun);
  return {
    uid,
    operation: operation as AdmissionOperation,
    kind: textsOf('kind', request.kind, ['group', 'version', 'kind']),
    resource: textsOf('resource', request.resource, ['group', 'version', 'resource']),
    subResource: textOf('subResource', request.subResource),
    namespace: textOf('namespace', request.namespace),
    name: textOf('name', request.name),
    dryRun: dryRun === true,
    userInfo: objectOf('userInfo', request.userInfo) ?? {},
    options: objectOf('options', request.options),
    object: objectOf('object', request.object),
    oldObject: objectOf('oldObject', request.oldObject),
  };
}

/** The `request` of a review of this kind. Throws BadReview. */
export function requestOf(
  body: Uint8Array,
  expectedKind: string,
  version: string,
): Record<string, unknown> {
  const review = parsed(body, expectedKind);
  if (!isJsonObject(review)) throw mismatch('body', named(expectedKind), review);
  const { apiVersion, kind, request } = review;
  if (kind !== expectedKind) throw mismatch('kind', `"${expectedKind}"`, kind);
  if (apiVersion !== version) throw mismatch('apiVersion', `"${version}"`, apiVersion);
  if (!isJsonObject(request)) throw mismatch('request', 'an object', request);
  return request;
}

const named = (kind: string): string => `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`;

/** The body is not quoted in an error: it may be a Secret. */
function parsed(body: Uint8Array, kind: string): unknown {
  if (body.length === 0) throw bad(`body: expected ${named(kind)}, got nothing`);
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw bad(`body: expected JSON in UTF-8, got ${body.length} bytes that are not`);
  }
}

function textOf(name: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw mismatch(`request.${name}`, 'a text', value);
  return value;
}

function objectOf(name: string, value: unknown): object | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw mismatch(`request.${name}`, 'an object', value);
  return value;
}

function textsOf<N extends string>(
  name: string,
  value: unknown,
  members: readonly N[],
): Record<N, string> {
  const given = objectOf(name, value) as Record<string, unknown> | undefined;
  return Object.fromEntries(
    members.map((member) => [member, textOf(`${name}.${member}`, given?.[member])]),
  ) as Record<N, string>;
}

/** The text of the answer. */
export function encodeReview(uid: string, answer: ReviewResponse): string {
  const { allowed, patch, warnings, status } = answer;
  const response = {
    uid,
    allowed,
    ...(patch === undefined || patch.length === 0
      ? {}
      : {
          patchType: 'JSONPatch',
          patch: Buffer.from(jsonText(patch) as string).toString('base64'),
        }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(status === undefined ? {} : { status: { status: 'Failure', ...status } }),
  };
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response });
}
