/**
 * What kube-apiserver refuses of built-in kinds beside their metadata: the rules of all groups, by
 * kind. kubernetes: pkg/apis/&#42;/validation and the kinds' strategies.
 */
import type { JsonObject } from '../json.ts';
import type { Kind } from '../registry/kinds.ts';
import type { FieldError } from '../status.ts';
import { apps } from './apps.ts';
import { batch } from './batch.ts';
import { core } from './core.ts';
import { Place, type RuleTable } from './place.ts';

const RULES: RuleTable = { ...core, ...apps, ...batch };

/**
 * @param old the object before an update; undefined at a create
 * @param part the write is one to the object, or to its `/status`
 */
export function validateBuiltIn(
  kind: Kind,
  object: JsonObject,
  old: JsonObject | undefined,
  part: 'object' | 'status' = 'object',
): FieldError[] {
  const errors: FieldError[] = [];
  RULES[`${kind.group}/${kind.plural}`]?.[part]?.(
    new Place(object, old, old !== undefined, errors),
  );
  return errors;
}
