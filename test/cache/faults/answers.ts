/**
 * Answers that report a failure: expired versions, throttling, server errors, permissions, a
 * resource that is gone.
 */
import type { FaultCase } from './fault-case.ts';
import { type Rig, UNSEEN } from './harness.ts';

/** Deletes an object in a gap of the watch, and then writes some more. */
async function unseen(rig: Rig): Promise<void> {
  await rig.cut();
  await rig.delete(UNSEEN);
  await rig.churn(5);
  await rig.caughtUp();
}

const classOf = (status: number): FaultCase['told'] =>
  status === 429 ? 'throttled' : status === 401 || status === 403 ? 'auth' : 'server';

const how = (retryAfter: unknown): string => (retryAfter === undefined ? 'without' : 'with');

/** A status for some watches: the watch is repeated with back-off from the last version. */
const rewatched = (status: number, retryAfter?: number): FaultCase => ({
  told: classOf(status),
  name: `${status} for a watch, ${how(retryAfter)} Retry-After, costs no list`,
  asked: 1,
  async play(rig) {
    rig.inject({
      verb: 'watch',
      do: 'status',
      status,
      times: 3,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    });
    await rig.cut();
    await rig.until('three refusals', () => rig.watches() >= 5, { writing: true });
  },
});

/** A status for watches from a version: leads to a relist. */
const relisted = (status: number): FaultCase => ({
  told: classOf(status),
  name: `${status} for a watch leads to a later list, which gives missed deletions`,
  missed: true,
  async play(rig) {
    rig.inject({ verb: 'watch', do: 'status', status, times: 1 });
    await unseen(rig);
  },
});

/** A status for lists and watch lists. */
const refusedFirst = (status: number, retryAfter?: number): FaultCase => ({
  told: classOf(status),
  name: `${status} for the first list, ${how(retryAfter)} Retry-After, is tried again`,
  early: true,
  async play(rig) {
    rig.inject({
      do: 'status',
      status,
      times: 3,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    });
    await rig.run();
  },
});

export const answers: FaultCase[] = [
  {
    name: '410 for a page leads to a full list, and nothing is missed',
    told: 'expired',
    only: 'list',
    early: true,
    async play(rig) {
      for (let n = 0; n < 600; n++) await rig.create(`page-${n}`);
      // Pages are requested only if the server cannot answer from its watch cache.
      rig.inject({ verb: 'list', do: 'status', status: 410, query: 'continue=', times: 1 });
      rig.inject({ verb: 'list', do: 'status', status: 410, query: 'resourceVersion=0', times: 1 });
      await rig.run();
    },
  },
  {
    name: '410 for a list leads to a list without a version',
    told: 'expired',
    missed: true,
    only: 'list',
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'error', status: 410, times: 1 });
      rig.inject({ verb: 'list', do: 'status', status: 410, times: 1 });
      await unseen(rig);
      if (rig.requests.at(-2)?.query?.resourceVersion !== undefined)
        throw new Error('asked for a version again');
    },
  },
  {
    name: '410 as an event ends the watch and leads to a relist, no older than before',
    told: 'expired',
    missed: true,
    async play(rig) {
      await rig.cut();
      rig.server.expireHistory();
      rig.inject({ verb: 'watch', do: 'error', status: 410, times: 1 });
      await unseen(rig);
    },
  },
  {
    name: 'after an expired history each deleted object has one tombstone',
    missed: true,
    async play(rig) {
      const back = rig.inject({ verb: 'watch', do: 'refuse' });
      await rig.cut();
      await rig.delete(UNSEEN);
      await rig.churn(5);
      rig.server.expireHistory();
      back();
      await rig.caughtUp();
    },
  },
  {
    name: 'a version that the server has not reached is requested for a while, and then left out',
    told: 'expired',
    missed: true,
    async play(rig) {
      // As after a restore of etcd: the informer has seen versions that the server has not reached.
      const metadata = { resourceVersion: '1000000000' };
      const bookmark = {
        type: 'BOOKMARK',
        object: { apiVersion: 'example.com/v1', kind: 'Widget', metadata },
      };
      rig.inject({ verb: 'watch', do: 'insert', bytes: `${JSON.stringify(bookmark)}\n`, times: 1 });
      await rig.cut();
      await rig.until(
        'the bookmark',
        () => rig.informer.lastSyncResourceVersion() === '1000000000',
      );
      rig.inject({ verb: 'watch', do: 'error', status: 410, times: 1 });
      await unseen(rig);
      if (rig.requests.every(({ query }) => query?.resourceVersion !== '1000000000'))
        throw new Error('not asked for');
    },
  },
  rewatched(429),
  rewatched(429, 1000),
  {
    name: '429 as an event costs no list',
    told: 'throttled',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'error', status: 429, retryAfter: 1000, times: 3 });
      await rig.cut();
      await rig.until('three of them', () => rig.watches() >= 5, { writing: true });
    },
  },
  refusedFirst(429),
  refusedFirst(429, 1000),
  ...[500, 502, 503, 504].map(relisted),
  ...[500, 502, 503, 504].map((status) => rewatched(status, 1000)),
  refusedFirst(500),
  refusedFirst(503, 2000),
  {
    name: '500 as an event leads to a new list',
    told: 'server',
    missed: true,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'error', status: 500, times: 1 });
      await unseen(rig);
    },
  },
  {
    name: 'a rotated token is 401 until the new one is used, and a running watch goes on',
    told: 'auth',
    options: { server: { tokens: ['writer', 'reader'] } },
    async play(rig) {
      rig.server.setTokens(['writer']);
      await rig.churn(5);
      await rig.caughtUp();
      await rig.cut();
      await rig.churn(5);
      await rig.until('three refusals', () => rig.failures.length >= 3, { writing: true });
      rig.server.setTokens(['writer', 'reader']);
      await rig.caughtUp();
    },
  },
  refusedFirst(401),
  relisted(403),
  relisted(404),
  refusedFirst(403),
  refusedFirst(404),
  {
    name: 'a resource that is deleted and comes back is followed again',
    async play(rig) {
      const bringBack = rig.removeResource();
      await rig.until('three refusals', () => rig.failures.length >= 3);
      bringBack();
      await rig.churn(5);
      await rig.caughtUp();
    },
  },
  {
    name: 'a resource that is deleted in a gap of the watch parks the informer, and resumes',
    missed: true,
    async play(rig) {
      const back = rig.inject({ do: 'refuse' });
      await rig.cut();
      const bringBack = rig.removeResource();
      back();
      await rig.until('parked', () => rig.informer.status().state === 'parked');
      await rig.caughtUp();
      await rig.pass(60_000);
      bringBack();
      await rig.create('a');
      await rig.caughtUp();
    },
  },
  {
    name: 'a custom resource that was just defined is 429 until its storage is ready',
    early: true,
    async play(rig) {
      rig.inject({
        do: 'status',
        status: 429,
        reason: 'TooManyRequests',
        retryAfter: 1000,
        times: 6,
      });
      await rig.run();
    },
  },
];
