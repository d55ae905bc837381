/**
 * Types of the baseline in peers/naive-ts. They live here because that folder is taken over
 * unchanged.
 */

declare module '*/naive-ts/workloads.mjs' {
  export interface Names {
    namespaces: string[];
    names: string[];
    keys: string[];
  }
  export interface Request {
    readonly namespace: string;
    readonly name: string;
  }
  export interface PeerQueue<T> {
    add(item: T): void;
    tryGet(): T | undefined;
    done(item: T): void;
    len(): number;
  }
  export interface PeerLimiter {
    when(item: string): number;
    forget(item: string): void;
  }
  export interface PeerDelaying {
    addAfter(item: string, ms: number): void;
    advance(ms: number): void;
    queue: PeerQueue<string>;
  }
  /** What the workloads ask of a peer. */
  export interface Peer {
    readonly peer: string;
    queue(): PeerQueue<string>;
    requestQueue(): PeerQueue<Request>;
    delaying(): PeerDelaying;
    limiter(): PeerLimiter;
  }
  export function names(n: number): Names;
  /** Each runs the whole work once, checks its result and returns how many operations that was. */
  export const workloads: Record<string, (peer: Peer, n: number, data: Names) => number>;
}

declare module '*/naive-ts/naive.mjs' {
  import type { Peer } from './peers/naive-ts/workloads.mjs';
  export const naive: Peer;
  export class NaiveDelayingQueue<T> {
    constructor(keyOf: (item: T) => string);
    add(item: T): void;
    tryGet(): T | undefined;
    done(item: T): void;
  }
  export class NaiveLimiter {
    constructor(baseMs: number, maxMs: number);
    forget(key: string): void;
  }
}

declare module '*/peers/pods.mjs' {
  interface PeerPod {
    metadata: {
      name: string;
      namespace: string;
      uid: string;
      resourceVersion: string;
      labels: Record<string, string>;
    };
    spec: { nodeName: string };
  }
  export function pod(i: number, resourceVersion?: number, node?: number): PeerPod;
}

declare module '*/peers/stopwatch.mjs' {
  export class Stopwatch {
    constructor(events: number, warmUp?: number);
    tick(): void;
    readonly isOver: boolean;
    read(): { ns: number; cpu: number };
  }
}

declare module '*/peers/last-versions.mjs' {
  export class LastVersions {
    constructor(events: number, warmUp?: number);
    reconciled(
      name: string,
      resourceVersion: string,
      nodeName: string | undefined,
    ): { ns: number; cpu: number; reconciles: number } | undefined;
  }
}
