/**
 * Profiles over HTTP: their contents and who may request them. controller-runtime: manager_test.go,
 * "should serve pprof endpoints".
 */
import { request } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { ManagerOptions } from 'capstan/manager';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { managerOf, startManager } from './recording-runnables.ts';

async function profiled(options: Partial<ManagerOptions> = {}) {
  const { manager, clock } = managerOf({ profiling: { bindAddress: '127.0.0.1:0' }, ...options });
  const { stop, done } = startManager(manager, clock);
  onTestFinished(async () => {
    stop();
    await done.catch(() => undefined);
  });
  await manager.serving();
  const url = `${manager.url('profiling')}/debug/pprof`;
  const get = (path: string, init?: RequestInit) =>
    fetch(`${url}${path}`, { headers: { connection: 'close' }, ...init });
  /** Advances the clock by the seconds of a profile as soon as it waits for them. */
  const elapse = async (seconds: number): Promise<void> => {
    while (clock.timers() === 0) await new Promise(setImmediate);
    clock.step(seconds * 1000);
  };
  return { manager, clock, url, get, elapse, stop, done };
}

describe('profiles', () => {
  test('are a CPU profile of the requested seconds', async () => {
    const { get, elapse } = await profiled();
    const answer = get('/profile?seconds=5');
    await elapse(5);
    const response = await answer;
    expect(response.headers.get('content-disposition')).toBe(
      'attachment; filename="capstan.cpuprofile"',
    );
    const profile = await response.json();
    expect(profile.nodes[0].callFrame.functionName).toBe('(root)');
    expect(profile.endTime).toBeGreaterThan(profile.startTime);
  });

  test('are the allocations of the requested seconds', async () => {
    const { get, elapse } = await profiled();
    const answer = get('/heap?seconds=1');
    await elapse(1);
    expect((await (await answer).json()).head.callFrame.functionName).toBe('(root)');
  });

  test('are all that is in memory', async () => {
    const { get } = await profiled();
    const response = await get('/heap');
    expect(response.headers.get('content-disposition')).toBe(
      'attachment; filename="capstan.heapsnapshot"',
    );
    let start = '';
    let bytes = 0;
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      if (start === '') start = new TextDecoder().decode(chunk);
      bytes += chunk.length;
    }
    expect(start).toMatch(/^\{"snapshot":\{"meta":/);
    expect(bytes).toBeGreaterThan(1e6);
  });

  test('are listed', async () => {
    const { get } = await profiled();
    expect(await (await get('/')).text()).toContain('profile?seconds=30');
    expect((await get('/cmdline')).status).toBe(404);
  });

  test.each(['0', '-1', 'a', '601', ''])('are refused for %s seconds', async (seconds) => {
    const { get } = await profiled();
    const response = await get(`/profile?seconds=${seconds}`);
    expect([response.status, await response.text()]).toEqual([
      400,
      '"seconds" expected a number above 0 and at most 600\n',
    ]);
  });

  test('are taken one at a time, and again when one is done', async () => {
    const { get, elapse, clock } = await profiled();
    const first = get('/profile');
    while (clock.timers() === 0) await new Promise(setImmediate);
    expect((await get('/heap')).status).toBe(409);
    await elapse(30);
    expect((await first).status).toBe(200);
    const second = get('/profile?seconds=1');
    await elapse(1);
    expect((await second).status).toBe(200);
  });

  // Bun's inspector does not sample the heap, and Deno's needs --allow-sys: the response was 500
  // without an explanation.
  test.each(['/heap?seconds=1', '/profile'])(
    'are said not to be there where the runtime refuses: %s',
    async (path) => {
      const post = vi
        .spyOn(Session.prototype, 'post')
        .mockRejectedValue(new Error('not supported'));
      onTestFinished(() => post.mockRestore());
      const { get, elapse } = await profiled();
      const refused = await get(path);
      expect([refused.status, await refused.text()]).toEqual([
        501,
        'this runtime cannot record it, or needs a permission: not supported\n',
      ]);
      post.mockRestore();
      const answer = get('/profile?seconds=1');
      await elapse(1);
      expect((await answer).status).toBe(200);
    },
  );

  test('end when the client disconnects', async () => {
    const { get, clock } = await profiled();
    const leave = new AbortController();
    const answer = get('/profile', { signal: leave.signal }).catch((error: Error) => error.name);
    while (clock.timers() === 0) await new Promise(setImmediate);
    leave.abort();
    expect(await answer).toBe('AbortError');
    while (clock.timers() > 0) await new Promise(setImmediate);
    const response = get('/heap?seconds=1');
    while (clock.timers() === 0) await new Promise(setImmediate);
    clock.step(1000);
    expect((await response).status).toBe(200);
  });

  // The manager waited for the profile until its grace period was over, and failed.
  test('end with the manager, and have what was recorded (should stop serving…)', async () => {
    const { get, clock, stop, done } = await profiled({ gracefulShutdownTimeout: 1000 });
    const answer = get('/profile?seconds=600');
    while (clock.timers() === 0) await new Promise(setImmediate);
    stop();
    expect((await (await answer).json()).nodes[0].callFrame.functionName).toBe('(root)');
    await done;
    while (clock.timers() > 0) await new Promise(setImmediate);
    await expect(get('/')).rejects.toThrow();
  });

  test('are refused for the name of another host unless that is allowed', async () => {
    const statusFor = (url: string, host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        request(`${url}/`, { headers: { host, connection: 'close' } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .once('error', reject)
          .end();
      });
    const local = await profiled();
    expect(await statusFor(local.url, 'rebound.example')).toBe(403);
    expect(await statusFor(local.url, 'localhost:1')).toBe(200);
    const remote = await profiled({ profiling: { bindAddress: ':0', allowRemote: true } });
    expect(await statusFor(remote.url, 'operator.example')).toBe(200);
  });
});
