/**
 * One request for a lease, with repeats, under one timeout. A write is repeated only if the server
 * asks for it with Retry-After, because a write whose connection was lost may have taken effect.
 * client-go: rest/request.go.
 */

import { aborted, CapstanError } from '../base/errors.ts';
import { objectFromJson } from '../base/not-json.ts';
import { isLongWait, type RepeatOptions, sendWithRepeats } from '../cache/rest/rest.ts';
import { statusErrorFromAnswer } from '../cache/rest/status-error.ts';
import type { Transport, TransportRequest } from '../cache/rest/transport.ts';
import { Deadline } from './deadline.ts';
import type { LockCall } from './lock.ts';

/**
 * Sends a request and returns the JSON object of a successful response.
 *
 * Rejects with StatusError; with TransportError; with CapstanError TIMEOUT after the timeout, whose
 * cause is the last response with Retry-After; with ABORTED when the signal fires; with DECODE for
 * a response that is not a JSON object.
 */
export async function requestJson(
  transport: Transport,
  request: TransportRequest,
  { clock, signal, timeout }: LockCall,
): Promise<object> {
  const what = `${request.method} ${request.path}`;
  if (signal.aborted) throw aborted(what, signal.reason);
  const within = new Deadline(clock, timeout, signal);
  let met: Error | undefined;
  let metMs = 0;
  let underWay = true;
  const options: RepeatOptions = {
    clock,
    signal: within.signal,
    onRepeat: (error, afterMs) => {
      met = error;
      metMs = afterMs;
      underWay = false;
    },
    turn: async () => {
      underWay = !within.signal.aborted; // also called when an aborted wait ends
    },
  };
  try {
    return await answerOf(transport, request, options, what);
  } catch (error) {
    if (!within.passed()) throw error;
    const carriedOut = underWay ? '; if it was sent, it may have taken effect' : '';
    const before = met ? `; before that: ${met.message}` : '';
    const asked = isLongWait(metMs) ? `; the server asked to wait ${metMs / 1000} s` : '';
    const message = `${what} took longer than ${timeout} ms${carriedOut}${before}${asked}`;
    throw new CapstanError('TIMEOUT', message, { cause: met ?? error });
  } finally {
    within.end();
  }
}

async function answerOf(
  transport: Transport,
  request: TransportRequest,
  options: RepeatOptions,
  what: string,
): Promise<object> {
  const exchange = await sendWithRepeats(transport, request, options);
  try {
    if (exchange.status < 200 || exchange.status > 299)
      throw statusErrorFromAnswer(exchange.status, await exchange.explanation(), what);
    return objectFromJson(what, await exchange.text());
  } finally {
    exchange.close();
  }
}
