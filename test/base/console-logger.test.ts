/** The console logger: lines for a person, for any fields, with bounded memory. */
import { FakeClock, setErrorHandler } from 'capstan/workqueue';
import { expect, test, vi } from 'vitest';
import {
  type ConsoleLoggerOptions,
  consoleLogger,
  inPlaceOfConsole,
} from '../../bindings/base/console-logger.ts';
import { CapstanError } from '../../bindings/base/errors.ts';
import { handleError } from '../../bindings/base/handle-error.ts';
import { guardedLogger, type LogFields, withFields } from '../../bindings/base/logger.ts';
import { expectError } from '../helpers/expect-error.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();
const START = Date.parse('2026-01-05T08:00:00Z');
const TIME = '2026-01-05T08:00:00.000Z';

function rig(options: ConsoleLoggerOptions = {}) {
  const written: string[] = [];
  const clock = new FakeClock(START);
  const logger = consoleLogger({
    colors: false,
    clock,
    write: (text) => written.push(text),
    ...options,
  });
  return { logger, written, clock };
}

const failing = (error: unknown, more: LogFields = {}) => ({
  controller: 'website',
  namespace: 'default',
  name: 'web',
  error,
  ...more,
});

test('a message is one line with time, level and fields', () => {
  const { logger, written, clock } = rig();
  logger.info('serving', { server: 'metrics, live page', url: 'http://127.0.0.1:8080', n: 4 });
  clock.step(1500);
  logger.warn('two\n  lines', { missing: ['a', 'b'], none: undefined, more: { a: 1 } });
  logger.debug('not shown');
  expect(written).toEqual([
    `${TIME} INFO  serving server="metrics, live page" url=http://127.0.0.1:8080 n=4`,
    '2026-01-05T08:00:01.500Z WARN  two lines missing=["a","b"] more={"a":1}',
  ]);
});

// A failing reconcile printed 31 lines a try, without time and level.
test('a failure is one line, with the stack the first time that the object fails', () => {
  const { logger, written } = rig();
  const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' });
  const error = new CapstanError('TIMEOUT', 'no answer\nin time', { cause });
  const details = { controllerGroup: 'a.io', controllerKind: 'Website', reconcileId: '1' };
  logger.error('Reconciler error', failing(error, { ...details, attempt: 1, retryAfter: 5 }));
  logger.error('Reconciler error', failing(error, { ...details, attempt: 2, retryAfter: 1300 }));
  logger.error('Reconciler error', failing(error, { attempt: 19, retryAfter: 1_000_000 }));
  const what = (rest: string): string =>
    `${TIME} ERROR Reconciler error object=default/web controller=website ${rest}: ` +
    'CapstanError TIMEOUT: no answer in time; cause: Error ECONNREFUSED: connect refused';
  const [first = '', ...others] = written;
  const [line, ...stack] = first.split('\n');
  expect(line).toBe(what('attempt=1 again=5ms'));
  expect(stack[0]).toMatch(/^ {4}at .*console-logger\.test\.ts/);
  expect(stack.filter((text) => text === '  cause:')).toHaveLength(1);
  expect(others).toEqual([what('attempt=2 again=1.3s'), what('attempt=19 again=16m40s')]);
});

test('each object of each controller has its stack once, in any order', () => {
  const { logger, written } = rig();
  const error = new Error('no');
  for (let round = 0; round < 2; round++)
    for (const name of ['a', 'b'])
      for (const controller of ['x', 'y'])
        logger.error('Reconciler error', failing(error, { name, controller }));
  expect(written.map((text) => text.includes('\n'))).toEqual([
    ...[true, true, true, true],
    ...[false, false, false, false],
  ]);
});

test('the level debug shows everything, and each stack', () => {
  const { logger, written } = rig({ level: 'debug' });
  for (const reconcileId of ['1', '2'])
    logger.error('Reconciler error', failing(new Error('no'), { reconcileId }));
  logger.debug('starting', { group: 'caches' });
  expect(written[0]).toContain('reconcileId=1: Error: no\n    at ');
  expect(written[1]).toContain('reconcileId=2: Error: no\n    at ');
  expect(written[2]).toBe(`${TIME} DEBUG starting group=caches`);
});

test('it remembers the last 1024 objects that failed', () => {
  const { logger, written } = rig();
  const error = new Error('no');
  const fail = (name: string) => {
    logger.error('Reconciler error', failing(error, { name }));
    return written.at(-1)?.includes('\n');
  };
  expect(fail('first')).toBe(true);
  for (let i = 0; i < 1023; i++) fail(`${i}`);
  expect(fail('first')).toBe(false); // now it is the newest
  expect(fail('one more')).toBe(true);
  expect(fail('first')).toBe(false);
  expect(fail('0')).toBe(true); // the oldest was forgotten
});

