/** What a runtime tells the program that started it. Plain JSON: it crosses a pipe, a log or an HTTP request. */
import type { Result } from './shim/registry.ts';

/** Stands before everything that a suite writes for the program that started it, one line each. */
export const MARK = '::capstan-runtimes::';

export interface SuiteReport {
  readonly kind: 'report';
  /** As the runtime itself says. */
  readonly version: string;
  /** The key table of a queue that nobody chose one for. */
  readonly keys: 'wasm' | 'js';
  /** Whether the engine hashes strings without leaving Wasm. */
  readonly nativeStrings: boolean;
  readonly results: readonly Result[];
}

/** The suite could not run at all. */
export interface SuiteFailure {
  readonly kind: 'failure';
  readonly message: string;
}

/** A test begins: the last one before a silence is the one that hangs. */
export interface SuiteProgress {
  readonly kind: 'progress';
  readonly path: readonly string[];
}

export type SuiteMessage = SuiteReport | SuiteFailure | SuiteProgress;

/** The message in a line of output; undefined in any other line, and in one that was cut. */
export function messageIn(line: string): SuiteMessage | undefined {
  const at = line.indexOf(MARK);
  if (at < 0) return undefined;
  try {
    return JSON.parse(line.slice(at + MARK.length)) as SuiteMessage;
  } catch {
    return undefined;
  }
}
