/**
 * The errors that the error handler (`setErrorHandler`) gets in a test, with the texts that
 * describe them.
 */
import { setErrorHandler } from 'capstan/workqueue';
import { afterEach, beforeEach, expect } from 'vitest';
import { macrotask } from '../../bindings/base/clock.ts';
import { isExpired } from '../../bindings/cache/rest/status-error.ts';

export interface ReportedError {
  readonly error: unknown;
  readonly what: string;
}

/**
 * Call it once in a test file. The list is emptied before each test; an unhandled rejection fails
 * its test.
 */
export function collectErrors(): ReportedError[] {
  const reported: ReportedError[] = [];
  handleErrors((error, what) => reported.push({ error, what }));
  beforeEach(() => {
    reported.length = 0;
  });
  return reported;
}

/** The same without the texts. */
export function collectErrorValues(): unknown[] {
  const reported: unknown[] = [];
  handleErrors((error) => reported.push(error));
  beforeEach(() => {
    reported.length = 0;
  });
  return reported;
}

/** Call it once in a test file whose tests cause errors on purpose. The errors are not kept. */
export function ignoreErrors(): void {
  handleErrors(() => undefined);
}

function handleErrors(handler: (error: unknown, what: string) => unknown): void {
  const rejections: unknown[] = [];
  const onRejection = (error: unknown): void => void rejections.push(error);
  let previous: ReturnType<typeof setErrorHandler>;
  beforeEach(() => {
    previous = setErrorHandler(handler);
    rejections.length = 0;
    process.on('unhandledRejection', onRejection);
  });
  afterEach(async () => {
    await macrotask();
    setErrorHandler(previous);
    process.off('unhandledRejection', onRejection);
    expect(rejections, 'unhandled rejections').toEqual([]);
  });
}

/** Without errors of an expired version, which are reported when they make the back-off grow. */
export const notExpired = (reported: readonly { error: unknown }[]): unknown[] =>
  reported.filter(({ error }) => !isExpired(error));