test('levels leave out messages, and colours are for the level alone', () => {
  const { logger, written } = rig({ level: 'warn', colors: true });
  logger.info('no');
  logger.warn('yes');
  logger.error('yes');
  expect(written).toEqual([
    `${TIME} \u001b[33mWARN\u001b[39m  yes`,
    `${TIME} \u001b[31mERROR\u001b[39m yes`,
  ]);
});

test.each([
  ['NO_COLOR is not set', '', true, true],
  ['NO_COLOR is set', '1', true, false],
  ['stdout is no terminal', '', false, false],
])('colours by default when %s', (_, noColor, isTTY, isColored) => {
  vi.stubEnv('NO_COLOR', noColor);
  const before = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY');
  Object.defineProperty(process.stdout, 'isTTY', { value: isTTY, configurable: true });
  try {
    const { logger, written } = rig({ colors: undefined });
    logger.info('hello');
    expect(written[0]?.includes('\u001b[36m')).toBe(isColored);
  } finally {
    vi.unstubAllEnvs();
    if (before === undefined) Reflect.deleteProperty(process.stdout, 'isTTY');
    else Object.defineProperty(process.stdout, 'isTTY', before);
  }
});

test('it never throws, whatever the fields are', () => {
  const { logger, written } = rig();
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const looped = new Error('looped');
  looped.cause = looped;
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const throws = {
    get message() {
      throw new Error('not now');
    },
  };
  const odd = [circle, looped, proxy, throws, 1n, Symbol('s'), () => 1, null, Object.create(null)];
  for (const value of odd) {
    logger.error('odd', { error: value, value });
    logger.error('odd', { controller: value, namespace: value, name: value });
  }
  expect(written).toHaveLength(2 * odd.length);
  logger.info('long', { text: 'x'.repeat(100_000) });
  expect(written.at(-1)?.length).toBeLessThan(2100);
});

test('what a write function throws or rejects with is reported', async () => {
  const throws = () => {
    throw new Error('closed');
  };
  const rejects = async () => throws();
  for (const write of [throws, rejects])
    guardedLogger(rig({ write }).logger).error('failed', { error: new Error('lost') });
  await new FakeClock().settle();
  expect(reported.map(({ error }) => (error as Error).message)).toEqual([
    ...['lost', 'closed'],
    ...['lost', 'closed'],
  ]);
});

test('in place of console: the same lines, by its own methods', () => {
  const calls: [string, unknown[]][] = [];
  for (const level of ['info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation((...args) => void calls.push([level, args]));
  const logger = withFields(inPlaceOfConsole(console), { controller: 'in-place' });
  logger.debug('not shown');
  logger.info('hello');
  logger.error('Reconciler error', { namespace: '', name: 'all', error: new Error('no') });
  inPlaceOfConsole(console).error('Reconciler error', {
    controller: 'in-place',
    name: 'all',
    error: new Error('no'),
  });
  vi.restoreAllMocks();
  expect(calls.map(([level]) => level)).toEqual(['info', 'error', 'error']);
  const texts = calls.map(([, args]) => String(args));
  expect(texts[0]).toMatch(/^20\d\d-\S+Z \S*INFO\S* {2}hello controller=in-place$/);
  expect(texts[1]).toMatch(/Reconciler error object=all controller=in-place: Error: no\n {4}at /);
});

// Without a logger each try printed the error with all of its members: about 30 lines.
test('the default hook of errors writes a line, with the stack the first time', () => {
  setErrorHandler(undefined);
  const written = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  for (let i = 0; i < 2; i++) handleError(new Error('no'), 'the part of this test');
  const [[first], [second]] = written.mock.calls as [[string], [string]];
  written.mockRestore();
  expect(first).toMatch(/^\S+Z ERROR capstan: the part of this test: Error: no\n {4}at /);
  expect(second).toMatch(/^\S+Z ERROR capstan: the part of this test: Error: no$/);
});

test('wrong options are errors', () => {
  expectError(() => consoleLogger({ level: 'trace' as never }), 'INVALID_ARGUMENT', 'level');
  const misspelt = { colours: true } as never;
  expectError(() => consoleLogger(misspelt), 'INVALID_ARGUMENT', 'did you mean "colors"?');
  expectError(() => consoleLogger({ write: 1 as never }), 'INVALID_ARGUMENT', 'write');
  expectError(() => consoleLogger({ clock: {} as never }), 'INVALID_ARGUMENT', 'clock');
});
