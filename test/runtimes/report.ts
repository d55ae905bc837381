/**
 * The messages of a runtime to the program that started it. Plain JSON: they cross a pipe, a log or
 * an HTTP request.
 */
import type { Result } from './shim/registry.ts';

/** The prefix of all messages of a suite, one a line. */
export const MARK = '::capstan-runtimes::';

/**
 * The address of the servers for the cache's cases, and what this runtime's fetch can distinguish.
 */
export interface ClusterClaims {
  /** The address of cluster.ts. */
  readonly url: string;
  /** A page reaches no other origin, except through a proxy. */
  readonly through: 'address' | 'proxy';
  /**
   * `'alike'`: fetch reports only that there was no answer, for a refused and a reset connection.
   */
  readonly refusedAndReset: 'apart' | 'alike';
  /**
   * How a body in several gzip members is decompressed; with `'first'` the rest is dropped
   * silently, with `'none'` the bytes stay compressed.
   */
  readonly gzipMembers: 'all' | 'first' | 'none';
}

/**
 * What is asserted of a runtime. Plain text: it crosses a command line, an address or a worker's
 * configuration.
 */
export interface Claims {
  /** Its own identification: see identity.ts. */
  readonly runtime: string;
  /** The default key table of queues. */
  readonly keys: 'wasm' | 'js';
  /**
   * Which side reads strings for the core: the engine without leaving Wasm, or two functions in JS.
   */
  readonly strings: 'native' | 'foreign';
  readonly cluster: ClusterClaims;
}

export interface SuiteReport {
  readonly kind: 'report';
  /** As the runtime itself reports. */
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

/** The message in a line of output; undefined for another line, or a truncated one. */
export function messageIn(line: string): SuiteMessage | undefined {
  const at = line.indexOf(MARK);
  if (at < 0) return undefined;
  try {
    return JSON.parse(line.slice(at + MARK.length)) as SuiteMessage;
  } catch {
    return undefined;
  }
}
