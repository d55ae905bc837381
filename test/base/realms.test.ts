/**
 * In a `vm` context, as Jest and vitest's vmThreads make one for each test file, `Error` is not the
 * one of Node's core. There an aborted call that ended with Node's AbortError was logged as failed;
 * messages began with "Error: "; and TypeErrors of Node's core did not count as panics.
 */
import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';

const MODULES = [
  'cache/index',
  'client/index',
  'controller/index',
  'manager/index',
  'testing/index',
  'controller/reconcile',
  'client-node/wire',
  'base/errors',
  'base/error-text',
  'base/handle-error',
  'base/logger',
];

type Realm = typeof import('capstan/cache') &
  typeof import('capstan/client') &
  typeof import('capstan/controller') &
  typeof import('capstan/manager') &
  typeof import('capstan/testing') &
  typeof import('../../bindings/controller/reconcile.ts') &
  typeof import('../../bindings/client-node/wire.ts') &
  typeof import('../../bindings/base/errors.ts') &
  typeof import('../../bindings/base/error-text.ts') &
  typeof import('../../bindings/base/handle-error.ts') &
  typeof import('../../bindings/base/logger.ts');

/** The package in a context with the globals that it needs and its own `Error`. */
async function otherRealm(): Promise<Realm> {
  const { outputFiles } = await build({
    stdin: {
      contents: MODULES.map((name) => `export * from './bindings/${name}.ts';`).join('\n'),
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
    },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'esnext',
    write: false,
    logLevel: 'error',
  });
  const ofNode = {
    AbortController,
    AbortSignal,
    Buffer,
    URL,
    URLSearchParams,
    TextDecoder,
    TextEncoder,
    console,
    crypto,
  };
  const ofLoop = { clearTimeout, performance, process, queueMicrotask, setImmediate, setTimeout };
  const context = createContext({ ...ofNode, ...ofLoop });
  const load = runInContext(`(module, require) => {${outputFiles[0]?.text}\n}`, context);
  const module = { exports: {} };
  load(module, createRequire(import.meta.url));
  return module.exports as Realm;
}

describe('the package in another realm than Node’s core', () => {
  let realm: Realm;
  beforeAll(async () => {
    realm = await otherRealm();
    expect(new realm.CapstanError('STOPPED', 'x')).not.toBeInstanceOf(Error);
  });

  it('does not report a runnable or a reconcile that ends with the signal', async () => {
    const ConfigMap = realm.defineResource()({
      group: '',
      version: 'v1',
      kind: 'ConfigMap',
      plural: 'configmaps',
      namespaced: true,
    });
    const logged: string[] = [];
    const warn = (text: string): void => void logged.push(text);
    const previous = realm.setErrorHandler((error, what) => warn(`${what}: ${error}`));
    const server = await realm.ApiServer.start();
    const transport = server.transport();
    await realm
      .newClient({ transport })
      .create(ConfigMap, { metadata: { name: 'a', namespace: 'default' } });
    const manager = realm.newManager({
      transport,
      logger: { debug() {}, info() {}, warn, error: warn },
    });
    const end = async (signal: AbortSignal): Promise<void> =>
      void (await once(new EventEmitter(), 'never', { signal }));
    manager.add({ start: ({ signal }) => end(signal) });
    const stop = new AbortController();
    realm.createController({
      manager,
      name: 'waits',
      for: ConfigMap,
      reconcile: (_, { signal }) => {
        stop.abort();
        return end(signal);
      },
    });
    await manager.start({ signal: stop.signal });
    await server.stop();
    realm.setErrorHandler(previous);
    expect(logged).toEqual([]);
  });

  it('recognises an abort by its reason, also if that is no error, and as a cause', () => {
    for (const reason of ['bye', new DOMException('bye'), new Error('bye')]) {
      expect(realm.isAbort(reason, reason)).toBe(true);
      expect(realm.isAbort(new Error('while waiting', { cause: reason }), reason)).toBe(true);
      expect(realm.isAbort(new Error('bye'), reason)).toBe(false);
    }
  });

  it('describes errors of another realm like its own', () => {
    const refused = new AggregateError([
      new Error('refused by ::1'),
      new Error('refused by 127.0.0.1'),
    ]);
    expect(realm.messageOf(refused)).toBe('refused by ::1, refused by 127.0.0.1');
    expect(realm.messageOf(new TypeError('no URL'))).toBe('no URL');
    for (const error of [new TypeError('no'), new DOMException('no', 'DataCloneError')]) {
      expect([realm.nameOfError(error), realm.textOfError(error)]).toEqual([error.name, 'no']);
      const received: object[] = [];
      const take = (fields: object): void => void received.push(fields);
      realm
        .pinoLogger({ debug: take, info: take, warn: take, error: take })
        .error('failed', { error });
      expect(received).toEqual([{ err: error }]);
    }
    expect(realm.hasCode(Object.assign(new Error('x'), { code: 'TERMINAL' }), 'TERMINAL')).toBe(
      true,
    );
  });

  it("counts an engine's error for a mistake as a panic", () => {
    const mistakes = [
      new TypeError('x'),
      new RangeError('x'),
      new SyntaxError('x'),
      new ReferenceError('x'),
    ];
    expect(mistakes.map(realm.isPanic)).toEqual([true, true, true, true]);
    const failures = [
      new Error('x'),
      new TypeError('fetch failed', { cause: new Error('x') }),
      { name: 'RangeError' },
    ];
    expect(failures.map(realm.isPanic)).toEqual([false, false, false]);
  });
});
