/**
 * One call to the API server about a lease, under one deadline, repeats included. A write is
 * repeated only when the server says so by Retry-After, as one whose connection was lost may have
 * been carried out. client-go: rest/request.go.
 */

import { aborted, CapstanError } from '../base/errors.ts';
import { objectFromJson } from '../base/not-json.ts';
import { isLongWait, type RepeatOptions, sendWithRepeats } from '../cache/rest/rest.ts';
import { statusErrorFromAnswer } from '../cache/rest/status-error.ts';
import type { Transport, TransportRequest } from '../cache/rest/transport.ts';
import { Deadline } from './deadline.ts';
import type { LockCall } from './lock.ts';

/**
 * The JSON object of a successful answer. Rejects with StatusError, with TransportError, with
 * CapstanError TIMEOUT when the deadline has passed, of which the last answer that asked for
 * patience is the cause, ABORTED when the signal fired, or DECODE for an answer that is no JSON
 * object.
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
      underWay = !within.signal.aborted; // a wait that was cut short comes here too
    },
  };
  try {
    return await answerOf(transport, request, options, what);
  } catch (error) {
    if (!within.passed()) throw error;
    const carriedOut = underWay ? '; if it was sent, it may have been carried out' : '';
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
