/** Health checks as text. The counterparts of controller-runtime's pkg/healthz/healthz_test.go. */
import { type Checker, HTTPServer, healthz } from 'capstan/manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HealthHandler } from '../../bindings/manager/healthz.ts';
import { targetOf } from '../../bindings/manager/router.ts';

const fails: Checker = () => {
  throw new Error('blech');
};

async function ask(path: string, checks: Record<string, Checker>) {
  const handler = new HealthHandler();
  for (const [name, check] of Object.entries(checks)) handler.set(name, check);
  const server = new HTTPServer({
    bindAddress: '127.0.0.1:0',
    handler: (request, response) => handler.serve(targetOf(request).path, request, response),
  });
  const stopper = new AbortController();
  const done = server.start({ signal: stopper.signal });
  onTestFinished(async () => {
    stopper.abort();
    await done;
  });
  await server.listening();
  const response = await fetch(`${server.url}${path}`, { headers: { connection: 'close' } });
  return {
    status: response.status,
    text: await response.text(),
    type: response.headers.get('content-type'),
  };
}

describe('the aggregated endpoint', () => {
  test('is healthy if all checks succeed', async () => {
    const type = 'text/plain; charset=utf-8';
    expect(await ask('/', { ok1: healthz.ping, ok2: healthz.ping })).toEqual({
      status: 200,
      text: 'ok',
      type,
    });
  });

  test('is unhealthy if at least one check fails', async () => {
    expect((await ask('/', { ok1: healthz.ping, bad1: fails })).status).toBe(500);
    expect((await ask('/', { late: () => Promise.reject(new Error('blech')) })).status).toBe(500);
  });

  test('ignores excluded checks when it determines health', async () => {
    expect((await ask('/?exclude=bad1', { ok1: healthz.ping, bad1: fails })).status).toBe(200);
    expect((await ask('/?exclude=bad1&exclude=bad2', { bad1: fails, bad2: fails })).status).toBe(
      200,
    );
  });

  test('passes with a warning if an excluded check does not exist', async () => {
    expect(await ask('/?verbose&exclude=ok2', { ok1: healthz.ping })).toMatchObject({
      status: 200,
      text:
        '[+]ok1 ok\nwarn: some health checks cannot be excluded: no ' +
        'matches for "ok2"\nhealthz check passed\n',
    });
  });

  test('lists all checks with ?verbose', async () => {
    expect((await ask('/?verbose=true', { ok2: healthz.ping, ok1: healthz.ping })).text).toBe(
      '[+]ok1 ok\n[+]ok2 ok\nhealthz check passed\n',
    );
    expect((await ask('/?verbose&exclude=bad', { ok: healthz.ping, bad: fails })).text).toBe(
      '[+]bad excluded: ok\n[+]ok ok\nhealthz check passed\n',
    );
  });

  test('lists all checks if one fails, without the reason', async () => {
    expect((await ask('/?verbose=false', { ok1: healthz.ping, bad1: fails })).text).toBe(
      '[-]bad1 failed: reason withheld\n[+]ok1 ok\nhealthz check failed\n',
    );
    expect((await ask('/', { bad1: fails })).text).not.toContain('blech');
  });

  test('has ping if there are no other checks', async () => {
    expect((await ask('/?verbose', {})).text).toBe('[+]ping ok\nhealthz check passed\n');
  });
});

describe('the per-check endpoints', () => {
  test('are ok if the requested check is healthy', async () => {
    expect(await ask('/okcheck', { okcheck: healthz.ping })).toMatchObject({
      status: 200,
      text: 'ok',
    });
  });

  test('are an error if the requested check is unhealthy, with the reason', async () => {
    expect(await ask('/failcheck', { failcheck: fails })).toMatchObject({
      status: 500,
      text: 'internal server error: blech\n',
    });
  });

  test('ignore other checks', async () => {
    expect((await ask('/okcheck', { failcheck: fails, okcheck: healthz.ping })).status).toBe(200);
    expect((await ask('/failcheck', { failcheck: fails, okcheck: healthz.ping })).status).toBe(500);
  });

  test('are not found if there is no such check', async () => {
    expect((await ask('/doesnotexist', { check: healthz.ping })).status).toBe(404);
    expect((await ask('/__proto__', { check: healthz.ping })).status).toBe(404);
  });

  // A client encodes such a name with percent signs, and got 404.
  test('may have any name, percent-encoded by the client', async () => {
    const checks = { größe: fails, 'a%b': healthz.ping, 'poststarthook/x': healthz.ping };
    expect((await ask('/größe', checks)).text).toBe('internal server error: blech\n');
    for (const path of ['/a%25b', '/poststarthook/x', '/poststarthook%2Fx'])
      expect((await ask(path, checks)).text, path).toBe('ok');
    for (const path of ['/a%b', '/%', '/%ff', '/poststarthook'])
      expect((await ask(path, checks)).status).toBe(404);
  });

  // Each slash of a run was tried as the first of those at the end: one request of 16 KB took a
  // quarter of a second, and any client could send it.
  test('are not found quickly, however many slashes there are', async () => {
    const handler = new HealthHandler();
    const answers: number[] = [];
    const response = { writeHead: (status: number) => answers.push(status), end: () => undefined };
    const before = process.cpuUsage();
    for (let i = 0; i < 20; i++)
      await handler.serve(`/a${'/'.repeat(16_000)}b`, {} as never, response as never);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2500); // 5 s with the bug
    expect(answers).toEqual(Array(20).fill(404));
    expect((await ask('//check//', { check: healthz.ping })).text).toBe('ok');
  });

  test('have ping if there are no other checks', async () => {
    expect((await ask('/ping', {})).text).toBe('ok');
    expect((await ask('/ping', { check: healthz.ping })).status).toBe(404);
  });
});

describe('healthz.unless', () => {
  test('passes as long as there is no problem', async () => {
    let problem: string | undefined = 'no database';
    const check = healthz.unless(() => problem);
    expect((await ask('/db', { db: check })).text).toBe('internal server error: no database\n');
    problem = undefined;
    expect((await ask('/db', { db: check })).text).toBe('ok');
  });
});
