/**
 * The issues of an object that does not match the schemas of its resource, with the messages of the
 * schema library.
 */
import { CapstanError } from '../../base/errors.ts';
import { describeObject } from '../metadata.ts';
import type { StandardIssue } from './standard-schema.ts';

/** One issue. `path` is its place, such as `spec.ports[0].name`. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** The object with its defaults, or its issues. */
export type ValidationResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** An object does not match its schema. Code `INVALID_OBJECT`. */
export class InvalidObjectError extends CapstanError {
  readonly issues: readonly Issue[];

  constructor(message: string, issues: readonly Issue[]) {
    super('INVALID_OBJECT', message);
    this.issues = issues;
  }

  override get name(): string {
    return 'InvalidObjectError';
  }
}

export function invalidObjectError(
  kind: string,
  object: unknown,
  issues: readonly Issue[],
): InvalidObjectError {
  let what = kind;
  try {
    what = describeObject({ kind, ...(object as object) });
  } catch {
    // no metadata, which is one of the issues
  }
  const each = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return new InvalidObjectError(`${what} is not valid: ${each.join('; ')}`, issues);
}

export function issuesOf(under: string, issues: readonly StandardIssue[]): Issue[] {
  return issues.map(({ path = [], message }) => {
    let at = under;
    for (const segment of path) {
      const key = typeof segment === 'object' ? segment.key : segment;
      at += typeof key === 'number' ? `[${key}]` : `.${String(key)}`;
    }
    return { path: at, message };
  });
}
