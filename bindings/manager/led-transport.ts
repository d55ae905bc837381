/**
 * The transport of a process that takes part in an election, as its clients and caches get it. What
 * it keeps true: a process that led and whose lease has run out sends nothing that changes
 * anything, also right after it was stopped, when no timer and no signal has fired yet. The
 * election's own requests go past it.
 */
import type { Transport } from '../cache/index.ts';
import { CapstanError } from '../errors.ts';
import type { LeaderElector } from '../leaderelection/index.ts';

export function ledTransport(transport: Transport, elector: LeaderElector): Transport {
  return {
    ...transport,
    request(request) {
      const { method, path } = request;
      if (method === 'GET' || method === 'HEAD' || !elector.endIfLapsed())
        return transport.request(request);
      const message = `${method} ${path} was not sent: this process led, and its lease has run out`;
      return Promise.reject(new CapstanError('ABORTED', message));
    },
  };
}
