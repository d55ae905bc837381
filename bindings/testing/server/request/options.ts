/**
 * The options of writes, from the query and, for deletions, from the body: field manager, dry run,
 * field validation, preconditions. Which may be combined is apimachinery's rule
 * (pkg/apis/meta/v1/validation).
 */

import { isObject, type Json, type JsonObject, unmarshalError } from '../json.ts';
import type { DeletionOptions } from '../registry/deletion.ts';
import type { Kind } from '../registry/kinds.ts';
import type { StoreWriteOptions } from '../registry/registry.ts';
import {
  badRequest,
  type FieldError,
  fieldForbidden,
  fieldInvalid,
  fieldNotSupported,
  fieldRequired,
  fieldTooLong,
  invalidOptions,
} from '../status.ts';
import { type Incoming, parseBody, requireTypeMeta } from './body.ts';
import { queryBool } from './list-options.ts';

/** What unknown and duplicate fields cause: nothing, a warning, or an error. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface RequestOptions extends StoreWriteOptions {
  fieldValidation: FieldValidation;
  force: boolean;
}

const VALIDATIONS = ['Ignore', 'Strict', 'Warn'] as const;
/** apimachinery: FieldManagerMaxLength. */
const LONGEST_MANAGER = 128;
/** Go: not unicode.IsPrint. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** @param apply whether the patch is an apply; undefined: the request is not a patch */
export function writeOptions(
  request: Incoming,
  query: URLSearchParams,
  kind: string,
  apply?: boolean,
): RequestOptions {
  const errors: FieldError[] = [];
  const manager = query.get('fieldManager') ?? '';
  const force = query.get('force');
  if (apply === true && manager === '')
    errors.push(fieldRequired('fieldManager', 'is required for apply patch'));
  if (apply === false && force !== null) {
    errors.push(fieldForbidden('force', 'may not be specified for non-apply patch'));
  }
  if (Buffer.byteLength(manager) > LONGEST_MANAGER)
    errors.push(fieldTooLong('fieldManager', LONGEST_MANAGER));
  for (const { index, 0: character } of manager.matchAll(UNPRINTABLE)) {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const at = Buffer.byteLength(manager.slice(0, index));
    const why = `invalid character U+${code} (at position ${at})`;
    errors.push(fieldInvalid('fieldManager', manager, why));
  }
  const { dryRun, error } = dryRunOf(dryRunsIn(query));
  if (error !== undefined) errors.push(error);
  const requested = query.get('fieldValidation') ?? '';
  const fieldValidation = VALIDATIONS.find((known) => known === requested) ?? 'Warn';
  if (requested !== '' && requested !== fieldValidation) {
    errors.push(fieldNotSupported('fieldValidation', requested, ['', ...VALIDATIONS]));
  }
  if (errors.length > 0) throw invalidOptions(kind, errors);
  return {
    dryRun,
    manager: manager || userAgent(request),
    fieldValidation,
    force: force !== null && queryBool(force),
  };
}

/** The default field manager: the first part of the user agent. */
function userAgent(request: Incoming): string {
  const name = (request.headers['user-agent'] ?? '').split('/')[0] ?? '';
  return name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '').slice(0, LONGEST_MANAGER);
}

const dryRunsIn = (query: URLSearchParams): string[] => query.getAll('dryRun');

function dryRunOf(values: readonly Json[]): { dryRun: boolean; error?: FieldError } {
  if (values.every((value) => value === 'All')) return { dryRun: values.length > 0 };
  return { dryRun: false, error: fieldNotSupported('dryRun', values, ['All']) };
}

const PROPAGATION = ['Foreground', 'Background', 'Orphan'] as const;

/** DeleteOptions as the client sent them; undefined: missing. */
interface SentDeleteOptions {
  propagationPolicy: string | undefined;
  orphanDependents: boolean | undefined;
  dryRun: readonly Json[];
  gracePeriodSeconds: number | undefined;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
}

/** Reads DeleteOptions from the body, or from the query if there is no body. */
export const deleteOptions = (body: string, query: URLSearchParams): DeletionOptions =>
  checkDeleteOptions(body.trim() === '' ? fromQuery(query) : fromBody(body));

