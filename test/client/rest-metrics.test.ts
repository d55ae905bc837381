/**
 * Metrics of requests, measured at the transport. controller-runtime:
 * pkg/metrics/client_go_adapter_test.go.
 */
import { fetchTransport, type Transport, TransportError } from 'capstan/cache';
import { instrumentTransport, RestClientMetrics } from 'capstan/client';
import { httpTransport } from 'capstan/client-node';
import { ApiServer } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseText } from '../helpers/prometheus-text.ts';

const bytes = new TextEncoder().encode('{}');

/** Answers after a second, with a body that takes two more. */
function slowTransport(clock: FakeClock, more: Partial<Transport> = {}): Transport {
  return {
    async request() {
      clock.step(1000);
      return {
        status: 200,
        headers: { get: () => null },
        body: (async function* () {
          clock.step(2000);
          yield bytes;
          yield bytes;
        })(),
      };
    },
    host: () => 'api:6443',
    ...more,
  };
}

function measured(transport: (clock: FakeClock) => Transport, options = {}) {
  const clock = new FakeClock();
  const metrics = new RestClientMetrics();
  const under = transport(clock);
  return {
    clock,
    metrics,
    under,
    instrumented: instrumentTransport(under, metrics, { clock, ...options }),
  };
}

const seconds = (metrics: RestClientMetrics): number | undefined =>
  parseText(metrics.text())
    .get('rest_client_request_duration_seconds')
    ?.samples.find(({ name }) => name.endsWith('_sum'))?.value;

describe('a measured transport', () => {
  test('counts requests by code, method and host', async () => {
    const { instrumented, metrics } = measured(slowTransport);
    for (const method of ['GET', 'GET', 'PUT']) await instrumented.request({ method, path: '/' });
    expect(parseText(metrics.text()).get('rest_client_requests_total')?.samples).toEqual([
      {
        name: 'rest_client_requests_total',
        labels: { code: '200', host: 'api:6443', method: 'GET' },
        value: 2,
      },
      {
        name: 'rest_client_requests_total',
        labels: { code: '200', host: 'api:6443', method: 'PUT' },
        value: 1,
      },
    ]);
  });

  test("measures a request until its body is read, in Kubernetes' buckets", async () => {
    const { instrumented, metrics } = measured(slowTransport);
    const { body } = await instrumented.request({ method: 'GET', path: '/' });
    expect(seconds(metrics)).toBeUndefined();
    for await (const _ of body);
    expect(seconds(metrics)).toBe(3);
    const { samples, type } = parseText(metrics.text()).get(
      'rest_client_request_duration_seconds',
    ) ?? { samples: [] };
    expect(type).toBe('histogram');
    expect(samples.flatMap(({ labels: { le } }) => (le === undefined ? [] : [le]))).toEqual([
      '0.005',
      '0.025',
      '0.1',
      '0.25',
      '0.5',
      '1',
      '2',
      '4',
      '8',
      '15',
      '30',
      '60',
      '+Inf',
    ]);
    expect(samples[0]?.labels).toEqual({ host: 'api:6443', verb: 'GET', le: '0.005' });
  });

  test('measures a request once, however long its reader goes on after the end', async () => {
    const { instrumented, metrics } = measured(slowTransport);
    const iterator = (await instrumented.request({ method: 'GET', path: '/' })).body[
      Symbol.asyncIterator
    ]();
    for (let i = 0; i < 5; i++) await iterator.next();
    await iterator.return?.();
    expect(seconds(metrics)).toBe(3);
  });

  test('measures one whose reader leaves, and one that is cut', async () => {
    const left = measured(slowTransport);
    for await (const _ of (await left.instrumented.request({ method: 'GET', path: '/' })).body)
      break;
    expect(seconds(left.metrics)).toBe(3);
    const cut = measured((clock) => ({
      async request() {
        return {
          status: 200,
          headers: { get: () => null },
          // Not a generator: it fails before its first byte.
          body: {
            [Symbol.asyncIterator]: () => ({
              next: () => Promise.reject(new TransportError('reset', `cut at ${clock.now()}`)),
            }),
          },
        };
      },
    }));
    const { body } = await cut.instrumented.request({ method: 'GET', path: '/' });
    await expect(body[Symbol.asyncIterator]().next()).rejects.toThrow('cut');
    expect(seconds(cut.metrics)).toBe(0);
  });

  test('counts watches, does not time them, and passes their bodies unchanged', async () => {
    let body: unknown;
    const { instrumented, metrics } = measured((clock) =>
      slowTransport(clock, {
        async request() {
          const response = {
            status: 200,
            headers: { get: () => null },
            body: (async function* () {})(),
          };
          body = response.body;
          return response;
        },
      }),
    );
    const response = await instrumented.request({
      method: 'GET',
      path: '/',
      query: { watch: 'true' },
    });
    expect(response.body).toBe(body);
    for await (const _ of response.body);
    expect(seconds(metrics)).toBeUndefined();
    expect(metrics.text()).toContain(
      'rest_client_requests_total{code="200",host="api:6443",method="GET"} 1',
    );
  });

  test('counts a request without an answer as an error, and rethrows it', async () => {
    const failure = new TransportError('refused', 'nobody');
    const { instrumented, metrics } = measured(() => ({ request: () => Promise.reject(failure) }));
    await expect(instrumented.request({ method: 'GET', path: '/' })).rejects.toBe(failure);
    expect(metrics.text()).toContain(
      'rest_client_requests_total{code="<error>",host="none",method="GET"} 1',
    );
    expect(seconds(metrics)).toBe(0);
  });

  test("reads the host of the package's transports", async () => {
    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    const { host } = new URL(server.url);
    for (const transport of [fetchTransport(server.url), httpTransport(server.url)]) {
      const metrics = new RestClientMetrics();
      const { body } = await instrumentTransport(transport, metrics).request({
        method: 'GET',
        path: '/api/v1/pods',
      });
      for await (const _ of body);
      expect(metrics.text()).toContain(
        `rest_client_requests_total{code="200",host="${host}",method="GET"} 1`,
      );
      await transport.close?.();
    }
  });

  test('rejects what is not a transport', () => {
    expect(() => instrumentTransport({} as Transport, new RestClientMetrics())).toThrow(
      '"transport.request"',
    );
  });
});
