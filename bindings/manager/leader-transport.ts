/**
 * The transport of a manager with an election. Once this process has led and its lease has expired,
 * it sends only GET and HEAD requests. The lease is checked immediately before a request's bytes
 * are sent (`beforeSend`), so that this also holds for a process that was stalled, before any timer
 * has fired. Requests in progress are aborted when the lease expires. The election itself does not
 * use this transport.
 */

import { CapstanError } from '../base/errors.ts';
import type { Transport } from '../cache/index.ts';
import type { LeaderElector } from '../leaderelection/index.ts';

/** @param lapsed fires when the lease expires while this process leads */
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
          `${method} ${path} was ${what}: this process led and its lease has expired`,
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
        throw refusal('aborted and may have taken effect');
      }
    },
  };
}