function checkDeleteOptions(given: SentDeleteOptions): DeletionOptions {
  const { propagationPolicy: policy, orphanDependents: orphans, dryRun, ...others } = given;
  const propagation = PROPAGATION.find((known) => known === policy);
  const errors: FieldError[] = [];
  if (policy !== undefined && orphans !== undefined) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(fieldInvalid('propagationPolicy', policy, why));
  }
  if (policy !== propagation)
    errors.push(fieldNotSupported('propagationPolicy', policy, [...PROPAGATION, 'nil']));
  const dryRunOption = dryRunOf(dryRun);
  if (dryRunOption.error !== undefined) errors.push(dryRunOption.error);
  if (errors.length > 0) throw invalidOptions('DeleteOptions', errors);
  return {
    ...others,
    propagation:
      propagation ?? (orphans === undefined ? undefined : orphans ? 'Orphan' : 'Background'),
    cascades: orphans === false,
    dryRun: dryRunOption.dryRun,
  };
}

function fromQuery(query: URLSearchParams): SentDeleteOptions {
  const grace = query.get('gracePeriodSeconds') ?? '';
  if (!/^([+-]?\d+)?$/.test(grace)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
  }
  if (BigInt.asIntN(64, BigInt(grace)) !== BigInt(grace))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: value out of range`);
  return {
    gracePeriodSeconds: grace === '' ? undefined : Number(grace),
    dryRun: dryRunsIn(query),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    orphanDependents: query.has('orphanDependents')
      ? queryBool(query.get('orphanDependents'))
      : undefined,
    uid: query.get('uid') || undefined,
    resourceVersion: query.get('resourceVersion') || undefined,
  };
}

/** A member that is neither missing nor null. Throws 400 for a value that Go cannot decode. */
function readMember<T extends Json>(
  from: JsonObject,
  path: string,
  type: string,
  fits: (value: Json) => value is T,
): T | undefined {
  const value = from[path.slice(path.lastIndexOf('.') + 1)] ?? undefined;
  if (value === undefined || fits(value)) return value;
  throw badRequest(unmarshalError(value, `Go struct field ${path} of type ${type}`));
}

const isText = (value: Json): value is string => typeof value === 'string';
const isBoolean = (value: Json): value is boolean => typeof value === 'boolean';
const isInteger = (value: Json): value is number => Number.isInteger(value);
const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

/** Reads DeleteOptions that are a member of another object. */
export const deleteOptionsIn = (options: JsonObject): DeletionOptions =>
  checkDeleteOptions(fromObject(options));

function fromBody(body: string): SentDeleteOptions {
  const options =
    parseBody(body, (why) => badRequest(`couldn't get version/kind; json parse error: ${why}`)) ??
    {};
  requireTypeMeta(options, badRequest);
  const { kind = '', apiVersion = 'meta.k8s.io/v1' } = options;
  if (kind !== '' && kind !== 'DeleteOptions') {
    throw badRequest(
      `no kind "${kind}" is registered for version "${apiVersion}" in scheme ` +
        '"pkg/runtime/scheme.go:111"',
    );
  }
  return fromObject(options);
}

function fromObject(options: JsonObject): SentDeleteOptions {
  const gracePeriodSeconds = readMember(
    options,
    'DeleteOptions.gracePeriodSeconds',
    'int64',
    isInteger,
  );
  const preconditions =
    readMember(options, 'DeleteOptions.preconditions', 'v1.Preconditions', isObject) ?? {};
  const uid = readMember(preconditions, 'Preconditions.preconditions.uid', 'types.UID', isText);
  const resourceVersion = readMember(
    preconditions,
    'Preconditions.preconditions.resourceVersion',
    'string',
    isText,
  );
  const orphanDependents = readMember(options, 'DeleteOptions.orphanDependents', 'bool', isBoolean);
  const propagationPolicy = readMember(
    options,
    'DeleteOptions.propagationPolicy',
    'v1.DeletionPropagation',
    isText,
  );
  const dryRun = readMember(options, 'DeleteOptions.dryRun', '[]string', isList) ?? [];
  const wrong = dryRun.find((value) => !isText(value) && value !== null);
  if (wrong !== undefined)
    throw badRequest(unmarshalError(wrong, 'Go struct field DeleteOptions.dryRun of type string'));
  return {
    dryRun,
    gracePeriodSeconds,
    uid,
    resourceVersion,
    orphanDependents,
    propagationPolicy,
  };
}

/** The warning for deleting a Job without a propagation policy. */
export function deletionWarnings(kind: Kind, options: DeletionOptions): readonly string[] {
  if (kind.plural !== 'jobs' || !kind.orphans || options.propagation !== undefined) return [];
  return [
    'child pods are preserved by default when jobs are deleted; set ' +
      'propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress ' +
      'this warning',
  ];
}
