/**
 * One row of the table: a few requests that belong together. It runs in a namespace of its own on
 * both servers.
 */
import type { Api } from './api.ts';

export interface Exchange {
  /** What the servers must agree on, as a sentence. */
  name: string;
  run(api: Api): Promise<void>;
}
