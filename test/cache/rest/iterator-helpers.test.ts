/**
 * The synchronous read of chunks was a method `take`. With JavaScript's iterator helpers (core-js,
 * and future engines) every async generator has a `take(limit)`: each list over fetch failed, and
 * the informer never synced.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fetchTransport, ListWatch, SharedIndexInformer } from 'capstan/cache';
import { expect, test } from 'vitest';
import { configMapAt, event, listBody } from '../../helpers/cache/scripted-server.ts';
import { ConfigMaps } from '../../helpers/resources.ts';

test('an informer over fetch, in a runtime with iterator helpers', async () => {
  const generator = (async function* () {})();
  const proto: object = Object.getPrototypeOf(
    Object.getPrototypeOf(Object.getPrototypeOf(generator)),
  );
  Object.defineProperty(proto, 'take', {
    configurable: true,
    value(limit: unknown) {
      if (Number.isNaN(Number(limit))) throw new RangeError(`${limit} must be positive`);
      return {};
    },
  });
  const server = createServer((request, response) => {
    if (request.url?.includes('watch=')) response.write(event('ADDED', configMapAt('b', '6')));
    else response.end(listBody('5', [configMapAt('a', '1')]));
  }).listen(0);
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const informer = new SharedIndexInformer(
    new ListWatch(fetchTransport(`http://127.0.0.1:${port}`), ConfigMaps),
  );
  const added = Promise.withResolvers<void>();
  informer.addEventHandler({ onAdd: ({ metadata }) => metadata.name === 'b' && added.resolve() });
  const running = informer.run();
  try {
    await added.promise;
    expect(informer.getIndexer().listKeys().sort()).toEqual(['default/a', 'default/b']);
  } finally {
    Reflect.deleteProperty(proto, 'take');
    await informer.stop();
    await running;
    server.closeAllConnections();
    server.close();
  }
});
