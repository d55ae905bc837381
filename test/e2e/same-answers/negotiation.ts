/**
 * Exchanges about content negotiation: metadata only, in which version, of one object or a list;
 * compression.
 */
import type { CallOptions } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, leases, widgets } from './resources.ts';

const as = (what: string, version = 'v1'): string =>
  `application/json;as=${what};g=meta.k8s.io;v=${version}`;
const ONE = 'PartialObjectMetadata';
const MANY = 'PartialObjectMetadataList';

export const negotiation: Exchange[] = [
  ...[configMaps, leases, widgets].map(
    (type): Exchange => ({
      name:
        `metadata alone of ${type.plural} is returned in matching versions and forms, ` +
        'and refused in others',
      async run(api) {
        const things = api.of(type);
        await things.create(things.object('one', { metadata: { labels: { app: 'a' } } }));
        const one = `${things.path}/one`;
        for (const accept of [
          as(ONE, 'v1beta1'),
          `${as(ONE, 'v2')},${as(ONE)}`,
          'text/html,application/json;q=0.5',
        ])
          await api.call('GET', one, { accept });
        await api.call('GET', things.path, { accept: as(MANY, 'v1beta1') });
        // The first range that the server knows decides, even if it cannot be served.
        for (const accept of [as(ONE), `${as(ONE)},application/json`])
          await api.call('GET', things.path, { accept });
        for (const accept of [as(MANY), `${as(MANY)},application/json`])
          await api.call('GET', one, { accept });
        for (const accept of [as('Bar'), as('Foo', 'v7')]) {
          await api.call('GET', one, { accept: `${accept},application/json` });
        }
      },
    }),
  ),
  {
    name: 'a write can return metadata only, and is done even if that form is refused',
    async run(api) {
      for (const type of [configMaps, widgets])
        for (const accept of [as(ONE), as(MANY), `${as(ONE)},application/json`]) {
          const things = api.of(type);
          const call = (method: string, name: string, options: CallOptions = {}) =>
            api.call(method, name === '' ? things.path : `${things.path}/${name}`, {
              accept,
              ...options,
            });
          const merge = {
            body: { metadata: { labels: { a: '1' } } },
            contentType: 'application/merge-patch+json',
          };
          await call('POST', '', { body: things.object('one') });
          await call('PUT', 'one', {
            body: things.object('one', { metadata: { labels: { b: '1' } } }),
          });
          await call('PATCH', 'one', merge);
          await call('PATCH', 'one', { ...merge, query: { dryRun: 'All' } });
          await call('PATCH', 'none', merge);
          const query = { fieldManager: 'm' };
          for (const name of ['one', 'two'])
            await call('PATCH', name, {
              body: things.object(name),
              contentType: 'application/apply-patch+yaml',
              query,
            });
          await things.list();
          await call('DELETE', 'one');
          await call('DELETE', 'two', { body: { propagationPolicy: 'Foreground' } });
          await things.patch('two', 'merge', { metadata: { finalizers: null } });
          await things.create(things.object('three'));
          await call('DELETE', '');
          await things.list();
          await things.deleteAll();
        }
    },
  },
  {
    name: 'a watch with metadata as a list starts, and ends at its first event',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(things.object('one'));
        await things.list();
        await (await api.watch(things.path, {}, as(ONE))).take(1);
        await (await api.watch(things.path, {}, as(MANY))).end();
      }
    },
  },
  {
    name: 'responses above 128 KiB are compressed if the client accepts gzip',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(things.object('small'));
        for (const encoding of ['gzip', 'identity'])
          await api.call('GET', things.path, { encoding });
        for (const name of ['a', 'b'])
          await things.create(things.object(name, { data: { a: 'x'.repeat(80_000) } }));
        for (const encoding of ['gzip', 'deflate, gzip', 'gzip;q=1', 'GZIP', 'br, *', 'identity'])
          await api.call('GET', things.path, { encoding });
        await things.create(things.object('big', { data: { a: 'x'.repeat(200_000) } }));
        await api.call('GET', `${things.path}/big`, { encoding: 'gzip' });
      }
    },
  },
];
