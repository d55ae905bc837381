/** The metrics of informers: for a custom provider, and in the text format of Prometheus. */
import {
  type InformerMetricsProvider,
  InformerPrometheusProvider,
  type InformerReadings,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { heldHandler, setUp } from '../../helpers/cache/recording-handlers.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();

/** A provider that records its calls. */
function recorder() {
  const calls: string[] = [];
  let readings: InformerReadings | undefined;
  const provider: InformerMetricsProvider = {
    newQueuedItemMetric: (id) => ({
      set: (value) => calls.push(`${id.name} ${id.resource} queued ${value}`),
    }),
    newProcessingLatencyMetric: () => ({ observe: (seconds) => calls.push(`latency ${seconds}`) }),
    newStoreResourceVersionMetric: () => ({ set: (value) => calls.push(`version ${value}`) }),
    addReadings(_, given) {
      readings = given;
      return () => calls.push('end');
    },
  };
  return { calls, provider, readings: () => readings };
}

/** Processing a delta takes half a second, the time of one reading of the clock. */
class SlowClock extends FakeClock {
  slow = false;
  override now(): number {
    if (this.slow) this.step(500);
    return super.now();
  }
}

describe('a provider of metrics', () => {
  test('gets the queue length, the latency, and changes of the store version', async () => {
    const { calls, provider, readings } = recorder();
    const clock = new SlowClock();
    const { server, informer } = setUp({
      clock,
      name: 'web',
      metricsProvider: provider,
      shutdownTimeout: 0,
    });
    const held = heldHandler();
    informer.addEventHandler(held.handler, { name: 'mine' });
    expect(calls).toEqual([]);
    server.put('a');
    void informer.run();
    await clock.settle();
    expect(calls.splice(0)).toEqual([
      'web configmaps queued 1',
      'latency 0',
      'web configmaps queued 0',
      'version 1',
    ]);
    clock.slow = true;
    server.put('b');
    await clock.settle();
    expect(calls.splice(0)).toContain('latency 0.5');
    clock.slow = false;
    informer.addEventHandler(heldHandler().handler, { name: 'other' });
    informer.addEventHandler(heldHandler().handler, { name: 'other' });
    expect(readings()?.handlerBacklogs()).toEqual([
      { handler: 'mine', depth: 1 },
      { handler: 'other', depth: 4 },
    ]);
    await informer.stop();
    expect(calls).toEqual(['web configmaps queued 0', 'end']);
  });

  test('is not called for an informer without a name; its errors are reported', async () => {
    const nameless = recorder();
    const first = setUp({ metricsProvider: nameless.provider });
    first.server.put('a');
    void first.informer.run();
    await first.clock.settle();
    expect(nameless.calls).toEqual([]);
    await first.informer.stop();

    const throwing = () => {
      throw new Error('metrics');
    };
    for (const provider of [
      { ...recorder().provider, newQueuedItemMetric: throwing },
      { ...recorder().provider, newStoreResourceVersionMetric: () => ({ set: throwing }) },
    ]) {
      reported.length = 0;
      const { clock, server, informer } = setUp({ name: 'web', metricsProvider: provider });
      server.put('a');
      void informer.run();
      await clock.settle();
      expect(informer.getIndexer().listKeys()).toEqual(['default/a']);
      expect(reported).toEqual([
        { error: expect.objectContaining({ message: 'metrics' }), what: 'informer metrics' },
      ]);
      await informer.stop();
    }
  });

  test('whose metrics reject only causes reports', async () => {
    // Only thrown errors were caught; the rejection of an async provider ended the process.
    const away = () => Promise.reject(new Error('the backend is away'));
    const { clock, server, informer } = setUp({
      name: 'web',
      metricsProvider: {
        newQueuedItemMetric: () => ({ set: away }),
        newProcessingLatencyMetric: () => ({ observe: away }),
        newStoreResourceVersionMetric: () => ({ set: away }),
        addReadings: () => away,
      },
    });
    server.put('a');
    void informer.run();
    await clock.settle();
    await informer.stop();
    await clock.settle();
    // Queued 1 and 0, the latency, the version; queued 0 and the end.
    expect(reported.map(({ what }) => what)).toEqual(Array(6).fill('informer metrics'));
  });

  test('has the metrics of the first of two informers with one name and resource', async () => {
    const { calls, provider } = recorder();
    const first = setUp({ name: 'web', metricsProvider: provider });
    const second = setUp({ name: 'web', metricsProvider: provider });
    void first.informer.run();
    void second.informer.run();
    await second.clock.settle();
    expect(reported).toMatchObject([
      { error: { code: 'INVALID_ARGUMENT', message: expect.stringContaining('"web"') } },
    ]);
    expect(second.informer.hasSynced()).toBe(true);
    await first.informer.stop();
    await second.informer.stop();
    expect(calls.filter((call) => call === 'end')).toHaveLength(1);
    const third = setUp({ name: 'web', metricsProvider: provider });
    void third.informer.run();
    await third.clock.settle();
    expect(reported).toHaveLength(1);
    await third.informer.stop();
  });

  // TestNewInformerName, TestWithResource
  test('tells informers apart by name and by resource', async () => {
    const { calls, provider } = recorder();
    const settings = { ...ConfigMaps, plural: 'settings' };
    const informers = [
      setUp({ name: 'web', metricsProvider: provider }),
      setUp({ name: 'api', metricsProvider: provider }),
      setUp({ name: 'web', metricsProvider: provider, resource: settings }),
    ];
    for (const { informer } of informers) void informer.run();
    for (const { clock } of informers) await clock.settle();
    expect(reported).toEqual([]);
    expect(new Set(calls.filter((call) => call.includes('queued')))).toEqual(
      new Set(
        ['web configmaps', 'api configmaps', 'web settings'].flatMap((of) => [
          `${of} queued 1`,
          `${of} queued 0`,
        ]),
      ),
    );
    for (const { informer } of informers) await informer.stop();
  });

  test('may be missing for an informer with a name (TestWithStoreMetricsDefaulting)', async () => {
    const { clock, server, informer } = setUp({ name: 'web' });
    server.put('a');
    void informer.run();
    await clock.settle();
    expect([informer.getIndexer().listKeys(), reported]).toEqual([['default/a'], []]);
    await informer.stop();
  });

  // The name stayed in use for ever.
  test('is not called for an informer that is stopped before it runs', async () => {
    const { calls, provider } = recorder();
    const { informer } = setUp({ name: 'web', metricsProvider: provider });
    await informer.stop();
    await informer.run();
    expect(calls).toEqual([]);
    const other = setUp({ name: 'web', metricsProvider: provider });
    void other.informer.run();
    await other.informer.stop();
    expect(reported).toEqual([]);
  });

  test('gets the last 15 digits of a version, and nothing if it is not a number', async () => {
    const { calls, provider } = recorder();
    const { clock, server, informer } = setUp({ name: 'web', metricsProvider: provider });
    void informer.run();
    await clock.settle();
    const bookmark = (resourceVersion: string): void => {
      const object = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace: 'default', name: 'a', resourceVersion },
      };
      server.send(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
    };
    calls.length = 0;
    for (const version of ['1234567890123456789', '1234567890123456789', 'opaque', '7'])
      bookmark(version);
    await clock.settle();
    expect(calls.filter((call) => call.startsWith('version'))).toEqual([
      'version 567890123456789',
      'version 7',
    ]);
    await informer.stop();
  });

  test.each([
    { name: '' },
    { name: 7 },
    { metricsProvider: {} },
    { metricsProvider: { ...recorder().provider, addReadings: 7 } },
  ])('is refused in %j', (options) => {
    expect(() => setUp(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});

describe('the text format', () => {
  test('has every metric of every informer that runs, with labels that need escaping', async () => {
    const metrics = new InformerPrometheusProvider();
    expect(metrics.text()).toBe('');
    const { clock, server, informer } = setUp({
      name: 'a "web"',
      metricsProvider: metrics,
      shutdownTimeout: 0,
    });
    const held = heldHandler();
    informer.addEventHandler(held.handler);
    for (const name of ['a', 'b', 'c']) server.put(name);
    void informer.run();
    await clock.settle();
    const labels = 'name="a \\"web\\"",group="",version="v1",resource="configmaps"';
    const lines = metrics.text().split('\n');
    expect(lines.filter((line) => !/^#|last_sign_of_life/.test(line))).toEqual([
      `capstan_informer_bytes{${labels}} ${informer.status().bytes.live}`,
      `capstan_informer_handler_backlog{${labels},handler="handler-1"} 2`,
      `capstan_informer_handler_failures_total{${labels},handler="handler-1"} 0`,
      `capstan_informer_relists_total{${labels}} 0`,
      ...[
        '0.001',
        '0.005',
        '0.01',
        '0.025',
        '0.05',
        '0.1',
        '0.25',
        '0.5',
        '1',
        '2.5',
        '5',
        '10',
        '+Inf',
      ].map((le) => `informer_processing_latency_seconds_bucket{${labels},le="${le}"} 1`),
      `informer_processing_latency_seconds_sum{${labels}} 0`,
      `informer_processing_latency_seconds_count{${labels}} 1`,
      `informer_queued_items{${labels}} 0`,
      `informer_store_resource_version{${labels}} 3`,
      '',
    ]);
    expect(informer.status().bytes.live).toBeGreaterThan(100);
    for (const [type, name] of [
      ['gauge', 'capstan_informer_bytes'],
      ['gauge', 'capstan_informer_handler_backlog'],
      ['histogram', 'informer_processing_latency_seconds'],
      ['gauge', 'informer_queued_items'],
      ['gauge', 'informer_store_resource_version'],
    ] as const) {
      const at = lines.indexOf(`# TYPE ${name} ${type}`);
      expect(lines[at - 1]).toMatch(new RegExp(`^# HELP ${name} .+\\.$`));
    }
    await informer.stop();
    expect(metrics.text()).not.toMatch(/gauge|handler/);
  });

  test('has the seconds since the server last sent a byte, once it has sent one', async () => {
    const metrics = new InformerPrometheusProvider();
    const { clock, server, informer } = setUp({ name: 'web', metricsProvider: metrics });
    server.intercept = () => new Promise(() => undefined);
    void informer.run();
    await clock.run(2_500);
    expect(metrics.text()).not.toContain('last_sign_of_life');
    await informer.stop();
    const other = setUp({ name: 'web', metricsProvider: metrics });
    void other.informer.run();
    await other.clock.run(2_500);
    expect(metrics.text()).toMatch(
      /^capstan_informer_last_sign_of_life_seconds\{name="web",.*\} 2\.5$/m,
    );
    other.server.put('a');
    await other.clock.settle();
    expect(metrics.text()).toMatch(/^capstan_informer_last_sign_of_life_seconds\{.*\} 0$/m);
    await other.informer.stop();
  });

  test('counts the relists of an informer, not its first list', async () => {
    const metrics = new InformerPrometheusProvider();
    const { clock, server, informer } = setUp({ name: 'web', metricsProvider: metrics });
    const relists = (): string | undefined =>
      /^capstan_informer_relists_total\{name="web",.*\} (\d+)$/m.exec(metrics.text())?.[1];
    void informer.run();
    await clock.settle();
    expect(relists()).toBe('0');
    server.send('no JSON\n');
    await clock.run(2_000);
    expect(relists()).toBe('1');
    await informer.stop();
    expect(relists()).toBeUndefined();
  });

  test('keeps the counts of an informer that has ended, until another one ends', async () => {
    // With a second informer of the same name the counts decreased, which looks like a restart of
    // the process; and the counts of a hundred stopped informers were written at each scrape.
    const metrics = new InformerPrometheusProvider();
    const live = async (name: string, objects: number): Promise<void> => {
      const { clock, server, informer } = setUp({ name, metricsProvider: metrics });
      void informer.run();
      await clock.settle();
      for (let i = 0; i < objects; i++) server.put(`a${i}`);
      await clock.settle();
      await informer.stop();
    };
    const count = (): string | undefined =>
      /_count\{name="web",.*\} (\d+)$/m.exec(metrics.text())?.[1];
    await live('web', 4);
    expect(count()).toBe('5');
    const running = setUp({ name: 'running', metricsProvider: metrics });
    void running.informer.run();
    await live('web', 1);
    expect(count()).toBe('7');
    await live('other', 0);
    expect(count()).toBeUndefined();
    expect(metrics.text().match(/^informer_processing_latency_seconds_count/gm)).toHaveLength(2);
    expect(metrics.text()).toContain('informer_queued_items{name="running"');
    await running.informer.stop();
  });

  test('counts latencies by bucket', () => {
    const metrics = new InformerPrometheusProvider();
    const latency = metrics.newProcessingLatencyMetric({
      name: 'a',
      group: 'g',
      version: 'v1',
      resource: 'r',
    });
    for (const seconds of [0.001, 0.002, 0.5, 11]) latency.observe(seconds);
    const text = metrics.text();
    const labels = 'name="a",group="g",version="v1",resource="r"';
    expect(text).toContain(`{${labels},le="0.001"} 1\n`);
    expect(text).toContain(`{${labels},le="0.005"} 2\n`);
    expect(text).toContain(`{${labels},le="0.25"} 2\n`);
    expect(text).toContain(`{${labels},le="10"} 3\n`);
    expect(text).toContain(`{${labels},le="+Inf"} 4\n`);
    expect(text).toContain(`_sum{${labels}} 11.503\n`);
  });
});
