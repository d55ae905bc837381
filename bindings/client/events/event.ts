/**
 * Builds Events of events.k8s.io/v1 so that they pass the API server's validation. client-go:
 * tools/events/event_recorder.go makeEvent, tools/reference, tools/record/util; the limits:
 * kubernetes pkg/apis/core/validation/events.go.
 */

import { CapstanError, invalid, isError, show } from '../../base/errors.ts';
import { namesOf } from '../../base/names.ts';
import { defineResource, groupVersion, type Resource } from '../../base/resource.ts';
import { formatMicroTime } from '../../base/times.ts';
import { checkedMetadata, type ObjectMeta } from '../metadata.ts';
import type { AnyResource } from '../types.ts';

/** A reference to an object, or to a part of it. core/v1 ObjectReference. */
export interface ObjectReference {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  /** A part of the object, such as `spec.containers{web}`. */
  fieldPath?: string | undefined;
}

/** The type: `Warning` needs attention. */
export type EventType = 'Normal' | 'Warning';

/** How often an event happened, and when last. */
export interface EventSeries {
  count: number;
  lastObservedTime: string;
}

/** events.k8s.io/v1 Event. */
export interface KubeEvent {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  /** The time of the first occurrence: RFC 3339 with microseconds. */
  eventTime: string;
  type: EventType;
  /** The reason, one word in CamelCase. */
  reason: string;
  /** The action that was done or failed, in one word. */
  action: string;
  /** A message for people. */
  note?: string;
  regarding: ObjectReference;
  related?: ObjectReference;
  reportingController: string;
  reportingInstance: string;
  series?: EventSeries;
}

/** The resource of Events of events.k8s.io/v1. */
export const eventResource: Resource<KubeEvent> = defineResource<KubeEvent>()({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
});

/**
 * Makes a reference to an object without apiVersion and kind, such as an item of a list, or to a
 * part of an object. client-go: tools/reference GetReference and GetPartialReference.
 *
 * @example
 * const container = objectReference(Pod, pod, { fieldPath: 'spec.containers{web}' });
 */
export function objectReference(
  resource: AnyResource,
  object: object,
  options: { readonly fieldPath?: string | undefined } = {},
): ObjectReference {
  const { fieldPath } = options;
  const reference = referenceFrom(
    { apiVersion: groupVersion(resource), kind: resource.kind },
    object,
  );
  return fieldPath === undefined ? reference : { ...reference, fieldPath };
}

function referenceFrom(
  type: { apiVersion: string; kind: string },
  object: object,
): ObjectReference {
  const { name, namespace, uid, resourceVersion } = checkedMetadata(object);
  const reference: ObjectReference = { kind: type.kind };
  if (namespace) reference.namespace = namespace;
  if (name) reference.name = name;
  if (uid) reference.uid = uid;
  reference.apiVersion = type.apiVersion;
  if (resourceVersion) reference.resourceVersion = resourceVersion;
  return reference;
}

/**
 * Makes a reference from an object with apiVersion and kind; a reference is returned as it is.
 * Throws CapstanError INVALID_ARGUMENT.
 */
