/** What a suite asks of cluster.ts, and what it is told. Plain JSON. */
import type { Fault } from 'capstan/testing';

export interface ServerOptions {
  readonly bookmarkInterval?: number;
  readonly historySize?: number;
  /** Watches come compressed, in many gzip members, although nobody asked for it. */
  readonly compressed?: boolean;
}

export interface StartedServer {
  readonly name: string;
  /** For processes. */
  readonly direct: string;
  /** For pages. */
  readonly proxied: string;
}

export type ServerCall =
  | { readonly do: 'inject'; readonly fault: Fault }
  | { readonly do: 'takeBack' | 'expireHistory' | 'dropConnections' | 'stop' };
