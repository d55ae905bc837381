/** A manager serves metrics of the program: its own registry, prom-client's and OpenTelemetry's. */
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { newManager } from 'capstan/manager';
import { fakeTransport } from 'capstan/testing';
import { Counter, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { parseText } from '../helpers/prometheus-text.ts';

test('the metrics of all registries are in one answer', async () => {
  await using transport = fakeTransport();
  const manager = newManager({ transport, metrics: { bindAddress: '127.0.0.1:0' } });
  const own = manager.metrics.counter({ name: 'own_total', help: 'Own.', labels: ['to'] });
  own.with({ to: 'a' }).inc(2);

  const registry = new Registry();
  const guest = new Counter({
    ...{ name: 'guest_total', help: 'Of prom-client.', labelNames: ['to'] },
    registers: [registry],
  });
  guest.inc({ to: 'a' }, 3);
  manager.addCollector({ name: 'prom-client', text: () => registry.metrics() });

  const reader = new PrometheusExporter({ preventServerStart: true });
  const meters = new MeterProvider({ readers: [reader] });
  meters.getMeter('test').createCounter('otel', { description: 'Of OpenTelemetry.' }).add(4);
  meters.getMeter('test').createHistogram('otel_seconds').record(0.3);
  const serializer = new PrometheusSerializer();
  manager.addCollector({
    name: 'OpenTelemetry',
    text: async () => serializer.serialize((await reader.collect()).resourceMetrics),
  });

  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  try {
    await manager.serving();
    const answer = await fetch(`${manager.url('metrics')}/metrics`);
    expect(answer.status).toBe(200);
    const families = parseText(await answer.text());
    const value = (name: string) => families.get(name)?.samples[0]?.value;
    expect([value('own_total'), value('guest_total'), value('otel_total')]).toEqual([2, 3, 4]);
    expect(families.get('otel_seconds')?.type).toBe('histogram');
    expect(families.has('controller_runtime_max_concurrent_reconciles')).toBe(false);
    expect(families.has('process_cpu_seconds_total')).toBe(true);
  } finally {
    stop.abort();
    await running;
    await meters.shutdown();
  }
});
