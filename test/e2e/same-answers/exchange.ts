/** One row of the table: a few related requests, which run in a new namespace on both servers. */
import type { Api } from './api.ts';

export interface Exchange {
  /** The behaviour on which the servers must agree, as a sentence. */
  name: string;
  run(api: Api): Promise<void>;
}
