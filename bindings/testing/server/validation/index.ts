/**
 * The validation of built-in kinds except for their metadata: the rules of all groups, by kind.
 * kubernetes: pkg/apis/&#42;/validation and the kinds' strategies.
 */
import type { JsonObject } from '../json.ts';
import type { Kind } from '../registry/kinds.ts';
import type { FieldError } from '../status.ts';
import { admission } from './admission.ts';
import { apiregistration } from './apiregistration.ts';
import { apps } from './apps.ts';
import { autoscaling } from './autoscaling.ts';
import { batch } from './batch.ts';
import { certificates } from './certificates.ts';
import { core } from './core.ts';
import { discovery } from './discovery.ts';
import { events } from './events.ts';
import { flowcontrol } from './flowcontrol.ts';
import { networking } from './networking.ts';
import { type KindRules, Place, type RuleTable } from './place.ts';
import { rbac } from './rbac.ts';
import { resource } from './resource.ts';
import { singleKinds } from './single-kinds.ts';
import { storage } from './storage.ts';

const RULES: RuleTable = {
  ...admission,
  ...apiregistration,
  ...apps,
  ...autoscaling,
  ...batch,
  ...certificates,
  ...core,
  ...discovery,
  ...events,
  ...flowcontrol,
  ...networking,
  ...singleKinds,
  ...rbac,
  ...resource,
  ...storage,
};

/**
 * @param old the object before an update; undefined at a create
 * @param part whether the write is to the object, or to that subresource
 */
export function validateBuiltIn(
  kind: Kind,
  object: JsonObject,
  old: JsonObject | undefined,
  part: keyof KindRules = 'object',
): FieldError[] {
  const errors: FieldError[] = [];
  RULES[`${kind.group}/${kind.plural}`]?.[part]?.(
    new Place(object, old, old !== undefined, errors),
  );
  return errors;
}
