/** The servers that embedded-server.ts measures, and the figures that a run prints. */

/** The embedded server in memory and over loopback HTTP, and a real one. */
export const SERVER_PEERS = ['memory', 'http', 'kube-apiserver'] as const;

/** Milliseconds, writes a second, bytes. */
export interface ServerFigures {
  peer: string;
  load: number;
  start: number;
  answer: number;
  create: number;
  patch: number;
  deployment: number;
  /** Bytes of the JavaScript heap an object, and those of lists. Undefined for a real server. */
  bytes?: number;
  list?: number;
  page?: number;
}
