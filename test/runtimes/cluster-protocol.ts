/** The requests of a suite to cluster.ts, and the answers. Plain JSON. */
import type { Fault } from 'capstan/testing';

export interface ServerOptions {
  readonly bookmarkInterval?: number;
  readonly historySize?: number;
  /** Watches are compressed, in many gzip members, although not requested. */
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
