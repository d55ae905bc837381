/**
 * An event recorder for unit tests, which keeps what it is told. client-go: record.FakeRecorder.
 */
import { requireNames } from '../base/names.ts';
import {
  DETAIL_NAMES,
  type EventDetails,
  type EventType,
  formatNote,
  type KubeEvent,
  makeEvent,
  type ObjectReference,
  referenceTo,
} from '../client/events/event.ts';
import type { EventSink } from '../client/events/recorder.ts';

/**
 * Keeps the events that a controller records, for a test to read. It merges none and drops none.
 * What a real recorder would report as lost it throws: a test should see that the event is wrong.
 * client-go: record.NewFakeRecorder.
 *
 * @throws CapstanError INVALID_ARGUMENT, from `event` and `eventf`
 * @example
 * const recorder = new FakeRecorder();
 * recorder.event(pod, { reason: 'Deployed', action: 'Deploying', note: 'all are ready' });
 * console.log(recorder.lines()); // [ 'Normal Deployed all are ready' ]
 */
export class FakeRecorder implements EventSink {
  /** In the order of the calls. Their times and names are of no use. */
  readonly events: KubeEvent[] = [];

  event(regarding: object, details: EventDetails): void {
    requireNames('details', details, 'member of the details of an event', DETAIL_NAMES);
    const related: ObjectReference | undefined =
      details.related === undefined ? undefined : referenceTo('related', details.related);
    const reporter = { reportingController: 'fake', reportingInstance: 'fake' };
    const reference = referenceTo('regarding', regarding);
    const name = (of: string): string => `${of}.${this.events.length}`;
    this.events.push(makeEvent(reporter, reference, related, details, 0, name));
  }

  /** As `eventf` of an EventRecorder. */
  eventf(
    regarding: object,
    related: object | undefined,
    type: EventType,
    reason: string,
    action: string,
    note: string,
    ...args: readonly unknown[]
  ): void {
    const details = { type, reason, action, note: formatNote(note, args) };
    this.event(regarding, related === undefined ? details : { ...details, related });
  }

  /** Each event as client-go's fake writes it: `Warning FailedMount the volume is gone`. */
  lines(): string[] {
    return this.events.map(({ type, reason, note }) => `${type} ${reason} ${note}`);
  }
}