export function referenceTo(what: string, object: unknown): ObjectReference {
  if (typeof object !== 'object' || object === null)
    throw invalid(what, 'an object or a reference to one', object);
  const { apiVersion, kind, name } = object as {
    apiVersion?: unknown;
    kind?: unknown;
    name?: unknown;
  };
  if (!('metadata' in object)) {
    if (isText(kind) && isText(name)) return { ...(object as ObjectReference) };
    throw invalid(what, 'an object with metadata, or a reference with kind and name', object);
  }
  if (isText(apiVersion) && isText(kind)) return referenceFrom({ apiVersion, kind }, object);
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `"${what}" expected an object with apiVersion and kind, got ${show(apiVersion)} and ` +
      `${show(kind)}: objects of a list may lack them; use objectReference(resource, object)`,
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/**
 * The longest note, and the longest reason, action and reporting instance, in bytes of UTF-8 (Go's
 * len).
 */
const NOTE_BYTES = 1024;
export const WORD_BYTES = 128;

/** An event to record. */
export interface EventDetails {
  /** Default `Normal`. */
  readonly type?: EventType | undefined;
  readonly reason: string;
  readonly action: string;
  /**
   * The note, cut to 1024 bytes. Of events that differ only in their note, the first ten notes get
   * an Event each. All others share one series, with the note `(combined from similar events): `
   * and the first of them, because the server does not allow a note to change. That ends when none
   * of them has happened for 360 000 ms.
   */
  readonly note?: string | undefined;
  /** A second object, such as one that was created. */
  readonly related?: object | undefined;
  readonly annotations?: Record<string, string> | undefined;
}

export const DETAIL_NAMES = namesOf<EventDetails>()({
  type: 1,
  reason: 1,
  action: 1,
  note: 1,
  related: 1,
  annotations: 1,
});

export interface Reporter {
  readonly reportingController: string;
  readonly reportingInstance: string;
}

/**
 * @param wallMs the time of the event, milliseconds since 1970
 * @param name the name of the Event. Throws CapstanError INVALID_ARGUMENT.
 */
export function makeEvent(
  reporter: Reporter,
  regarding: ObjectReference,
  related: ObjectReference | undefined,
  details: EventDetails,
  wallMs: number,
  name: (regarding: string) => string,
): KubeEvent {
  const { type = 'Normal', reason, action, note = '', annotations } = details;
  if (type !== 'Normal' && type !== 'Warning') throw invalid('type', '"Normal" or "Warning"', type);
  requireWord('reason', reason, 'a word');
  requireWord('action', action, 'a word');
  if (typeof note !== 'string') throw invalid('note', 'a string', note);
  return {
    metadata: {
      name: name(regarding.name ?? ''),
      // The server requires the Event in the namespace of its object, and in this one for a
      // cluster-scoped object.
      namespace: regarding.namespace || 'default',
      ...(annotations === undefined ? {} : { annotations }),
    },
    eventTime: formatMicroTime(wallMs * 1000),
    ...reporter,
    action,
    reason,
    regarding,
    ...(related === undefined ? {} : { related }),
    note: cut(note, NOTE_BYTES),
    type,
  };
}

/**
 * The Event of all notes that have none of their own. client-go: tools/record/events_cache.go
 * EventAggregatorByReasonMessageFunc.
 */
export function combined(event: KubeEvent): KubeEvent {
  return { ...event, note: cut(`(combined from similar events): ${event.note}`, NOTE_BYTES) };
}

export function requireWord(name: string, value: unknown, what: string): void {
  if (typeof value !== 'string' || value === '' || cut(value, WORD_BYTES) !== value)
    throw invalid(name, `${what} of 1 to ${WORD_BYTES} bytes of UTF-8`, value);
}

/**
 * Cuts a text to at most so many bytes of UTF-8, never within a character, and ends it with an
 * ellipsis.
 */
function cut(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text;
  const encoded = new TextEncoder().encode(text);
  if (encoded.length <= bytes) return text;
  let end = bytes - 3;
  while (((encoded[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${new TextDecoder().decode(encoded.subarray(0, end))}…`;
}

const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/**
 * Names of Events: the object's name and the time in nanoseconds, in hexadecimal; a random name if
 * that is not valid (a long name, or colons). One recorder never uses a name twice; the last six
 * digits are random, so that two recorders hardly do.
 */
export class EventNames {
  readonly #wallNow: () => number;
  readonly #random: () => number;
  #last = 0n;

  constructor(wallNow: () => number, random: () => number) {
    this.#wallNow = wallNow;
    this.#random = random;
  }

  next(regarding: string): string {
    const nanos =
      BigInt(Math.floor(this.#wallNow())) * 1_000_000n + BigInt(Math.floor(this.#random() * 1e6));
    this.#last = nanos > this.#last ? nanos : this.#last + 1n;
    const name = `${regarding}.${this.#last.toString(16)}`;
    return SUBDOMAIN.test(name) ? name : `event.${this.#digits(16)}.${this.#last.toString(16)}`;
  }

  #digits(count: number): string {
    return Array.from({ length: count }, () => Math.floor(this.#random() * 16).toString(16)).join(
      '',
    );
  }
}

/**
 * Formats a note with Go's verbs: %s and %v (as text), %d, %q (quoted) and %%. Arguments that are
 * left over are appended.
 */
export function formatNote(note: string, args: readonly unknown[]): string {
  let next = 0;
  const text = note.replaceAll(/%[svdq%]/g, (verb) => {
    if (verb === '%%') return '%';
    if (next >= args.length) return verb;
    const value = args[next++];
    return verb === '%q' ? JSON.stringify(asText(value)) : asText(value);
  });
  return args.length > next ? [text, ...args.slice(next).map(asText)].join(' ') : text;
}

function asText(value: unknown): string {
  if (isError(value)) return value.message;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
