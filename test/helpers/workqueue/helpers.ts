/**
 * What the tests of the queues share. No helper waits for time: `settle` ends when nothing can run
 * without it. The cases run on other runtimes too (test/runtimes/), so nothing here imports a
 * `node:` module.
 */
import { CapstanError, FakeClock, type Got } from 'capstan/workqueue';
import { expect } from 'vitest';

/** Resolves when nothing can run without time passing. */
export const settle = (): Promise<void> => new FakeClock().settle();

/** A promise and what has become of it so far. */
export interface Watched<T> {
  state: 'pending' | 'fulfilled' | 'rejected';
  value: T | undefined;
  error: unknown;
}

export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched: Watched<T> = { state: 'pending', value: undefined, error: undefined };
  promise.then(
    (value) => Object.assign(watched, { state: 'fulfilled', value }),
    (error: unknown) => Object.assign(watched, { state: 'rejected', error }),
  );
  return watched;
}

/** The item of an answer; fails the test when the answer is shutdown. */
export function itemOf<T>(got: Got<T>): T {
  expect(got.shutdown).toBe(false);
  return got.item as T;
}

/** Everything that the queue hands out now, done as it comes. */
export function drain<T>(queue: { tryGet(): T | undefined; done(item: T): void }): T[] {
  const items: T[] = [];
  for (let item = queue.tryGet(); item !== undefined; item = queue.tryGet()) {
    items.push(item);
    queue.done(item);
  }
  return items;
}

/**
 * The error of a call that must fail with a CapstanError of this code whose message contains all
 * the parts.
 */
export function expectError(
  call: () => unknown,
  code: string,
  ...parts: (string | RegExp)[]
): CapstanError {
  let error: unknown;
  try {
    call();
  } catch (caught) {
    error = caught;
  }
  return checkError(error, code, parts);
}

export async function expectRejection(
  promise: Promise<unknown>,
  code: string,
  ...parts: (string | RegExp)[]
): Promise<CapstanError> {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  return checkError(error, code, parts);
}

function checkError(
  error: unknown,
  code: string,
  parts: readonly (string | RegExp)[],
): CapstanError {
  expect(error).toBeInstanceOf(CapstanError);
  const typed = error as CapstanError;
  expect(typed.code).toBe(code);
  for (const part of parts) expect(typed.message).toMatch(part);
  return typed;
}

/**
 * The engine's collector: a global where it was asked for, else Bun's, else V8's through Node's
 * modules.
 */
function findCollector(): (() => void) | undefined {
  const host = globalThis as { gc?: () => void; Bun?: { gc(now: boolean): void } };
  if (host.gc !== undefined) return host.gc;
  if (host.Bun !== undefined) return () => host.Bun?.gc(true);
  if (typeof process === 'undefined' || process.versions?.node === undefined) return undefined;
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
  return process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void;
}

const collect = findCollector();

/** Whether isCollected can tell. */
export const canCollect = collect !== undefined;

/**
 * Collects garbage until the target of `ref` is gone, or says that it stays. A WeakRef holds its
 * target for a turn.
 */
export async function isCollected(ref: WeakRef<object>): Promise<boolean> {
  if (collect === undefined)
    throw new Error('expected a runtime whose collector can be called: its flag is missing');
  for (let round = 0; round < 20; round++) {
    await settle();
    collect();
    if (ref.deref() === undefined) return true;
  }
  return false;
}

/**
 * Counts who listens to a signal from now on: answers how many still do. A listener that asked for
 * one call is gone after it.
 */
export function countListeners(signal: AbortSignal): () => number {
  const listening = new Map<unknown, { readonly once: boolean }>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  add('abort', () => {
    for (const [listener, { once }] of listening) if (once) listening.delete(listener);
  });
  Object.assign(signal, {
    addEventListener(
      type: string,
      listener: EventListener,
      options?: AddEventListenerOptions,
    ): void {
      listening.set(listener, { once: options?.once === true });
      add(type, listener, options);
    },
    removeEventListener(type: string, listener: EventListener): void {
      listening.delete(listener);
      remove(type, listener);
    },
  });
  return () => listening.size;
}

/**
 * Wrong on purpose: gives a call a value that its type forbids, as JavaScript callers can. `never`
 * fits every parameter.
 */
export function wrong(value: unknown): never {
  return value as never;
}
