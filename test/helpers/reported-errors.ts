/** The errors that the error handler gets in a test, with the texts that describe them. */
import { setErrorHandler } from 'capstan/workqueue';
import { afterEach, beforeEach } from 'vitest';

export interface ReportedError {
  readonly error: unknown;
  readonly what: string;
}

/** Call it once in a test file. The list is emptied before each test. */
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
  let previous: ReturnType<typeof setErrorHandler>;
  beforeEach(() => {
    previous = setErrorHandler(handler);
  });
  afterEach(() => {
    setErrorHandler(previous);
  });
}
