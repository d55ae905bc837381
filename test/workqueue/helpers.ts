/** What the tests of the queues share. No helper waits for time: `settle` ends when nothing can run without it. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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

/** The error of a call that must fail with a CapstanError of this code whose message contains all the parts. */
export function expectError(call: () => unknown, code: string, ...parts: (string | RegExp)[]): CapstanError {
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

function checkError(error: unknown, code: string, parts: readonly (string | RegExp)[]): CapstanError {
  expect(error).toBeInstanceOf(CapstanError);
  const typed = error as CapstanError;
  expect(typed.code).toBe(code);
  for (const part of parts) expect(typed.message).toMatch(part);
  return typed;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collects garbage until the target of `ref` is gone, or says that it stays. A WeakRef holds its target for a turn. */
export async function isCollected(ref: WeakRef<object>): Promise<boolean> {
  for (let round = 0; round < 20; round++) {
    await settle();
    collect();
    if (ref.deref() === undefined) return true;
  }
  return false;
}

/** Wrong on purpose: gives a call a value that its type forbids, as JavaScript callers can. `never` fits every parameter. */
export function wrong(value: unknown): never {
  return value as never;
}
