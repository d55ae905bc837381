/**
 * The schemas of a custom resource as a validator. An update is not denied for what was wrong
 * before and has not changed, as with the API server's own ratcheting: otherwise nobody could
 * change another part of an object that was stored before the schema became stricter.
 */
import { requireFunction } from '../base/errors.ts';
import { isJsonObject, sameJson } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Issue } from '../client/index.ts';
import { AdmissionDenied, type Validator } from './admission.ts';

/** Options of {@link schemaValidator}. */
export interface SchemaValidatorOptions {
  /** Whether an update is judged by what it changes. Default true. */
  readonly ratcheting?: boolean | undefined;
}

const NAMES = namesOf<SchemaValidatorOptions>()({ ratcheting: 1 });

/**
 * A validator that denies objects which do not match the schemas of a custom resource: 422 with the
 * path and message of each issue. It checks what only code can, such as refinements; the API server
 * checks the rest before.
 *
 * An issue of an update does not deny if the old object has it too, at the same path with the same
 * message, and the value there is the same. Items of lists are told apart by their index.
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
      const isOld = ({ path, message }: Issue): boolean =>
        before.some((issue) => issue.path === path && issue.message === message) &&
        sameJson(valueAt(old, path), valueAt(now, path));
      deny(
        custom.resource.kind,
        found.filter((issue) => !isOld(issue)),
      );
    },
  };
}

/** What `defineCustomResource` returns, as far as it is used. */
export type SchemaOf<T> = {
  readonly resource: { readonly kind: string };
  readonly validate: (
    object: unknown,
  ) => Promise<{ readonly issues?: readonly Issue[] | undefined; readonly value?: T }>;
};

function deny(kind: string, issues: readonly Issue[]): void {
  if (issues.length === 0) return;
  const texts = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  throw new AdmissionDenied(`${kind} is not valid: ${texts.join('; ')}`, {
    code: 422,
    reason: 'Invalid',
    causes: issues.map(({ path, message }) => ({
      ...(path === '' ? {} : { field: path }),
      message,
      reason: 'FieldValueInvalid',
    })),
  });
}

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
  if (!isJsonObject(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (!path.startsWith(`.${name}`)) continue;
    const at = found(member, path.slice(name.length + 1));
    if (at !== undefined) return at;
  }
  return undefined;
}
