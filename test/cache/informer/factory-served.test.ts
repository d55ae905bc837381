/** Concurrent calls of isServed. */
import { newSharedInformerFactory, type Transport } from 'capstan/cache';
import { FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { answer } from '../../helpers/cache/live-server.ts';
import { ConfigMaps } from '../../helpers/resources.ts';

const widgets = { ...ConfigMaps, group: 'e.x', plural: 'widgets', kind: 'Widget' };
const [discovery, list] = ['/apis/e.x/v1', '/apis/e.x/v1/widgets'];

/** A server without widgets, whose answers the test releases. */
function slow() {
  const asked: string[] = [];
  const told = Promise.withResolvers<void>();
  const transport: Transport = {
    async request({ path }) {
      asked.push(path);
      await told.promise;
      return path === discovery
        ? answer(200, JSON.stringify({ kind: 'APIResourceList', resources: [] }))
        : answer(404, '404 page not found');
    },
  };
  const clock = new FakeClock();
  const factory = newSharedInformerFactory(transport, { clock });
  return {
    asked,
    clock,
    isServed: (signal?: AbortSignal) => factory.isServed(widgets, signal && { signal }),
    answer: () => told.resolve(),
  };
}

// A hundred controllers of one kind sent a hundred requests at their start, and every ten seconds
// while it was not served.
test('concurrent calls of isServed share one request, and a later call sends another', async () => {
  const server = slow();
  const all = Promise.all(Array.from({ length: 100 }, () => server.isServed()));
  server.answer();
  expect(new Set(await all)).toEqual(new Set([false]));
  expect(server.asked).toEqual([discovery, list]);
  expect(await server.isServed()).toBe(false);
  expect(server.asked).toEqual([discovery, list, discovery, list]);
  expect(server.clock.timers()).toBe(0);
});

test('an aborted call of isServed ends alone: others send a new request', async () => {
  const server = slow();
  const [first, second] = [new AbortController(), new AbortController()];
  const answers = [
    server.isServed(first.signal),
    server.isServed(second.signal),
    server.isServed(),
    server.isServed(),
  ];
  await server.clock.settle();
  second.abort();
  expect(await answers[1]).toBe(true);
  first.abort();
  expect(await answers[0]).toBe(true);
  await server.clock.settle();
  expect(server.asked).toEqual([discovery, discovery]);
  server.answer();
  expect(await Promise.all(answers.slice(2))).toEqual([false, false]);
  expect(server.asked).toEqual([discovery, discovery, list]);
  expect(server.clock.timers()).toBe(0);
});
