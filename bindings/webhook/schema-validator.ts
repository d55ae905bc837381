/**
 * Makes a validator from the schemas of a custom resource. As with the API server's ratcheting, an
 * update is not denied for a value that was invalid before and does not change. Without this, an
 * object that was stored before the schema became stricter could not be updated.
 */
import { requireFunction } from '../base/errors.ts';
import { jsonText } from '../base/exact-json.ts';
import { isJsonObject } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Issue } from '../client/index.ts';
import { AdmissionDenied, type Validator } from './admission.ts';

/** Options of {@link schemaValidator}. */
export interface SchemaValidatorOptions {
  /** Whether an update may keep values that were invalid before. Default true. */
  readonly ratcheting?: boolean | undefined;
}

const NAMES = namesOf<SchemaValidatorOptions>()({ ratcheting: 1 });

/**
 * Makes a validator that denies an object which does not match the schemas of a custom resource,
 * with 422 and the path and message of each issue. It also checks what a definition cannot contain,
 * such as refinements.
 *
 * An update is not denied for an issue of the old object that has the same path, message and value.
 * An unchanged item of a list may have another index.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * import * as z from 'zod';
 *
 * const Site = defineCustomResource({
 *   group: 'example.com',
 *   version: 'v1',
 *   kind: 'Site',
 *   scope: 'Namespaced',
 *   spec: z.object({ host: z.string().refine((host) => host.endsWith('.example')) }),
 * });
 * newWebhookManagedBy(manager).for(Site.resource).withValidator(schemaValidator(Site)).complete();
 */
export function schemaValidator<T extends object>(
  custom: SchemaOf<T>,
  options: SchemaValidatorOptions = {},
): Validator<T> {
  requireFunction('custom.validate', (custom as Partial<typeof custom> | undefined)?.validate);
  requireNames('options', options, 'option of schemaValidator()', NAMES);
  const { ratcheting = true } = options;
  const issuesOf = async (object: T): Promise<readonly Issue[]> =>
    (await custom.validate(object)).issues ?? [];
  return {
    async validateCreate(object) {
      deny(custom.resource.kind, await issuesOf(object));
    },
    async validateUpdate(old, now) {
      const found = await issuesOf(now);
      if (found.length === 0) return;
      const before = ratcheting ? await issuesOf(old) : [];
      deny(custom.resource.kind, newIssues(old, before, now, found));
    },
  };
}

/** The part of a result of `defineCustomResource` that is used. */
export type SchemaOf<T> = {
  readonly resource: { readonly kind: string };
  readonly validate: (
    object: unknown,
  ) => Promise<{ readonly issues?: readonly Issue[] | undefined; readonly value?: T }>;
};

/** A message has this many issues, and the count of the others. */
const MOST_TOLD = 20;

function deny(kind: string, issues: readonly Issue[]): void {
  if (issues.length === 0) return;
  const told = issues.slice(0, MOST_TOLD);
  const texts = told.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  if (told.length < issues.length) texts.push(`and ${issues.length - told.length} more`);
  throw new AdmissionDenied(`${kind} is not valid: ${texts.join('; ')}`, {
    code: 422,
    reason: 'Invalid',
    causes: told.map(({ path, message }) => ({
      ...(path === '' ? {} : { field: path }),
      message,
      reason: 'FieldValueInvalid',
    })),
  });
}

/**
 * The issues of `now` without those of `old`. One old issue accounts for one new issue. Maps keep
 * the time linear, because a user chooses how many issues there are.
 */
function newIssues(
  old: object,
  before: readonly Issue[],
  now: object,
  issues: readonly Issue[],
): readonly Issue[] {
  const ids = new Map<string, number>();
  const [valueOfOld, valueOfNow] = [valueIds(old, ids), valueIds(now, ids)];
  const left = new Set(before);
  let rest = issues;
  for (const keysOf of [stayed, moved]) {
    const known = new Map<string, Issue[]>();
    for (const issue of left)
      for (const key of keysOf(issue, valueOfOld)) {
        const same = known.get(key);
        if (same === undefined) known.set(key, [issue]);
        else same.push(issue);
      }
    rest = rest.filter((issue) => {
      for (const key of keysOf(issue, valueOfNow)) {
        const same = known.get(key) ?? [];
        while (same.length > 0) if (left.delete(same.pop() as Issue)) return false;
      }
      return true;
    });
  }
  return rest;
}

type ValueId = (path: string) => number;

/** Numbers for the values at paths of an object: the same for the same text in `ids`. */
function valueIds(object: object, ids: Map<string, number>): ValueId {
  const known = new Map<string, number>();
  return (path) => {
    let id = known.get(path);
    if (id === undefined) {
      const text = jsonText(valueAt(object, path)) ?? '';
      id = ids.get(text) ?? ids.size;
      ids.set(text, id);
      known.set(path, id);
    }
    return id;
  };
}

/** The same for an issue of the same value at the same path. */
const stayed = ({ path, message }: Issue, idOf: ValueId): string[] => [
  JSON.stringify([path, message, idOf(path)]),
];

/** One in common for issues in the same item of a list at another index. */
const moved = ({ path, message }: Issue, idOf: ValueId): string[] =>
  [...path.matchAll(/\[\d+\]/g)].map(({ 0: text, index }) => {
    const end = index + text.length;
    return JSON.stringify([
      path.slice(0, index),
      idOf(path.slice(0, end)),
      path.slice(end),
      message,
    ]);
  });

/** The value at a path of issues; `undefined` for none. A name may have dots and brackets. */
function valueAt(value: unknown, path: string): unknown {
  return found(value, path === '' ? '' : `.${path}`)?.value;
}

function found(value: unknown, path: string): { readonly value: unknown } | undefined {
  if (path === '') return { value };
  if (Array.isArray(value)) {
    const [text, index] = /^\[(\d+)\]/.exec(path) ?? [];
    return text === undefined || Number(index) >= value.length
      ? undefined
      : found(value[Number(index)], path.slice(text.length));
  }
  if (!isJsonObject(value) || !path.startsWith('.')) return undefined;
  for (const { index } of `${path.slice(1)}.`.matchAll(/[.[]/g)) {
    const name = path.slice(1, index + 1);
    const at = Object.hasOwn(value, name) ? found(value[name], path.slice(index + 1)) : undefined;
    if (at !== undefined) return at;
  }
  return undefined;
}
