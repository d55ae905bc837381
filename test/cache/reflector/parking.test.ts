/**
 * A resource that is no longer served, as after the deletion of its CustomResourceDefinition, and
 * served again later; and 404s with another meaning.
 */
import {
  DeletedFinalStateUnknown,
  ListWatch,
  SharedIndexInformer,
  type TransportRequest,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, type FakeResponse } from '../../helpers/cache/live-server.ts';
import {
  bookmark,
  configMapAt,
  event,
  listBody,
  Replies,
  type Reply,
  status,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { collectErrorValues } from '../../helpers/reported-errors.ts';
import { ConfigMaps } from '../../helpers/resources.ts';
import { reflect as reflectAny } from './run-reflector.ts';

const Custom = { ...ConfigMaps, group: 'example.com' };
const own = (text: string): string =>
  text.replaceAll('"apiVersion":"v1"', '"apiVersion":"example.com/v1"');
const reflect: typeof reflectAny = (server, options) =>
  reflectAny(server, { resource: Custom, ...options });

/** Its answers are those of a custom kind; discovery, which is not counted, has no group. */
class CustomReplies extends Replies {
  override async request(request: TransportRequest): Promise<FakeResponse> {
    if (request.path === '/apis')
      return answer(200, JSON.stringify({ kind: 'APIGroupList', groups: [] }));
    return super.request(request);
  }
}

const reported = collectErrorValues();

const lists =
  (version: string, ...names: string[]): Reply =>
  () =>
    answer(
      200,
      own(
        listBody(
          version,
          names.map((name) => configMapAt(name, version)),
        ),
      ),
    );
const holds: Reply = ({ signal }) => stream([], 'hold', signal);
const lost: Reply = () =>
  stream([own(bookmark('6')), event('ERROR', status(500, 'InternalError'))], 'close');
const gone: Reply = () => answer(404, JSON.stringify(status(404, 'NotFound', { details: {} })));
const page: Reply = () => answer(404, '404 page not found\n');
const discovery =
  (...names: string[]): Reply =>
  () =>
    answer(
      200,
      JSON.stringify({ kind: 'APIResourceList', resources: names.map((name) => ({ name })) }),
    );

describe('a resource that is gone', () => {
  test('empties the store once, and is watched again once it is served', async () => {
    const server = new CustomReplies(
      lists('5', 'a', 'b'),
      lost,
      gone,
      gone,
      gone,
      lists('9', 'c'),
      holds,
    );
    const { clock, names, told, reflector, failures, stop } = await reflect(server, {
      watchList: false,
    });
    expect(names()).toEqual(['a', 'b']);
    await clock.run(800);
    expect([names(), reflector.status().state]).toEqual([[], 'parked']);
    await clock.run(1600 + 3200 + 6400);
    expect([names(), reflector.status().state]).toEqual([['c'], 'watching']);
    expect(told()).toEqual(['server → relist', ...Array(3).fill('server → park')]);
    expect(failures.map(({ afterMs }) => afterMs)).toEqual([800, 1600, 3200, 6400]);
    // Never older than the last version, also after the pause.
    expect(server.asked().slice(2, 6)).toEqual(Array(4).fill('list 6'));
    await stop();
  });

  test('gives handlers one tombstone for each object, and later additions', async () => {
    const clock = new FakeClock();
    const server = new CustomReplies(
      lists('5', 'a', 'b'),
      lost,
      gone,
      gone,
      lists('9', 'a'),
      holds,
    );
    const options = {
      clock,
      watchList: false,
      random: () => 0,
      watchErrorHandler: () => undefined,
    };
    const informer = new SharedIndexInformer(new ListWatch(server, Custom), options);
    const told: unknown[] = [];
    informer.addEventHandler({
      onAdd: ({ metadata }) => told.push(`add ${metadata.name}`),
      onDelete: (object) =>
        told.push(object instanceof DeletedFinalStateUnknown ? `tombstone ${object.key}` : object),
    });
    const running = informer.run();
    await clock.run(60_000);
    expect(told).toEqual(['add a', 'add b', 'tombstone default/a', 'tombstone default/b', 'add a']);
    expect(informer.hasSynced()).toBe(true);
    await informer.stop();
    await running;
  });

  test('is requested by lists only while it is gone, and as a watch list again later', async () => {
    const begin: Reply = () =>
      stream([own(bookmark('5', 'true')), event('ERROR', status(500, 'InternalError'))], 'close');
    const server = new CustomReplies(begin, gone, gone, gone, lists('9', 'a'), lost, holds);
    const { clock, reflector, stop } = await reflect(server, { watchList: true });
    await clock.run(800);
    expect(server.asked()).toEqual(['stream ', 'stream 5', 'list 5']);
    expect(reflector.status().state).toBe('parked');
    await clock.run(1600 + 3200 + 6400 + 12_800);
    expect(server.asked().slice(3)).toEqual(['list 5', 'list 5', 'watch 9', 'stream 6']);
    await stop();
  });

  test('is gone after a plain page and discovery without it', async () => {
    const server = new CustomReplies(lists('5', 'a'), lost, page, page, lists('9', 'a'), holds);
    const { clock, names, stop } = await reflect(server, { watchList: false });
    await clock.run(800);
    expect(names()).toEqual([]);
    await clock.run(1600 + 3200);
    expect(names()).toEqual(['a']);
    await stop();
  });

  const groups: Reply = () =>
    answer(
      200,
      JSON.stringify({
        kind: 'APIGroupList',
        groups: [{ name: 'example.com', versions: [{ version: 'v1' }] }],
      }),
    );

  test.each<[string, Reply[]]>([
    ['a page of a proxy, as the server says nothing of the kind', [page]],
    ['404 for discovery as well', [gone]],
    ['a Status, while discovery still has the resource', [gone, groups, discovery('configmaps')]],
    ['a page, while discovery still has the resource', [page, groups, discovery('configmaps')]],
    [
      'a Status for something with a name, such as a namespace',
      [() => answer(404, JSON.stringify(status(404, 'NotFound', { details: { name: 'ns' } })))],
    ],
    ['403', [() => answer(403, JSON.stringify(status(403, 'Forbidden')))]],
  ])('is not: %s', async (_, replies) => {
    const server = new Replies(lists('5', 'a'), lost, ...replies);
    const { clock, names, told, stop } = await reflect(server, { watchList: false });
    await clock.run(800);
    expect([names(), told().at(-1)?.endsWith('relist')]).toEqual([['a'], true]);
    await stop();
  });

  // A restarting proxy answered a list of ConfigMaps, and discovery, with a Status 404: handlers
  // got deletions of all of them.
  test.each([
    ['', 'v1'],
    ['apps', 'apps/v1'],
    ['rbac.authorization.k8s.io', 'rbac.authorization.k8s.io/v1'],
  ])(
    'is never assumed for a kind of the group "%s", however long it is answered with 404',
    async (group, apiVersion) => {
      const resource = { ...ConfigMaps, group };
      const items = [{ ...configMapAt('a', '5'), apiVersion }];
      const list: Reply = () =>
        answer(200, listBody('5', items).replaceAll('"v1"', JSON.stringify(apiVersion)));
      const again: Reply = ({ query, path }) =>
        query?.resourceVersion === undefined
          ? answer(200, JSON.stringify({ kind: 'APIGroupList', groups: [], path }))
          : answer(404, JSON.stringify(status(404, 'NotFound', { details: {} })));
      const server = new Replies(list, lost, gone, again, again, again, again, again, list, holds);
      const { clock, names, told, stop } = await reflect(server, { resource, watchList: false });
      await clock.run(800);
      expect(names()).toEqual(['a']);
      await clock.run(300_000);
      expect(names()).toEqual(['a']);
      expect(told().filter((each) => each === 'server → relist').length).toBe(7);
      expect(told()).not.toContain('server → park');
      await stop();
    },
  );

  test('is retried like other failures if it was never synced', async () => {
    const server = new CustomReplies(gone, gone, lists('9', 'a'), holds);
    const { clock, names, told, stop } = await reflect(server, { watchList: false });
    await clock.run(800 + 1600);
    expect([names(), told()]).toEqual([['a'], ['server → relist', 'server → relist']]);
    await stop();
  });

  test('does not empty the store with parkWhenGone: false, as in client-go', async () => {
    const server = new CustomReplies(lists('5', 'a'), lost, gone);
    const { clock, names, told, stop } = await reflect(server, {
      watchList: false,
      parkWhenGone: false,
    });
    await clock.run(60_000);
    expect([names(), new Set(told())]).toEqual([['a'], new Set(['server → relist'])]);
    await stop();
  });

  test('is reported once by the default handler', async () => {
    const denied: Reply = () => answer(403, JSON.stringify(status(403, 'Forbidden')));
    const server = new CustomReplies(lists('5', 'a'), lost, gone, gone, denied, gone);
    const { clock, stop } = await reflect(server, {
      watchList: false,
      watchErrorHandler: undefined,
    });
    await clock.run(300_000);
    expect(reported).toMatchObject([{ status: 500 }, { status: 404 }, { status: 403 }]);
    await stop();
  });
});
