/** How transports around another one end: both with the other one, and once for each call. */
import type { Transport } from 'capstan/cache';
import { instrumentTransport, RestClientMetrics, rateLimitedTransport } from 'capstan/client';
import { describe, expect, test } from 'vitest';

const request: Transport['request'] = () => Promise.reject(new Error('not called'));

describe.each([
  [
    'instrumentTransport',
    (inner: Transport) => instrumentTransport(inner, new RestClientMetrics()),
  ],
  ['rateLimitedTransport', (inner: Transport) => rateLimitedTransport(inner)],
])('%s', (_, around) => {
  test('closes the other transport, by close() and by await using', async () => {
    let closed = 0;
    const transport = around({ request, close: async () => void closed++ });
    await transport.close?.();
    expect(closed).toBe(1);
    {
      await using _used = around({ request, close: async () => void closed++ });
      expect(closed).toBe(1);
    }
    expect(closed).toBe(2);
  });

  test('rejects with the error of the other transport', async () => {
    const failure = new Error('cannot close');
    const transport = around({ request, close: () => Promise.reject(failure) });
    await expect(transport.close?.()).rejects.toBe(failure);
  });

  test('closes one that has no close(), without an error', async () => {
    await expect(around({ request }).close?.()).resolves.toBeUndefined();
  });
});
