/**
 * The two forms in which Events are written: events.k8s.io/v1, and the older core/v1 for tools that
 * read `count` and `lastTimestamp`. The API server stores both as the same objects. client-go:
 * tools/events, tools/record.
 */

import { defineResource, type Resource } from '../../base/resource.ts';
import { formatTime } from '../../base/times.ts';
import type { ObjectMeta } from '../metadata.ts';
import type { AnyResource } from '../types.ts';
import { type EventType, eventResource, type ObjectReference } from './event.ts';
import { type EventEntry, eventOf, seriesOf } from './series.ts';

/** core/v1 Event, as a recorder with `api: 'v1'` writes it. */
export interface CoreEvent {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  involvedObject: ObjectReference;
  related?: ObjectReference;
  type: EventType;
  reason: string;
  action: string;
  message: string;
  source: { component: string };
  /** Times are RFC 3339, in seconds. */
  firstTimestamp: string;
  lastTimestamp: string;
  count: number;
  reportingComponent: string;
  reportingInstance: string;
}

/** The resource of Events of core/v1. */
export const coreEventResource: Resource<CoreEvent> = defineResource<CoreEvent>()({
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
});

/** The API that Events are written to. */
export type EventAPI = 'events.k8s.io/v1' | 'v1';

/** Writes an entry in one of the forms: as a new Event, and as a merge patch of its count. */
export interface EventForm {
  readonly resource: AnyResource;
  created(entry: EventEntry): object;
  repeated(entry: EventEntry): object;
}

export const FORMS: Readonly<Record<EventAPI, EventForm>> = {
  'events.k8s.io/v1': {
    resource: eventResource,
    created: eventOf,
    repeated: (entry) => ({ series: seriesOf(entry) }),
  },
  v1: {
    resource: coreEventResource,
    created({ event, count, lastObserved }: EventEntry): CoreEvent {
      const { metadata, regarding, related, type, reason, action, note = '' } = event;
      const { reportingController, reportingInstance, eventTime } = event;
      return {
        metadata,
        involvedObject: regarding,
        ...(related === undefined ? {} : { related }),
        ...{ type, reason, action, message: note },
        source: { component: reportingController },
        firstTimestamp: `${eventTime.slice(0, 19)}Z`,
        lastTimestamp: formatTime(lastObserved),
        count,
        reportingComponent: reportingController,
        reportingInstance,
      };
    },
    repeated: ({ count, lastObserved }) => ({ count, lastTimestamp: formatTime(lastObserved) }),
  },
};
