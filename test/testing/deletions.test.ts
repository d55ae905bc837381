/**
 * Deletions of Pods. The embedded server removed a Pod on a node at once, so that controllers met
 * no terminating Pod and no grace period.
 */
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import {
  type ApiObject,
  type ApiRequests,
  POD_SPEC,
  startApi,
} from '../helpers/server/requests.ts';

const PODS = '/api/v1/namespaces/default/pods';
const START = Date.parse('2026-01-02T03:04:05Z');

async function withPod(
  spec: object = {},
  more: object = {},
): Promise<{ api: ApiRequests; clock: FakeClock; pod: ApiObject }> {
  const clock = new FakeClock();
  const { api } = await startApi({ clock, startTime: START });
  const body = { metadata: { name: 'a', ...more }, spec: { ...POD_SPEC, nodeName: 'n', ...spec } };
  return { api, clock, pod: await api.make(PODS, body) };
}

const grace = (seconds: number, until: string) => ({
  deletionGracePeriodSeconds: seconds,
  deletionTimestamp: `2026-01-02T03:${until}Z`,
});

describe('a Pod on a node', () => {
  test('stays after a deletion, until it is deleted with a grace period of 0', async () => {
    const { api } = await withPod({ terminationGracePeriodSeconds: 7 });
    const watch = await api.watch(PODS, { resourceVersion: await api.version(PODS) });
    const marked = await api.delete(`${PODS}/a`);
    expect(marked).toMatchObject({ status: 200, body: { kind: 'Pod' } });
    expect(marked.body.metadata).toMatchObject({ ...grace(7, '04:12'), generation: 2 });
    expect((await api.get(`${PODS}/a`)).body).toEqual(marked.body);
    const gone = await api.delete(`${PODS}/a`, { gracePeriodSeconds: 0 });
    expect(gone.body.metadata).toMatchObject({ ...grace(0, '04:05'), generation: 2 });
    expect((await api.get(`${PODS}/a`)).status).toBe(404);
    const events = await watch.take(3);
    expect(events.map(({ type }) => type)).toEqual(['MODIFIED', 'MODIFIED', 'DELETED']);
  });

  test.each([
    ['30 seconds by default', {}, undefined, 30],
    ['the seconds of the request', {}, 5, 5],
    [
      'the seconds of the request, also if its spec has fewer',
      { terminationGracePeriodSeconds: 3 },
      50,
      50,
    ],
    ['1 second if those of the request are negative', {}, -1, 1],
    [
      '1 second if those of its spec are negative',
      { terminationGracePeriodSeconds: -9 },
      undefined,
      1,
    ],
  ])('has a grace period of %s', async (_, spec, gracePeriodSeconds, seconds) => {
    const { api } = await withPod(spec);
    const { body } = await api.delete(`${PODS}/a`, { gracePeriodSeconds });
    expect(body.metadata).toMatchObject({ deletionGracePeriodSeconds: seconds });
    expect((await api.get(`${PODS}/a`)).status).toBe(200);
  });

  test.each([
    ['it is on no node', { nodeName: undefined }, undefined],
    ['it failed', {}, 'Failed'],
    ['it succeeded', {}, 'Succeeded'],
    ['its grace period is 0', { terminationGracePeriodSeconds: 0 }, 'Running'],
  ])('is removed at once if %s', async (_, spec, phase) => {
    const { api } = await withPod(spec);
    if (phase !== undefined) await api.patch(`${PODS}/a/status`, { status: { phase } });
    const { body } = await api.delete(`${PODS}/a`);
    expect(body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
    expect((await api.get(`${PODS}/a`)).status).toBe(404);
  });

  test('that terminates gets a shorter grace period, never a longer one', async () => {
    const { api, clock } = await withPod();
    const first = await api.delete(`${PODS}/a`);
    expect(first.body.metadata).toMatchObject(grace(30, '04:35'));
    clock.step(10_000);
    for (const gracePeriodSeconds of [undefined, 30, 40])
      expect((await api.delete(`${PODS}/a`, { gracePeriodSeconds })).body).toEqual(first.body);
    const later = { gracePeriodSeconds: 20, propagationPolicy: 'Orphan' };
    const less = (await api.delete(`${PODS}/a`, later)).body.metadata;
    expect(less).toMatchObject({ ...grace(20, '04:25'), finalizers: ['orphan'], generation: 2 });
    const past = await api.delete(`${PODS}/a`, { gracePeriodSeconds: 5 });
    expect(past.body.metadata).toMatchObject(grace(1, '04:15'));
  });

  test('stays until its finalizers are removed and its grace period is 0', async () => {
    const { api } = await withPod({}, { finalizers: ['example.com/x'] });
    await api.delete(`${PODS}/a`);
    await api.patch(`${PODS}/a`, { metadata: { finalizers: null } });
    expect((await api.get(`${PODS}/a`)).body.metadata).toMatchObject(grace(30, '04:35'));
    await api.delete(`${PODS}/a`, { gracePeriodSeconds: 0 });
    expect((await api.get(`${PODS}/a`)).status).toBe(404);

    const other = await withPod({}, { finalizers: ['example.com/x'] });
    await other.api.delete(`${PODS}/a`, { gracePeriodSeconds: 0 });
    expect((await other.api.get(`${PODS}/a`)).body.metadata).toMatchObject(grace(0, '04:05'));
    await other.api.patch(`${PODS}/a`, { metadata: { finalizers: null } });
    expect((await other.api.get(`${PODS}/a`)).status).toBe(404);
  });

  test('that terminates keeps its deletion timestamp and grace period in updates', async () => {
    const { api } = await withPod();
    const { body } = await api.delete(`${PODS}/a`);
    const change = (metadata: object) => api.patch(`${PODS}/a`, { metadata });
    const refused = await change({ deletionGracePeriodSeconds: 1 });
    expect(refused.body.details.causes?.[0]?.field).toBe('metadata.deletionGracePeriodSeconds');
    expect((await change({ deletionTimestamp: null })).body).toEqual(body);
  });

  test('terminates by a deletecollection and by an eviction too', async () => {
    const { api } = await withPod();
    await api.send('DELETE', PODS, { body: { gracePeriodSeconds: 9 } });
    expect((await api.get(`${PODS}/a`)).body.metadata).toMatchObject(grace(9, '04:14'));

    const other = await withPod();
    const evict = (deleteOptions: object) =>
      other.api.send('POST', `${PODS}/a/eviction`, {
        body: { metadata: { name: 'a' }, deleteOptions },
      });
    const { resourceVersion } = other.pod.metadata;
    await evict({ dryRun: ['All'] });
    expect((await other.api.get(`${PODS}/a`)).body).toEqual(other.pod);
    const stale = { resourceVersion: `${Number(resourceVersion) - 1}` };
    expect((await evict({ preconditions: stale })).status).toBe(409);
    await evict({ gracePeriodSeconds: 4, preconditions: { resourceVersion } });
    const { body } = await other.api.get(`${PODS}/a`);
    expect(body.metadata).toMatchObject(grace(4, '04:09'));
    expect(body.status).toMatchObject({ conditions: [{ type: 'DisruptionTarget' }] });
    await evict({ gracePeriodSeconds: 0 });
    expect((await other.api.get(`${PODS}/a`)).status).toBe(404);
  });

  test('does not change by a dry run, nor by a deletion with another uid', async () => {
    const { api, pod } = await withPod();
    const dry = await api.delete(`${PODS}/a`, { dryRun: ['All'] });
    expect(dry.body.metadata).toMatchObject(grace(30, '04:35'));
    const other = await api.delete(`${PODS}/a`, { preconditions: { uid: 'other' } });
    expect(other.status).toBe(409);
    expect((await api.get(`${PODS}/a`)).body).toEqual(pod);
  });

  test('has the grace period of the query, which must be a number', async () => {
    const { api } = await withPod();
    const asked = (gracePeriodSeconds: string) =>
      api.send('DELETE', `${PODS}/a`, { query: { gracePeriodSeconds } });
    expect((await asked('x')).status).toBe(400);
    expect((await asked('9'.repeat(20))).status).toBe(400);
    expect((await asked('+6')).body.metadata).toMatchObject(grace(6, '04:11'));
  });
});

test('an Event is deleted at once, with any propagation policy', async () => {
  const { api } = await startApi();
  const events = '/api/v1/namespaces/default/events';
  for (const propagationPolicy of ['Orphan', 'Foreground']) {
    const involvedObject = { namespace: 'default' };
    await api.make(events, { metadata: { name: 'a', finalizers: ['orphan'] }, involvedObject });
    await api.delete(`${events}/a`, { propagationPolicy });
    expect((await api.get(`${events}/a`)).status).toBe(404);
  }
});
