/**
 * The transport of a process that takes part in an election, as its clients and caches get it. A
 * process that led and whose lease has run out sends nothing that changes anything, also right
 * after it was stopped, when no timer and no signal has fired yet. The lease is asked as the last
 * thing before bytes go out (`beforeSend`), and what is under way is aborted when it runs out. The
 * election's own requests go past it.
 */

import { CapstanError } from '../base/errors.ts';
import type { Transport } from '../cache/index.ts';
import type { LeaderElector } from '../leaderelection/index.ts';

/** @param lapsed fires when the lease has run out while this process led */
export function leaderTransport(
  transport: Transport,
  elector: LeaderElector,
  lapsed: AbortSignal,
): Transport {
  return {
    ...transport,
    async request(request) {
      const { method, path, signal } = request;
      if (method === 'GET' || method === 'HEAD') return transport.request(request);
      const refusal = (what: string): CapstanError =>
        new CapstanError(
          'ABORTED',
          `${method} ${path} was ${what}: this process led, and its lease has run out`,
        );
      const beforeSend = (): void => {
        request.beforeSend?.();
        if (elector.endIfLapsed()) throw refusal('not sent');
      };
      beforeSend();
      const either = signal === undefined ? lapsed : AbortSignal.any([signal, lapsed]);
      try {
        return await transport.request({ ...request, beforeSend, signal: either });
      } catch (error) {
        if (!lapsed.aborted || signal?.aborted || (error as CapstanError).code === 'ABORTED')
          throw error;
        throw refusal('aborted, and may have been carried out');
      }
    },
  };
}
