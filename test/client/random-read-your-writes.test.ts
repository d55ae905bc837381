/**
 * Random writes and reads through one client against a server on loopback, while the watch is
 * delayed, cut, answered with 410 or refused, and others write too. After every read, in any
 * schedule: it is never older than this client's own last write that was answered before the read
 * began, and every call ends.
 */

import { setErrorHandler } from 'capstan';
import { compareResourceVersion, newSharedInformerFactory } from 'capstan/cache';
import { type Client, isConflict, isNotFound, newClient } from 'capstan/client';
import { ApiServer } from 'capstan/testing';
import { expect, onTestFinished, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';
import { at, type Widget, Widgets, widget } from '../helpers/resources.ts';
import { WatchGate } from './watch-gate.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const NAMESPACES = ['one', 'two'];
const WORKERS = 4;
const STEPS = 60;

/** What this client knows of an object from the answers to its writes. */
interface Known {
  /** The newest version of our writes. */
  version?: string;
  /** The objects that we deleted. */
  gone: Set<string>;
}

const seed = testSeed();

test.each([0, 1, 2, 3, 4, 5])(
  `no read is older than a write of the same client (CAPSTAN_SEED=${seed}, round %i)`,
  async (round) => {
    const random = new Random((seed + round) >>> 0);
    setErrorHandler(() => undefined);
    onTestFinished(() => {
      setErrorHandler(undefined);
    });
    const server = await ApiServer.start({ bookmarkInterval: 20 });
    const transport = server.transport();
    const gate = new WatchGate();
    // In one round the selectors of the cache exclude objects; those are then expected to be
    // absent.
    const selects = round === 5;
    const factory = newSharedInformerFactory(gate.transport(transport), {
      watchList: round % 2 === 0,
      backoff: { duration: 1, cap: 5 },
      ...(selects
        ? { tweakListOptions: (query) => Object.assign(query, { labelSelector: 'in=cache' }) }
        : {}),
    });
    onTestFinished(async () => {
      gate.open();
      await factory.shutdown();
      await transport.close?.();
      await server.stop();
    });
    const client = newClient({ transport, cache: factory, readYourWritesTimeout: 50 });
    const others = newClient({ transport });
    const known = new Map<string, Known>();
    const knownOf = (key: string): Known => {
      const found = known.get(key) ?? { gone: new Set() };
      known.set(key, found);
      return found;
    };

    const judge = (
      key: string,
      before: { version: string | undefined; gone: ReadonlySet<string> },
      read: Widget | undefined,
    ) => {
      if (read === undefined) return;
      const { uid = '', resourceVersion = '' } = read.metadata;
      expect(before.gone.has(uid), `${key}: an object that was deleted before the read`).toBe(
        false,
      );
      if (before.version !== undefined)
        expect(
          compareResourceVersion(resourceVersion, before.version),
          `${key}: ${resourceVersion} after ${before.version}`,
        ).not.toBe(-1);
    };
    const snapshot = (key: string) => {
      const { version, gone } = knownOf(key);
      return { version, gone: new Set(gone) };
    };

    let [reads, writes, absent] = [0, 0, 0];
    const wrote = (key: string, { metadata }: Widget): void => {
      writes++;
      const entry = knownOf(key);
      const { resourceVersion = '' } = metadata;
      if (entry.version === undefined || compareResourceVersion(entry.version, resourceVersion) < 0)
        entry.version = resourceVersion;
    };

    async function step(mine: Random, worker: number): Promise<void> {
      const [namespace, name] = [mine.pick(NAMESPACES), mine.pick(NAMES)];
      const key = `${namespace}/${name}`;
      const labels = { in: mine.chance(0.7) ? 'cache' : 'none' };
      const object = widget(name, { size: mine.int(100) }, { namespace, labels });
      switch (mine.int(9)) {
        case 0:
          return client.create(Widgets, object).then((made) => wrote(key, made), ignore);
        case 1:
          return client
            .patch(Widgets, at(name, namespace), {
              type: 'merge',
              body: { spec: { size: mine.int(100) }, metadata: { labels } },
            })
            .then((made) => wrote(key, made), ignore);
        case 2:
          return client
            .status()
            .patch(Widgets, at(name, namespace), {
              type: 'merge',
              body: { status: { size: mine.int(100) } },
            })
            .then((made) => wrote(key, made), ignore);
        case 3: {
          // By its uid, so that the test knows what was deleted.
          const uid = (await others.get(Widgets, at(name, namespace)).catch(ignore))?.metadata.uid;
          if (uid === undefined) return;
          return client
            .delete(Widgets, at(name, namespace), { preconditions: { uid } })
            .then(() => {
              writes++;
              knownOf(key).gone.add(uid);
            }, ignore);
        }
        case 4:
          return client.create(Widgets, object, { dryRun: true }).then(() => undefined, ignore);
        case 5:
          return mutateByOthers(others, mine, at(name, namespace), object);
        case 6: {
          const before = new Map([...known.keys()].map((each) => [each, snapshot(each)]));
          const { items } = await client.list(Widgets, mine.chance(0.5) ? { namespace } : {});
          reads++;
          for (const item of items) {
            const itsKey = `${item.metadata.namespace}/${item.metadata.name}`;
            judge(itsKey, before.get(itsKey) ?? { version: undefined, gone: new Set() }, item);
          }
          return;
        }
        default: {
          const before = snapshot(key);
          const read = await client.get(Widgets, at(name, namespace)).catch((error: unknown) => {
            if (isNotFound(error)) return undefined;
            throw error;
          });
          reads++;
          if (read === undefined) {
            absent++;
            // Absent is right if it is absent on the server, excluded from this cache, or was so at
            // some time since the write.
            const now = await others.get(Widgets, at(name, namespace)).catch(ignore);
            const { resourceVersion = '0' } = now?.metadata ?? {};
            const unchanged = before.version !== undefined && resourceVersion === before.version;
            if (unchanged && (!selects || now?.metadata.labels?.in === 'cache'))
              expect.unreachable(
                `worker ${worker}: ${key} is at ${resourceVersion}, as ` +
                  'we wrote it, and was read as absent',
              );
          } else judge(key, before, read);
        }
      }
    }

    async function disturb(mine: Random): Promise<void> {
      switch (mine.int(7)) {
        case 0:
          return gate.shut();
        case 1:
          return gate.cut();
        case 2:
          server.expireHistory();
          return gate.cut();
        case 3:
          server.inject({ verb: 'watch', do: 'status', status: 500, times: 1 });
          return server.dropConnections();
        case 4:
          server.inject({ verb: 'list', do: 'status', status: 429, retryAfter: 0, times: 1 });
          return;
        default:
          return gate.open();
      }
    }

    const ignore = (error: { code?: string }): undefined => {
      if (error.code !== 'STATUS' && error.code !== 'TRANSPORT') throw error;
      return undefined;
    };
    const untilItWorks = async (run: () => Promise<void>): Promise<void> => {
      try {
        await run();
      } catch (error) {
        // Connections are cut under reads as well; the reader repeats those.
        if ((error as { code?: string }).code !== 'TRANSPORT') throw error;
      }
    };
    // Synced first: a gate that is closed before would block every reader, and nothing would open
    // it.
    await client.list(Widgets);
    const workers = Array.from({ length: WORKERS }, async (_, worker) => {
      const mine = random.fork();
      for (let i = 0; i < STEPS; i++) {
        if (mine.chance(0.15)) await disturb(mine);
        await untilItWorks(() => step(mine, worker));
      }
    });
    await Promise.all(workers);
    gate.open();
    expect(reads).toBeGreaterThan(STEPS / 2);
    expect(writes).toBeGreaterThan(5);
    expect(absent).toBeLessThan(reads);
  },
);

async function mutateByOthers(
  others: Client,
  mine: Random,
  key: { namespace: string; name: string },
  object: Widget,
): Promise<void> {
  const known = (error: unknown): void => {
    if (!isNotFound(error) && !isConflict(error) && (error as { code?: string }).code === undefined)
      throw error;
  };
  if (mine.chance(0.3)) await others.delete(Widgets, key).catch(known);
  else if (mine.chance(0.4)) await others.create(Widgets, object).catch(known);
  else
    await others
      .patch(Widgets, key, { type: 'merge', body: { spec: { color: 'other' } } })
      .catch(known);
}
