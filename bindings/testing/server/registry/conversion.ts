/**
 * Converts objects between the version of a request and the stored version, for resources that
 * share one storage. Events are stored in their core form, and events.k8s.io renames members.
 * Custom resources stay stored in the storage version of the write; other versions differ in
 * apiVersion and in what their schema drops. All other kinds are stored by version. kubernetes:
 * pkg/apis/events/v1/conversion.go; apiextensions-apiserver:
 * pkg/apiserver/conversion/nop_converter.go.
 */

import { builtInType } from '../../../apimachinery/built-in.ts';
import { type JsonObject, writeJson } from '../json.ts';
import { pruneAndDefault, pruneObject } from '../schema/defaults.ts';
import { autoscalerToV1, autoscalerToV2, isOldAutoscaler } from './autoscaling-conversion.ts';
import { apiVersionOf, type Kind, type ResourceName, resourceKey } from './kinds.ts';
import type { Stored } from './store.ts';

/** Member names in the core group and in events.k8s.io. */
const EVENT_MEMBERS: readonly (readonly [core: string, events: string])[] = [
  ['message', 'note'],
  ['involvedObject', 'regarding'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];

const TO_EVENTS = new Map(EVENT_MEMBERS);
const TO_CORE = new Map(EVENT_MEMBERS.map(([core, events]) => [events, core]));

const isNewEvent = (name: ResourceName): boolean =>
  name.group === 'events.k8s.io' && name.plural === 'events';

/** Whether objects of the kind may be stored in another form than they are served. */
export const isConverted = (kind: Kind): boolean =>
  !kind.builtIn || isNewEvent(kind) || isOldAutoscaler(kind);

/** The key of the store of a resource. */
export function storageKey(kind: Kind): string {
  if (!kind.builtIn) return `${kind.group}//${kind.plural}`;
  if (isOldAutoscaler(kind)) return resourceKey({ ...kind, version: 'v2' });
  return resourceKey(isNewEvent(kind) ? { group: '', version: 'v1', plural: 'events' } : kind);
}

const renamed = (object: JsonObject, names: ReadonlyMap<string, string>): JsonObject =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]),
  );

/** The object in its stored form. */
export function toStoredForm(kind: Kind, object: JsonObject): JsonObject {
  if (!isConverted(kind)) return object;
  if (!kind.builtIn) return customStored(kind, object);
  if (isOldAutoscaler(kind)) return autoscalerToV2(object);
  const head = { kind: 'Event', apiVersion: 'v1' };
  return {
    ...head,
    ...builtInType('v1', 'Event')?.map?.zero?.(),
    ...renamed(object, TO_CORE),
    ...head,
  };
}

/** The stored form has the defaults of the storage version's schema. */
function customStored({ definition, ...kind }: Kind, object: JsonObject): JsonObject {
  if (definition === undefined || definition.storage === apiVersionOf(kind)) return object;
  const schema = definition.schemas.get(definition.storage);
  const stored = { ...object, apiVersion: definition.storage };
  return schema === undefined ? stored : pruneAndDefault(schema, stored, false);
}

function customServed(kind: Kind, stored: JsonObject): JsonObject {
  const apiVersion = apiVersionOf(kind);
  if (stored.apiVersion === apiVersion) return stored;
  const shown = { ...stored, apiVersion };
  return kind.schema === undefined ? shown : pruneObject(kind.schema, shown);
}

/** The stored object as the kind serves it. */
function toServedForm(kind: Kind, stored: JsonObject): JsonObject {
  if (!isConverted(kind)) return stored;
  if (!kind.builtIn) return customServed(kind, stored);
  if (isOldAutoscaler(kind)) return autoscalerToV1(stored);
  const shown = { ...renamed(stored, TO_EVENTS), kind: kind.kind, apiVersion: apiVersionOf(kind) };
  // The core form has these members even if they are empty; events.k8s.io omits them.
  const empty = (name: string, value: unknown): boolean =>
    (name === 'reportingController' || name === 'reportingInstance') && value === '';
  return Object.fromEntries(Object.entries(shown).filter(([name, value]) => !empty(name, value)));
}

export function servedForm<S extends Pick<Stored, 'object' | 'json'>>(kind: Kind, stored: S): S {
  if (!isConverted(kind)) return stored;
  const object = toServedForm(kind, stored.object);
  if (object === stored.object) return stored;
  return { ...stored, object, json: writeJson(object) };
}
