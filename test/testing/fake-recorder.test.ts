/** The recorder of unit tests keeps what it is told, and refuses what a real one would lose. */
import { type EventSink, objectReference } from 'capstan/client';
import { Pod } from 'capstan/kinds';
import { FakeRecorder } from 'capstan/testing';
import { expect, test } from 'vitest';
import { expectError } from '../helpers/expect-error.ts';

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'web', uid: 'u1' },
};

test('keeps events in the order of the calls, equal ones too', () => {
  const recorder = new FakeRecorder();
  const sink: EventSink = recorder;
  const details = { reason: 'Deployed', action: 'Deploying', note: 'all are ready' };
  sink.event(pod, details);
  sink.event(pod, details);
  const related = objectReference(Pod, pod, { fieldPath: 'spec.containers{a}' });
  recorder.eventf(pod, related, 'Warning', 'Failed', 'Mounting', 'volume %q: %s', 'data', 'gone');
  expect(recorder.lines()).toEqual([
    'Normal Deployed all are ready',
    'Normal Deployed all are ready',
    'Warning Failed volume "data": gone',
  ]);
  expect(recorder.events[2]).toMatchObject({
    regarding: { kind: 'Pod', namespace: 'default', name: 'web', uid: 'u1' },
    related: { fieldPath: 'spec.containers{a}' },
    action: 'Mounting',
  });
});

test('throws what a real recorder would lose', () => {
  const recorder = new FakeRecorder();
  const action = 'Deploying';
  expectError(
    () => recorder.event({ metadata: { name: 'a' } }, { reason: 'A', action }),
    'INVALID_ARGUMENT',
    'apiVersion and kind',
  );
  expectError(() => recorder.event(pod, { reason: '', action }), 'INVALID_ARGUMENT', 'reason');
  expectError(
    () => recorder.event(pod, { reason: 'A', action, notes: 'b' } as never),
    'INVALID_ARGUMENT',
    'did you mean "note"',
  );
  expect(recorder.events).toEqual([]);
});
