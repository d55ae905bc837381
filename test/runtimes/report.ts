/**
 * What a runtime tells the program that started it. Plain JSON: it crosses a pipe, a log or an HTTP
 * request.
 */
import type { Result } from './shim/registry.ts';

/** Stands before everything that a suite writes for the program that started it, one line each. */
export const MARK = '::capstan-runtimes::';

/**
 * Where the cases of the cache find their servers, and what this runtime's fetch can tell of a
 * fault.
 */
export interface ClusterClaims {
  /** Of cluster.ts. */
  readonly url: string;
  /** A page reaches no other origin than its own, but through a proxy. */
  readonly through: 'address' | 'proxy';
  /** `'alike'`: fetch says only that there was no answer, be the connection refused or reset. */
  readonly refusedAndReset: 'apart' | 'alike';
  /**
   * What is decompressed of a body in several gzip members; after `'first'` the rest is dropped in
   * silence, with `'none'` the bytes come as they are.
   */
  readonly gzipMembers: 'all' | 'first' | 'none';
}

/**
 * What is asserted of a runtime. Plain text: it crosses a command line, an address or a worker's
 * configuration.
 */
export interface Claims {
  /** What it says of itself: see identity.ts. */
  readonly runtime: string;
  /** The key table of a queue that nobody chose one for. */
  readonly keys: 'wasm' | 'js';
  /** Who reads strings for the core: the engine without leaving Wasm, or two functions in JS. */
  readonly strings: 'native' | 'foreign';
  readonly cluster: ClusterClaims;
}

export interface SuiteReport {
  readonly kind: 'report';
  /** As the runtime itself says. */
  readonly version: string;
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
