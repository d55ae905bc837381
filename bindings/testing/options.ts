/**
 * The options of writes, from the query and, for deletions, from the body: who writes, whether it counts, what is done about fields that
 * the kind does not have. What may be combined is apimachinery's rule (pkg/apis/meta/v1/validation).
 */
import { type Incoming, parseJson } from './body.ts';
import { isObject, objectAt, stringAt } from './json.ts';
import { isTrue } from './list-options.ts';
import type { Kind } from './registry/kinds.ts';
import type { DeleteOptions, WriteOptions } from './registry/registry.ts';
import {
  badRequest,
  type FieldError,
  fieldForbidden,
  fieldInvalid,
  fieldNotSupported,
  fieldRequired,
  fieldTooLong,
  invalidOptions,
} from './status.ts';

/** What is done about a field that is unknown, or there twice: nothing, a warning, or a refusal. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface RequestOptions extends WriteOptions {
  fieldValidation: FieldValidation;
  force: boolean;
}

const VALIDATIONS = ['Ignore', 'Strict', 'Warn'] as const;
/** apimachinery: FieldManagerMaxLength. */
const LONGEST_MANAGER = 128;

/** @param apply whether the request is a patch that applies; undefined: it is no patch */
export function writeOptions(request: Incoming, query: URLSearchParams, kind: string, apply?: boolean): RequestOptions {
  const errors: FieldError[] = [];
  const manager = query.get('fieldManager') ?? '';
  const force = query.get('force');
  if (apply === true && manager === '') errors.push(fieldRequired('fieldManager', 'is required for apply patch'));
  if (apply === false && force !== null) {
    errors.push(fieldForbidden('force', 'may not be specified for non-apply patch'));
  }
  if (Buffer.byteLength(manager) > LONGEST_MANAGER) errors.push(fieldTooLong('fieldManager', LONGEST_MANAGER));
  for (const [at, character] of [...manager].entries()) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) {
      const why = `invalid character ${JSON.stringify(character)} (at position ${at})`;
      errors.push(fieldInvalid('fieldManager', manager, `should only contain printable characters; ${why}`));
    }
  }
  const { dryRun, error } = dryRunOf(query);
  if (error !== undefined) errors.push(error);
  const asked = query.get('fieldValidation') ?? '';
  const fieldValidation = VALIDATIONS.find((known) => known === asked) ?? 'Warn';
  if (asked !== '' && asked !== fieldValidation) {
    errors.push(fieldNotSupported('fieldValidation', asked, ['', ...VALIDATIONS]));
  }
  if (errors.length > 0) throw invalidOptions(kind, errors);
  return { dryRun, manager: manager || userAgent(request), fieldValidation, force: force !== null && isTrue(force) };
}

/** Who does not name a manager is known by the first part of its user agent. */
function userAgent(request: Incoming): string {
  const name = (request.headers['user-agent'] ?? '').split('/')[0] ?? '';
  return name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '').slice(0, LONGEST_MANAGER);
}

function dryRunOf(query: URLSearchParams): { dryRun: boolean; error?: FieldError } {
  const values = query.getAll('dryRun').filter((value) => value !== '');
  if (values.every((value) => value === 'All')) return { dryRun: values.length > 0 };
  return { dryRun: false, error: fieldNotSupported('dryRun', values, ['All']) };
}

const PROPAGATION = ['Foreground', 'Background', 'Orphan'] as const;

/** DeleteOptions come as a body, or as query parameters where there is none. */
export function deleteOptions(body: string, query: URLSearchParams): DeleteOptions {
  const given =
    body.trim() === ''
      ? {}
      : parseJson(body, (why) => badRequest(`couldn't get version/kind; json parse error: ${why}`));
  const options = isObject(given) ? given : {};
  const preconditions = objectAt(options, 'preconditions');
  const named = stringAt(options, 'propagationPolicy') || (query.get('propagationPolicy') ?? '');
  const orphan =
    options.orphanDependents ?? (query.has('orphanDependents') ? isTrue(query.get('orphanDependents')) : undefined);
  const policy = named === '' && typeof orphan === 'boolean' ? (orphan ? 'Orphan' : 'Background') : named;
  const propagation = PROPAGATION.find((known) => known === policy);
  if (policy !== '' && propagation === undefined) {
    throw invalidOptions('DeleteOptions', [fieldNotSupported('propagationPolicy', policy, [...PROPAGATION, 'nil'])]);
  }
  const asked = dryRunOf(query);
  if (asked.error !== undefined) throw invalidOptions('DeleteOptions', [asked.error]);
  const inBody = Array.isArray(options.dryRun) && options.dryRun.includes('All');
  const uid = stringAt(preconditions, 'uid');
  const resourceVersion = stringAt(preconditions, 'resourceVersion');
  return {
    ...(uid === '' ? {} : { uid }),
    ...(resourceVersion === '' ? {} : { resourceVersion }),
    ...(propagation === undefined ? {} : { propagation }),
    dryRun: inBody || asked.dryRun,
  };
}

/** Who deletes Jobs without a policy is told what becomes of their Pods. */
export function deletionWarnings(kind: Kind, options: DeleteOptions): readonly string[] {
  if (kind.plural !== 'jobs' || !kind.orphans || options.propagation !== undefined) return [];
  return [
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  ];
}
