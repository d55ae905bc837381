/**
 * An object that a controller created and that was deleted while the watch was down, with the
 * history expired, is in no list and no event afterwards, so nothing requested its owner again. A
 * demo of 2000 Websites ended with one that had no Service and would never have got one.
 */
import { defineResource } from 'capstan/cache';
import { ignoreNotFound, newClient, setControllerReference } from 'capstan/client';
import { newControllerManagedBy } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { expect, onTestFinished, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';
import {
  at,
  type ConfigMap,
  ConfigMaps,
  configMap,
  Widgets,
  widget,
} from '../helpers/resources.ts';

const CONFIG_MAPS = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
} as const;
/** The same without an index, so that another informer may have it. */
const Plain = defineResource<ConfigMap>()(CONFIG_MAPS);

/** A controller that keeps a ConfigMap for each Widget, and a cluster with faults. */
async function keeping(watch: { metadataOnly?: boolean } = {}) {
  setErrorHandler(() => undefined);
  onTestFinished(() => void setErrorHandler(undefined));
  const clock = new FakeClock();
  const transport = fakeTransport({ clock, resources: [Widgets] });
  const manager = newManager({ transport, clock });
  const { client } = manager;
  const causes: string[] = [];
  newControllerManagedBy(manager)
    .for(Widgets)
    .owns(Plain, watch)
    .named('missed-children')
    .withOptions({ skipNameValidation: true })
    .complete(async (key, context) => {
      causes.push(
        ...context.causes.map(({ kind, object }) => `${kind} ${object?.kind} ${object?.name}`),
      );
      const owner = await client.get(Widgets, key).catch(ignoreNotFound);
      if (owner === undefined) return;
      const child = await client.get(Plain, key).catch(ignoreNotFound);
      if (child === undefined)
        await client.create(Plain, setControllerReference(owner, configMap(key.name), Widgets));
    });
  const end = new AbortController();
  const running = manager.start({ signal: end.signal });
  await clock.settle();
  await client.list(Plain); // from here on the client has a cache
  return {
    ...{ clock, transport, causes },
    others: newClient({ transport }),
    /**
     * Lists and watches of ConfigMaps fail until the returned function is called; writes succeed.
     */
    interrupt(): () => void {
      const restore = transport.inject({ do: 'refuse', path: '/api/v1/configmaps' });
      transport.dropConnections();
      return restore;
    },
    async stop(): Promise<void> {
      end.abort();
      await clock.settle();
      await running;
    },
  };
}

test.each<[string, { metadataOnly?: boolean }]>([
  ['the informer that the client reads from', {}],
  ['an informer of its metadata alone', { metadataOnly: true }],
])(
  'a child that was created and deleted in one gap of its watch is made again, by %s',
  async (_, watch) => {
    const { clock, transport, others, causes, interrupt, stop } = await keeping(watch);
    const restore = interrupt();
    await others.create(Widgets, widget('a'));
    await clock.run(5000);
    expect(causes.splice(0)).toEqual(['create Widget a']);
    await others.delete(ConfigMaps, at('a'));
    transport.expireHistory();
    restore();
    await clock.run(60_000);
    expect(causes).toEqual(['delete ConfigMap a', 'create ConfigMap a']);
    expect(await others.get(ConfigMaps, at('a'))).toBeDefined();
    await stop();
  },
);

const seed = testSeed();

test(`no child stays missing, whatever fails (CAPSTAN_SEED=${seed})`, async () => {
  const random = new Random(seed);
  for (let round = 0; round < 10; round++) {
    const { clock, transport, others, interrupt, stop } = await keeping();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    let restore: (() => void) | undefined;
    for (let step = 0; step < 60; step++) {
      const name = random.pick(names);
      if (random.chance(0.15)) {
        restore?.();
        restore = restore === undefined ? interrupt() : undefined;
      }
      if (random.chance(0.2)) transport.expireHistory();
      if (random.chance(0.2))
        transport.inject({
          do: 'delay',
          verb: 'create',
          path: '/configmaps',
          ms: random.int(20_000),
          times: 1,
        });
      const kind = random.chance(0.7) ? ConfigMaps : Widgets;
      if (random.chance(0.5)) await others.delete(kind, at(name)).catch(ignoreNotFound);
      else await others.create(Widgets, widget(name)).catch(() => undefined); // it exists
      await clock.run(random.int(4000));
    }
    restore?.();
    await clock.run(400_000); // all delays, one after the other
    const kept = (await others.list(ConfigMaps)).items.map(({ metadata }) => metadata.name);
    const wanted = (await others.list(Widgets)).items.map(({ metadata }) => metadata.name);
    expect(
      wanted.filter((name) => !kept.includes(name)),
      `round ${round}`,
    ).toEqual([]);
    await stop();
  }
});
