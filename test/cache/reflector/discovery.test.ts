import { ListWatch, resourceOf, StatusError } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { confirmAbsence, isUnserved } from '../../../bindings/cache/reflector/discovery.ts';
import { answer } from '../../helpers/cache/live-server.ts';
import { Replies, status } from '../../helpers/cache/scripted-server.ts';
import { ConfigMaps } from '../../helpers/resources.ts';

const json = (body: object) => () => answer(200, JSON.stringify(body));
const page404 = () => answer(404, '404 page not found\n');
const resources = (...names: string[]) =>
  json({
    kind: 'APIResourceList',
    resources: names.map((name) => ({ name, kind: 'Widget', namespaced: false })),
  });

describe('resourceOf', () => {
  test('reads kind and scope of a resource that is known by name', async () => {
    const server = new Replies(resources('other', 'widgets', 'widgets/status'));
    const widgets = await resourceOf(server, { group: 'e.x', version: 'v1', plural: 'widgets' });
    expect(widgets).toEqual({
      group: 'e.x',
      version: 'v1',
      kind: 'Widget',
      plural: 'widgets',
      namespaced: false,
      indexers: {},
    });
    expect(server.requests.map(({ path }) => path)).toEqual(['/apis/e.x/v1']);
    expect(new ListWatch(server, widgets).describe()).toBe('e.x/v1 Widget');
  });

  test('uses the preferred version by default, and v1 for the core group', async () => {
    const server = new Replies(
      json({ kind: 'APIGroup', preferredVersion: { version: 'v2' } }),
      resources('widgets'),
    );
    expect((await resourceOf(server, { group: 'e.x', plural: 'widgets' })).version).toBe('v2');
    expect(server.requests.map(({ path }) => path)).toEqual(['/apis/e.x', '/apis/e.x/v2']);
    const core = new Replies(resources('pods'));
    expect((await resourceOf(core, { group: '', plural: 'pods' })).version).toBe('v1');
    expect(core.requests.map(({ path }) => path)).toEqual(['/api/v1']);
  });

  test('rejects with a 404 for an unserved resource, and with other errors', async () => {
    const name = { group: 'e.x', version: 'v1', plural: 'widgets' };
    await expect(resourceOf(new Replies(resources('other')), name)).rejects.toMatchObject({
      status: 404,
      reason: 'NotFound',
    });
    await expect(resourceOf(new Replies(page404), name)).rejects.toMatchObject({ status: 404 });
    await expect(resourceOf(new Replies(json({ kind: 'Other' })), name)).rejects.toMatchObject({
      code: 'DECODE',
    });
    await expect(resourceOf(new Replies(() => answer(200, '<html>')), name)).rejects.toMatchObject({
      code: 'DECODE',
    });
    await expect(resourceOf(new Replies(), { group: 'e.x', plural: 'a/b' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  // "../api" changed the path, over fetch and through proxies.
  test.each([
    { group: '../api', version: 'v1', plural: 'secrets' },
    { group: '..', plural: 'secrets' },
    { group: 'a%2fb', plural: 'secrets' },
    { group: 'e.x', version: '..', plural: 'secrets' },
  ])('refuses a group and a version that are not a path segment: %j', async (name) => {
    const server = new Replies(resources('secrets'));
    await expect(resourceOf(server, name)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(server.requests).toEqual([]);
  });

  test('ends with its signal', async () => {
    const signal = AbortSignal.abort();
    const asking = resourceOf(new Replies(resources()), { group: '', plural: 'pods' }, { signal });
    await expect(asking).rejects.toMatchObject({ code: 'ABORTED' });
  });
});

describe('whether a resource is gone', () => {
  const widgets = { ...ConfigMaps, group: 'e.x', version: 'v1', plural: 'widgets' };
  const ask = async (error: unknown, ...replies: ConstructorParameters<typeof Replies>) => {
    const server = new Replies(...replies);
    const caller = { clock: new FakeClock(), signal: new AbortController().signal };
    return [
      await confirmAbsence(server, widgets, error, caller),
      server.requests.map(({ path }) => path),
    ];
  };
  const refusal = (code: number, reason: string, details?: object) =>
    new StatusError(code, { ...status(code, reason), ...(details && { details }) }, 'list');
  const bare = new StatusError(404, { message: '404 page not found', code: 404 }, 'list');

  const groups = (...served: [name: string, ...versions: string[]][]) =>
    json({
      kind: 'APIGroupList',
      groups: served.map(([name, ...versions]) => ({
        name,
        versions: versions.map((version) => ({ version })),
      })),
    });

  test('is true for a Status NotFound of the collection only', async () => {
    expect(await ask(refusal(404, 'NotFound', {}), groups(['apps', 'v1']))).toEqual([
      true,
      ['/apis'],
    ]);
    expect(await ask(refusal(404, 'NotFound', { name: 'ns', kind: 'namespaces' }))).toEqual([
      false,
      [],
    ]);
    expect(await ask(refusal(404, ''))).toEqual([false, []]);
    expect(await ask(refusal(403, 'Forbidden'))).toEqual([false, []]);
    expect(await ask(new Error('anything else'))).toEqual([false, []]);
  });

  test('is true by discovery after a plain page, as kube-apiserver sends it', async () => {
    const both = ['/apis', '/apis/e.x/v1'];
    expect(await ask(bare, groups(['apps', 'v1']))).toEqual([true, ['/apis']]);
    expect(await ask(bare, groups(['e.x', 'v1']), resources('others'))).toEqual([true, both]);
    expect(await ask(bare, groups(['e.x', 'v1']), resources('widgets'))).toEqual([false, both]);
    // It went between two answers.
    expect((await ask(bare, groups(['e.x', 'v1']), page404, groups()))[0]).toBe(true);
  });

  // The last step of a migration, which stops serving v1, was notified as the deletion of every
  // object.
  test('is false while another version has the resource, or may have it', async () => {
    const all = ['/apis', '/apis/e.x/v1', '/apis/e.x/v2'];
    for (const refused of [bare, refusal(404, 'NotFound', {})]) {
      expect(await ask(refused, groups(['e.x', 'v2']), resources('widgets'))).toEqual([
        false,
        ['/apis', all[2]],
      ]);
      const group = groups(['e.x', 'v1', 'v2']);
      expect(await ask(refused, group, resources('others'), resources('widgets'))).toEqual([
        false,
        all,
      ]);
      expect(await ask(refused, group, resources('others'), () => answer(503, 'oh'))).toEqual([
        false,
        all,
      ]);
      expect((await ask(refused, group, resources('others'), page404, group))[0]).toBe(false);
      expect(await ask(refused, group, resources('others'), resources())).toEqual([true, all]);
      expect((await ask(refused, page404))[0]).toBe(false);
    }
  });

  test('differs from whether it is served in this version', async () => {
    const caller = { clock: new FakeClock(), signal: new AbortController().signal };
    const served = async (...replies: ConstructorParameters<typeof Replies>) =>
      !(await isUnserved(new Replies(...replies), widgets, caller));
    expect(await served(resources('others'))).toBe(false);
    expect(await served(page404, groups(['e.x', 'v2']))).toBe(false);
    expect(await served(page404, groups(['e.x', 'v1', 'v2']))).toBe(true);
    expect(await served(page404)).toBe(true);
  });

  test('is false for the answers of a proxy', async () => {
    expect((await ask(bare, page404))[0]).toBe(false);
    expect((await ask(bare, () => answer(200, '<html>')))[0]).toBe(false);
    expect((await ask(bare, json({})))[0]).toBe(false);
    expect((await ask(bare, json({ kind: 'Other', groups: [] })))[0]).toBe(false);
    expect((await ask(bare, json({ kind: 'APIGroupList', groups: [null] })))[0]).toBe(false);
    expect((await ask(bare, () => answer(500, 'oh')))[0]).toBe(false);
    expect((await ask(bare, groups(['e.x', 'v1']), () => answer(200, '{}')))[0]).toBe(false);
  });
});
