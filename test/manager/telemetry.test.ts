/** pino, console and OpenTelemetry as loggers and tracers. */
import { Writable } from 'node:stream';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { CapstanError } from 'capstan';
import { StatusError } from 'capstan/cache';
import { type Logger, pinoLogger, silentLogger, withFields } from 'capstan/controller';
import { newManager, type Tracer } from 'capstan/manager';
import { pino, stdSerializers } from 'pino';
import { describe, expect, test } from 'vitest';
import { managerOf, noServer, startManager } from './recording-runnables.ts';

function pinoLines(): { logger: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return { logger: pinoLogger(pino({ level: 'debug' }, stream)), lines };
}

describe('the logger of a manager', () => {
  test('may be pino: fields are fields, and an error keeps its message', async () => {
    const { logger, lines } = pinoLines();
    const { manager, clock } = managerOf({ logger });
    const failure = new TypeError('no way', { cause: new Error('no road') });
    manager.add({ name: 'broken', start: () => Promise.reject(failure) });
    await expect(startManager(manager, clock).done).rejects.toThrow('no way');
    // It was `"error":{}`, because pino serializes errors only under the name `err`.
    expect(lines.find(({ msg }) => msg === 'a part of the manager has failed')).toMatchObject({
      level: 50,
      part: 'runnable "broken"',
      err: {
        type: 'TypeError',
        message: expect.stringContaining('no way'),
        stack: expect.stringMatching(/telemetry\.test\.ts:.*Error: no road/s),
      },
    });
    logger.warn('odd', { error: 'text', part: 'one' });
    expect(lines.at(-1)).toMatchObject({ msg: 'odd', error: 'text', part: 'one' });
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 20, msg: 'starting', group: 'leader election' }),
    );
    withFields(logger, { controller: 'web', name: 'all' }).warn('slow', { name: 'one' });
    expect(lines.at(-1)).toMatchObject({ level: 40, msg: 'slow', controller: 'web', name: 'one' });
  });

  // The type of the adapter takes pino itself and its children: neither needs a cast.
  test('may be a child of pino, which writes codes and causes of errors', () => {
    const lines: string[] = [];
    const serializers = { err: stdSerializers.errWithCause };
    const parent = pino({ serializers }, { write: (line) => void lines.push(line) });
    const logger: Logger = pinoLogger(parent.child({ part: 'operator' }));
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const body = { reason: 'Conflict', message: 'it has changed' };
    logger.error('failed', { error: new StatusError(409, body, 'PUT /a', ''), attempt: 2 });
    logger.error('failed', { error: new CapstanError('TIMEOUT', 'too slow', { cause }) });
    const [first, second] = lines.map((line) => JSON.parse(line) as object);
    expect(first).toMatchObject({
      part: 'operator',
      msg: 'failed',
      attempt: 2,
      err: { type: 'StatusError', code: 'STATUS', status: 409, reason: 'Conflict', body },
    });
    expect(second).toMatchObject({
      err: {
        type: 'CapstanError',
        code: 'TIMEOUT',
        message: 'too slow',
        cause: { type: 'Error', code: 'ECONNREFUSED', message: 'refused' },
      },
    });
  });

  // It was accepted, and all fields were dropped: pino takes them before the message, and a message
  // that comes first ends the line.
  test('cannot be pino without pinoLogger', () => {
    for (const logger of [
      pino({ enabled: false }),
      pino({ enabled: false }).child({ part: 'one' }),
    ])
      expect(() => newManager({ transport: noServer, logger })).toThrow(
        '"options.logger" expected pinoLogger(logger), got an object of class Pino',
      );
  });

  test('may be console, and is silent by default', async () => {
    const logged: unknown[] = [];
    const console = { ...silentLogger, info: (...line: unknown[]) => void logged.push(line) };
    const { manager, clock } = managerOf({ logger: console });
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    stop();
    await done;
    expect(logged).toEqual([['stopping', { gracefulShutdownTimeout: 30_000 }], ['stopped']]);
    expect(newManager({ transport: noServer }).logger).toBe(silentLogger);
    expect(() => newManager({ transport: noServer, logger: globalThis.console })).not.toThrow();
  });
});

describe('the tracer of a manager', () => {
  test('may be one of OpenTelemetry, as it is', () => {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const tracer: Tracer = provider.getTracer('controllers');
    const manager = newManager({ transport: noServer, tracer });
    expect(manager.tracer).toBe(tracer);
    const result = tracer.startActiveSpan(
      'reconcile',
      { attributes: { controller: 'web' } },
      (span) => {
        span.setAttribute('outcome', 'error');
        span.recordException(new Error('no way'));
        span.setStatus({ code: 2, message: 'no way' });
        span.end();
        return 42;
      },
    );
    expect(result).toBe(42);
    const [span] = exporter.getFinishedSpans();
    expect([span?.name, span?.attributes]).toEqual([
      'reconcile',
      { controller: 'web', outcome: 'error' },
    ]);
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no way' });
    expect(span?.events[0]?.attributes).toMatchObject({ 'exception.message': 'no way' });
  });

  test('may be that of the API package, which does nothing by default', () => {
    const manager = newManager({ transport: noServer, tracer: trace.getTracer('controllers') });
    expect(manager.tracer?.startActiveSpan('reconcile', {}, () => 1)).toBe(1);
  });
});
