/**
 * Objects of one storage that are read and written under several names. Events of the core group
 * and of events.k8s.io lie in their core form, and a request by the other name gets and sends the
 * other's members. Custom resources lie in the version that their definition says, as it was
 * when they were written; in another one they are the same but for apiVersion and what its schema
 * does not know. Other kinds with several versions are stores of their own. kubernetes:
 * pkg/apis/events/v1/conversion.go; apiextensions-apiserver:
 * pkg/apiserver/conversion/nop_converter.go.
 */
import { type JsonObject, writeJson } from '../json.ts';
import { builtInType } from '../schema/built-in.ts';
import { pruneAndDefault, pruneObject } from '../schema/defaults.ts';
import { autoscalerAsShown, autoscalerAsStored, isOldAutoscaler } from './autoscaling-forms.ts';
import { apiVersionOf, type Kind, type ResourceName, resourceKey } from './kinds.ts';
import type { Stored } from './store.ts';

/** What the core group calls it, and what events.k8s.io does. */
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

/** Whether the kind's objects may lie in another form than it shows. */
export const isView = (kind: Kind): boolean =>
  !kind.builtIn || isNewEvent(kind) || isOldAutoscaler(kind);

/** Where the objects of a resource lie. */
export function storageKey(kind: Kind): string {
  if (!kind.builtIn) return `${kind.group}//${kind.plural}`;
  if (isOldAutoscaler(kind)) return resourceKey({ ...kind, version: 'v2' });
  return resourceKey(isNewEvent(kind) ? { group: '', version: 'v1', plural: 'events' } : kind);
}

const renamed = (object: JsonObject, names: ReadonlyMap<string, string>): JsonObject =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]),
  );

/** The object as it lies. */
export function asStored(kind: Kind, object: JsonObject): JsonObject {
  if (!isView(kind)) return object;
  if (!kind.builtIn) return customStored(kind, object);
  if (isOldAutoscaler(kind)) return autoscalerAsStored(object);
  const head = { kind: 'Event', apiVersion: 'v1' };
  return {
    ...head,
    ...builtInType('v1', 'Event')?.map?.zero?.(),
    ...renamed(object, TO_CORE),
    ...head,
  };
}

/** What is stored has been read again: it has the defaults of the version that it lies in. */
function customStored({ definition, ...kind }: Kind, object: JsonObject): JsonObject {
  if (definition === undefined || definition.storage === apiVersionOf(kind)) return object;
  const schema = definition.schemas.get(definition.storage);
  const stored = { ...object, apiVersion: definition.storage };
  return schema === undefined ? stored : pruneAndDefault(schema, stored, false);
}

function customShown(kind: Kind, stored: JsonObject): JsonObject {
  const apiVersion = apiVersionOf(kind);
  if (stored.apiVersion === apiVersion) return stored;
  const shown = { ...stored, apiVersion };
  return kind.schema === undefined ? shown : pruneObject(kind.schema, shown);
}

/** The object as the kind shows it. */
export function asShown(kind: Kind, stored: JsonObject): JsonObject {
  if (!isView(kind)) return stored;
  if (!kind.builtIn) return customShown(kind, stored);
  if (isOldAutoscaler(kind)) return autoscalerAsShown(stored);
  const shown = { ...renamed(stored, TO_EVENTS), kind: kind.kind, apiVersion: apiVersionOf(kind) };
  // The core form writes these where they are empty, the other leaves them out.
  const empty = (name: string, value: unknown): boolean =>
    (name === 'reportingController' || name === 'reportingInstance') && value === '';
  return Object.fromEntries(Object.entries(shown).filter(([name, value]) => !empty(name, value)));
}

export function shownAs<S extends Pick<Stored, 'object' | 'json'>>(kind: Kind, stored: S): S {
  if (!isView(kind)) return stored;
  const object = asShown(kind, stored.object);
  if (object === stored.object) return stored;
  return { ...stored, object, json: writeJson(object) };
}
