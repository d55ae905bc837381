/** The names of the options of a client's calls, and their types: see bindings/base/names.ts. */
import {
  invalid,
  requireBoolean,
  requireInteger,
  requireObject,
  requireString,
} from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type {
  ApplyOptions,
  DeleteAllOfOptions,
  DeleteOptions,
  ListOptions,
  Patch,
  ReadOptions,
  SubResourceApplyOptions,
  SubResourceWriteOptions,
  WriteOptions,
} from './types.ts';

export const READ_NAMES = namesOf<ReadOptions>()({
  signal: 1,
  live: 1,
  readYourWrites: 1,
  resourceVersion: 1,
  forUpdate: 1,
});
export const WRITE_NAMES = namesOf<WriteOptions>()({
  signal: 1,
  dryRun: 1,
  fieldOwner: 1,
  fieldValidation: 1,
});
export const LIST_NAMES = namesOf<ListOptions>()({
  ...READ_NAMES,
  namespace: 1,
  labelSelector: 1,
  fieldSelector: 1,
  index: namesOf<NonNullable<ListOptions['index']>>()({ name: 1, value: 1 }),
  limit: 1,
  continue: 1,
});
const APPLY_NAMES = namesOf<ApplyOptions>()({ ...WRITE_NAMES, force: 1 });
const DELETE_NAMES = namesOf<DeleteOptions>()({
  signal: 1,
  dryRun: 1,
  gracePeriodSeconds: 1,
  propagationPolicy: 1,
  preconditions: namesOf<NonNullable<DeleteOptions['preconditions']>>()({
    uid: 1,
    resourceVersion: 1,
  }),
});

const OF_CALL = {
  get: READ_NAMES,
  list: LIST_NAMES,
  create: WRITE_NAMES,
  update: WRITE_NAMES,
  patch: WRITE_NAMES,
  apply: APPLY_NAMES,
  delete: DELETE_NAMES,
  deleteAllOf: namesOf<DeleteAllOfOptions>()({
    ...DELETE_NAMES,
    namespace: 1,
    labelSelector: 1,
    fieldSelector: 1,
  }),
};
const OF_SUBRESOURCE = {
  ...OF_CALL,
  update: namesOf<SubResourceWriteOptions<object>>()({ ...WRITE_NAMES, body: 1 }),
  apply: namesOf<SubResourceApplyOptions<object>>()({ ...APPLY_NAMES, body: 1 }),
};
const PATCH_NAMES = namesOf<Patch>()({ type: 1, operations: 1, body: 1, contentType: 1, data: 1 });

type Check = (name: string, value: unknown) => void;

const requireCount: Check = (name, value) => {
  requireInteger(name, value, 0);
};
const oneOf =
  (...texts: readonly string[]): Check =>
  (name, value) => {
    if (!texts.includes(value as string))
      throw invalid(name, `one of '${texts.join("', '")}'`, value);
  };

/** Namespaces, selectors and indices are checked where they are used. */
const OF_VALUE: Readonly<Record<string, Check>> = {
  live: requireBoolean,
  readYourWrites: requireBoolean,
  forUpdate: requireBoolean,
  dryRun: requireBoolean,
  force: requireBoolean,
  resourceVersion: requireString,
  continue: requireString,
  fieldOwner: requireString,
  limit: requireCount,
  gracePeriodSeconds: requireCount,
  fieldValidation: oneOf('Ignore', 'Warn', 'Strict'),
  propagationPolicy: oneOf('Orphan', 'Background', 'Foreground'),
  preconditions: (name, value) => {
    requireObject(name, value);
    const { uid, resourceVersion } = value as NonNullable<DeleteOptions['preconditions']>;
    if (uid !== undefined) requireString(`${name}.uid`, uid);
    if (resourceVersion !== undefined) requireString(`${name}.resourceVersion`, resourceVersion);
  },
};

/**
 * Throws CapstanError INVALID_ARGUMENT for an unknown name and for a value of another type: a flag
 * that is 'false' would be taken for true.
 */
export function requireCallOptions(
  call: keyof typeof OF_CALL,
  options: unknown,
  ofSubresource = false,
): void {
  const names = (ofSubresource ? OF_SUBRESOURCE : OF_CALL)[call];
  requireNames('options', options, `option of ${call}()`, names);
  for (const [name, value] of Object.entries(options as object)) {
    if (value !== undefined && Object.hasOwn(OF_VALUE, name))
      OF_VALUE[name]?.(`options.${name}`, value);
  }
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requirePatch(patch: Patch): void {
  requireNames('patch', patch, 'member of a patch', PATCH_NAMES);
}
