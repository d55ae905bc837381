/** Limits of reading an answer, on a fake clock. */
import { FakeClock } from 'capstan';
import { defineResource, resourceOf, type Transport } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { expect, test } from 'vitest';

const ConfigMap = defineResource<object>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

/** Answers with this status, and sends a chunk at each interval. */
const trickling = (clock: FakeClock, status: number, chunk: string, ms: number): Transport => ({
  request: async () => ({
    status,
    headers: new Headers(),
    body: (async function* () {
      for (;;) {
        yield new TextEncoder().encode(chunk);
        await new Promise<void>((resolve) => clock.setTimer(resolve, ms));
      }
    })(),
  }),
});

// Only silence was limited, so that a page of a proxy could come byte by byte for days.
test('the body of a failure that comes byte by byte is awaited for 10 s in total', async () => {
  const clock = new FakeClock();
  const client = newClient({ transport: trickling(clock, 502, 'x', 1000), clock });
  let failure: unknown;
  client.list(ConfigMap).catch((error: unknown) => {
    failure = error;
  });
  await clock.run(9999);
  expect(failure).toBeUndefined();
  await clock.run(1);
  expect(failure).toMatchObject({ status: 502, message: expect.stringContaining('xxxxxxxxxx') });
});

test('the body of a failure is read up to 64 KiB', async () => {
  const clock = new FakeClock();
  const transport = trickling(clock, 502, 'x'.repeat(65_536), 1000);
  await expect(newClient({ transport, clock }).list(ConfigMap)).rejects.toMatchObject({
    status: 502,
  });
});

test('a discovery document is read up to 256 MiB', async () => {
  const clock = new FakeClock();
  let read = 0;
  const chunk = new Uint8Array(2 ** 24).fill(0x20);
  const transport: Transport = {
    request: async () => ({
      status: 200,
      headers: new Headers(),
      body: (async function* () {
        for (;;) {
          read += chunk.length;
          yield chunk;
        }
      })(),
    }),
  };
  const asked = resourceOf(transport, { group: '', version: 'v1', plural: 'pods' }, { clock });
  await expect(asked).rejects.toMatchObject({ code: 'TOO_LARGE' });
  expect(read).toBe(2 ** 28 + 2 ** 24);
});

test.each([0, -1, 1.5, '1', null, Number.NaN])('%j is no maxAnswerBytes', (maxAnswerBytes) => {
  const transport = trickling(new FakeClock(), 200, '', 1);
  expect(() => newClient({ transport, maxAnswerBytes: maxAnswerBytes as never })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});
