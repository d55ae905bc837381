/**
 * Informers over fetch, on every runtime: list, watch, and faults of connections. Each case ends
 * with the cache equal to the server's objects. Faults are real ones of a server in another
 * process; faults that a runtime's fetch cannot distinguish are asserted to be so.
 */
import { fetchTransport, TransportError } from 'capstan/cache';
import { afterEach, describe, expect, test } from 'vitest';
import { CaseServer, until, WatchedInformer, type WatchedOptions } from './cache-cluster.ts';
import type { ServerOptions } from './cluster-protocol.ts';
import type { ClusterClaims } from './report.ts';
import { CACHE_CASES } from './titles.ts';

export function informerCases(claims: ClusterClaims): void {
  const open: WatchedInformer[] = [];

  async function begin(
    options: ServerOptions & WatchedOptions & { names?: string[] } = {},
  ): Promise<WatchedInformer> {
    const { names = [], bookmarkInterval, compressed, ...watchedOptions } = options;
    const server = await CaseServer.start(claims, { bookmarkInterval, compressed });
    for (const name of names) await server.create(name);
    const watched = new WatchedInformer(server, watchedOptions);
    open.push(watched);
    return watched;
  }

  describe(CACHE_CASES, () => {
    afterEach(async () => {
      for (const watched of open.splice(0)) await watched.stop();
    });

    test('list, then watch: each event in order, and the indices are updated', async () => {
      const watched = await (await begin({ names: ['a', 'b'] })).synced();
      const { server, informer, told } = watched;
      expect(told).toEqual(['initial a', 'initial b']);
      await server.create('c', { colour: 'red' });
      await server.update('a', { colour: 'red' });
      await server.delete('b');
      await until('three events', () => told.length === 5);
      expect(told.slice(2)).toEqual(['add c', 'update a', 'delete b']);
      expect(informer.getIndexer().byIndex('byColour', 'red')).toHaveLength(2);
      await watched.equal();
      expect(server.count('list')).toBe(1);
    });

    test('a list of 200 objects and text beyond ASCII arrive complete', async () => {
      const text = 'é – 漢字 🐚 \u2028 "\\"';
      const server = await CaseServer.start(claims);
      for (let i = 0; i < 200; i++) await server.create(`object-${i}`, { text: text.repeat(50) });
      const watched = new WatchedInformer(server);
      open.push(watched);
      await watched.synced();
      await watched.equal();
      const texts = new Set(
        watched.informer
          .getIndexer()
          .list()
          .map(({ data }) => data?.text),
      );
      expect([...texts]).toEqual([text.repeat(50)]);
    });

    test('connections that are dropped during writes cost no list and no event', async () => {
      const watched = await (await begin()).synced();
      const { server, told } = watched;
      for (let i = 0; i < 10; i++) {
        await server.create(`before-${i}`);
        await until('its event', () => told.includes(`add before-${i}`));
        await server.call({ do: 'dropConnections' });
        await server.create(`after-${i}`);
      }
      await until('20 events', () => told.length >= 20);
      const both = Array.from({ length: 10 }, (_, i) => [
        `add before-${i}`,
        `add after-${i}`,
      ]).flat();
      expect(told).toEqual(both);
      expect(server.count('list')).toBe(1);
      await watched.equal();
    });

    test('a connection that is cut within an event applies none of it', async () => {
      for (const afterBytes of [0, 1, 60, 150]) {
        const watched = await (await begin({ names: ['a'] })).synced();
        const { server, told } = watched;
        await server.call({
          do: 'inject',
          fault: { verb: 'watch', times: 1, do: 'drop', afterBytes },
        });
        await watched.drop();
        await watched.watches(2);
        await server.update('a', { n: '1' });
        await server.create('b');
        await until('two events', () => told.length >= 3);
        expect(told).toEqual(['initial a', 'update a', 'add b']);
        await watched.equal();
      }
    });

    test('a connection that is reset before the answer is retried', async () => {
      const server = await CaseServer.start(claims);
      await server.create('a');
      for (const verb of ['list', 'watch'] as const) {
        await server.call({
          do: 'inject',
          fault: { verb, path: '/configmaps', times: 2, do: 'reset' },
        });
      }
      const watched = new WatchedInformer(server);
      open.push(watched);
      await watched.synced();
      // some hosts retry themselves: how often the informer does depends on them
      await server.create('b');
      await until('an event', () => watched.told.includes('add b'));
      await watched.equal();
    });

    test('a server that is down for a while is retried until it is back', async () => {
      const watched = await (await begin({ names: ['a'] })).synced();
      await watched.drop(() => watched.server.call({ do: 'inject', fault: { do: 'refuse' } }));
      await watched.watches(3);
      await watched.server.call({ do: 'takeBack' });
      await watched.server.create('b');
      await until('an event', () => watched.told.includes('add b'));
      expect(watched.server.count('list')).toBe(1);
      await watched.equal();
    });

    test('an expired version leads to one list, and one tombstone per deletion', async () => {
      const watched = await (await begin({ names: ['a', 'b'] })).synced();
      const { server, told } = watched;
      await server.call({ do: 'inject', fault: { verb: 'watch', do: 'reset' } });
      await watched.drop();
      await watched.watches(2);
      await server.delete('a');
      await server.update('b', { n: '1' });
      await server.call({ do: 'expireHistory' });
      await server.call({ do: 'takeBack' });
      await until('the second list', () => told.includes('tombstone a'));
      await watched.equal();
      expect(told.filter((one) => one.endsWith(' a'))).toEqual(['initial a', 'tombstone a']);
      await server.create('c');
      await until('an event', () => told.includes('add c'));
    });

    test('garbage in a watch and in a list is reported, and repaired by a list', async () => {
      const watched = await (await begin({ names: ['a'] })).synced();
      const { server, told, errors } = watched;
      await server.call({
        do: 'inject',
        fault: {
          verb: 'watch',
          times: 1,
          do: 'garbage',
          bytes: '{"type":"ADDED","object":nonsense}\n',
        },
      });
      await server.call({
        do: 'inject',
        fault: { verb: 'list', path: '/configmaps', times: 1, do: 'garbage', bytes: '<html>' },
      });
      await watched.drop();
      await until('two complaints', () => errors.length >= 2);
      expect(errors.slice(0, 2)).toEqual([
        expect.objectContaining({ code: 'DECODE' }),
        expect.objectContaining({ code: 'DECODE' }),
      ]);
      await server.create('b');
      await until('an event', () => told.includes('add b') || told.includes('update b'));
      await watched.equal();
    });

    test('bookmarks advance the version without an event', async () => {
      const watched = await (await begin({ bookmarkInterval: 50, names: ['a'] })).synced();
      const { server, informer, told } = watched;
      // Another resource advances the version of all.
      const secret = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } });
      const { body } = await fetchTransport(server.url).request({
        method: 'POST',
        path: '/api/v1/namespaces/default/secrets',
        headers: { 'content-type': 'application/json' },
        body: secret,
      });
      let text = '';
      for await (const chunk of body) text += new TextDecoder().decode(chunk);
      const { resourceVersion } = (JSON.parse(text) as { metadata: { resourceVersion: string } })
        .metadata;
      await until('a bookmark', () => informer.lastSyncResourceVersion() === resourceVersion);
      expect(told).toEqual(['initial a']);
      expect(server.requests).toEqual(['list', 'watch']);
    });

    test('throttling is waited out without a list, and never without a pause', async () => {
      const watched = await (await begin({ names: ['a'] })).synced();
      const { server, told } = watched;
      await server.call({
        do: 'inject',
        fault: { verb: 'watch', times: 2, do: 'status', status: 429, retryAfter: 1000 },
      });
      await server.call({
        do: 'inject',
        fault: { verb: 'watch', times: 1, do: 'status', status: 429 },
      });
      await watched.drop();
      await watched.watches(5);
      await server.create('b');
      await until('an event', () => told.includes('add b'));
      expect(server.count('list')).toBe(1);
      expect(server.count('watch')).toBe(5);
      await watched.equal();
    });

    test('errors of the server are retried: 500, 403 and 404', async () => {
      const server = await CaseServer.start(claims);
      for (const status of [500, 403, 404]) {
        for (const verb of ['list', 'watch'] as const) {
          await server.call({
            do: 'inject',
            fault: { verb, path: '/configmaps', times: 1, do: 'status', status },
          });
        }
      }
      const watched = new WatchedInformer(server);
      open.push(watched);
      await watched.synced();
      await until('all errors are behind it', async () => {
        await server
          .create(`object-${watched.server.requests.length}-${watched.told.length}`)
          .catch(() => undefined);
        return watched.told.some((one) => one.startsWith('add '));
      });
      await watched.equal();
    });

    test('a silent watch is given up after idleTimeout, and nothing is lost', async () => {
      // less than the 10 s after which a new watch without a byte is checked
      const watched = await (await begin({ idleTimeout: 8_000, names: ['a'] })).synced();
      const { server, told, errors } = watched;
      await server.call({ do: 'inject', fault: { verb: 'watch', times: 1, do: 'stall' } });
      await watched.drop();
      await watched.watches(2);
      await server.create('b');
      await until('an event', () => told.includes('add b'));
      // the second one asks for the version that the server has reached
      expect(server.count('list')).toBe(2);
      expect(errors).toEqual([]);
      await watched.equal();
    });

    test('the initial objects as a stream: then events on the same connection', async () => {
      const watched = await (await begin({ names: ['a', 'b'], watchList: true })).synced();
      const { server, told } = watched;
      expect(told).toEqual(['initial a', 'initial b']);
      await server.create('c');
      await until('an event', () => told.includes('add c'));
      expect(server.requests).toEqual(['list']);
      await watched.drop();
      await server.update('a', { n: '1' });
      await until('an event', () => told.includes('update a'));
      expect(server.requests).toEqual(['list', 'watch']);
      await watched.equal();
    });

    test('a stream of initial objects that is cut begins again', async () => {
      const names = ['a', 'b', 'c'];
      const server = await CaseServer.start(claims);
      for (const name of names) await server.create(name);
      for (const afterBytes of [0, 1, 100, 400, 600]) {
        await server.call({
          do: 'inject',
          fault: { verb: 'watch', times: 1, do: 'drop', afterBytes },
        });
      }
      const watched = new WatchedInformer(server, { watchList: true });
      open.push(watched);
      await watched.synced();
      expect(watched.told).toEqual(names.map((name) => `initial ${name}`));
      await watched.equal();
    });

    test('a gzip stream of initial objects leads to a complete cache', async () => {
      const watched = await begin({
        names: ['a', 'b', 'c'],
        watchList: true,
        compressed: true,
        idleTimeout: 20_000,
      });
      await watched.synced();
      await watched.server.create('d');
      await until('an event', () => watched.told.includes('add d'));
      await watched.equal();
      expect(watched.told).toEqual(['initial a', 'initial b', 'initial c', 'add d']);
    });

    // Story: kube-apiserver compresses watches from 1.37 on, a gzip member for each flush, and
    // pages cannot disable it.
    test('a watch in many gzip members loses nothing', async () => {
      const watched = await (
        await begin({ compressed: true, idleTimeout: 20_000, names: ['a'] })
      ).synced();
      const { server, told, errors } = watched;
      for (const name of ['b', 'c', 'd']) await server.create(name);
      await until('three more objects', () => told.length >= 4);
      expect(told).toEqual(['initial a', 'add b', 'add c', 'add d']);
      await watched.equal();
      const asked = {
        lists: server.count('list') > 1,
        watches: server.count('watch') > 1,
        errors: errors.length > 0,
      };
      switch (claims.gzipMembers) {
        case 'all': // as if nothing were compressed
          expect(asked).toEqual({ lists: false, watches: false, errors: false });
          return;
        // the rest is lost until silence or the server ends the watch; then it resumes from the
        // last version
        case 'first':
          expect(asked).toEqual({ lists: true, watches: true, errors: false });
          return;
        // the bytes arrive compressed: no JSON, which is reported, and repaired by lists
        case 'none':
          expect(asked).toMatchObject({ lists: true, errors: true });
          expect(errors[0]).toMatchObject({ code: 'DECODE' });
      }
    });

    test('a refused connection and a reset one are what this fetch can tell', async () => {
      const { server } = await (await begin()).synced();
      const kind = async (): Promise<string> => {
        const error: unknown = await fetchTransport(server.url)
          .request({ method: 'GET', path: '/version' })
          .catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(TransportError);
        return (error as TransportError).kind;
      };
      await server.call({ do: 'inject', fault: { path: '/version', do: 'reset' } });
      const reset = await kind();
      await server.call({ do: 'takeBack' });
      await server.call({ do: 'inject', fault: { do: 'refuse' } });
      const refused = await kind();
      await server.call({ do: 'takeBack' });
      expect([refused, reset]).toEqual(
        claims.refusedAndReset === 'apart' ? ['refused', 'reset'] : ['unknown', 'unknown'],
      );
    });
  });
}
