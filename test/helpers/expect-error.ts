/** Expects a call or a promise to fail with a CapstanError; it runs on every runtime. */
import { CapstanError } from 'capstan/workqueue';
import { expect } from 'vitest';

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

/** Passes a value that the parameter's type forbids, as JavaScript callers can. */
export function invalidArgument(value: unknown): never {
  return value as never;
}
