/**
 * REST repeats: what client-go's REST client does below the reflector. 429 and 5xx that carry
 * Retry-After are sent again after exactly that time, whatever the method, as the server did
 * nothing; a GET whose connection was reset before the answer, after one second; ten times at most.
 * Any other request may have been carried out before its connection was lost, and is never sent
 * again for that. Anything else is the caller's to judge. client-go: rest/with_retry.go
 * IsNextRetry, rest/request.go Watch and request.
 */

import { type Clock, systemWallNow } from '../../base/clock.ts';
import type { CapstanError } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { sleep } from '../../base/wait.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';
import { type StatusError, statusErrorFromAnswer } from './status-error.ts';
import {
  connectionLoss,
  type Transport,
  type TransportError,
  type TransportRequest,
} from './transport.ts';

/** client-go: rest/request.go NewRequest, maxRetries. */
const MAX_REPEATS = 10;
/** client-go: rest/with_retry.go retryAfterResponse. */
const RESET_DELAY_MS = 1000;

export interface RepeatOptions extends ExchangeOptions {
  /**
   * Told of each request that is about to be sent again, with what became of it and after how long.
   * Must not throw. Default: waits that a person should know of go to handleError.
   */
  onRepeat?: ((error: StatusError | TransportError, afterMs: number) => void) | undefined;
  /** Waited for before each sending, repeats included: a rate limit. It ends with the signal. */
  turn?: (() => Promise<void>) | undefined;
  /** How often the request is sent again at most. Default 10. */
  repeats?: number | undefined;
}

/**
 * What the caller of a list, a watch or discovery gives: a clock, the signal that ends it, hooks.
 */
export interface Caller {
  clock: Clock;
  signal: AbortSignal;
  /**
   * Told the clock's time when a list or watch is answered with 200, and at each chunk after that.
   * Must not throw.
   */
  onBytes?: (now: number) => void;
  /**
   * Told of each request that is about to be sent again, with what became of it and after how long.
   * Must not throw.
   */
  onRepeat?: (error: CapstanError, afterMs: number) => void;
  /** A refusal with 404 is all that matters, and not what the server has instead. */
  terse?: boolean;
}

/** Sends a request, with its repeats. The last answer or error counts, whatever it is. */
export async function sendWithRepeats(
  transport: Transport,
  request: TransportRequest,
  options: RepeatOptions,
): Promise<Exchange> {
  const { clock, signal, turn, repeats: most = MAX_REPEATS } = options;
  const {
    onRepeat = (error, afterMs) =>
      isLongWait(afterMs) &&
      handleError(error, `${request.method} ${request.path}${goesOn(afterMs)}`),
  } = options;
  for (let repeats = 0; ; repeats++) {
    await turn?.();
    try {
      const exchange = await Exchange.open(transport, request, options);
      const delay = retryAfter(exchange);
      if (delay === undefined || repeats >= most) return exchange;
      const text = await exchange.explanation(); // in any case: it ends the exchange
      onRepeat(
        statusErrorFromAnswer(exchange.status, text, `${request.method} ${request.path}`),
        delay,
      );
      await sleep(clock, delay, signal);
    } catch (error) {
      if (request.method !== 'GET' || !isConnectionReset(error)) throw error;
      if (repeats >= most) {
        lasting.add(error);
        throw error;
      }
      onRepeat(error, RESET_DELAY_MS);
      await sleep(clock, RESET_DELAY_MS, signal);
    }
  }
}

/** A server, or a gateway, may ask for hours, in which nothing else is heard of. */
export const isLongWait = (afterMs: number): boolean => afterMs > 5000;

/** `, which goes on in 3600 s, at 2026-01-02T03:04:05Z`, for reports. */
export function goesOn(afterMs: number): string {
  const at = new Date(Math.min(systemWallNow() + afterMs, LAST_DATE)).toISOString();
  return `, which goes on in ${Math.ceil(afterMs / 1000)} s, at ${at.replace(/\.\d+Z$/, 'Z')}`;
}

/** ECMA-262: the latest time that a Date can hold. */
const LAST_DATE = 8.64e15;

/** Of requests whose connection was reset each time, also the last. */
const lasting = new WeakSet<object>();

/** Whether a connection was reset in spite of all repeats. */
export function isLasting(error: unknown): boolean {
  return lasting.has(error as object);
}

export function isConnectionReset(error: unknown): error is TransportError {
  return connectionLoss(error) === 'reset';
}

/**
 * Milliseconds, or `undefined` where the answer is final. A date in Retry-After is not read, as in
 * client-go.
 */
function retryAfter(exchange: Exchange): number | undefined {
  if (exchange.status !== 429 && exchange.status < 500) return undefined;
  const header = exchange.header('retry-after')?.trim();
  if (header === undefined || !/^[+-]?\d+$/.test(header)) return undefined;
  const seconds = Number(header);
  return Number.isSafeInteger(seconds) ? Math.max(seconds, 0) * 1000 : undefined; // Go's Atoi fails beyond int64
}
