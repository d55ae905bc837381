/**
 * Repeats requests as client-go's REST client does below the reflector, ten times at most. A
 * request that is answered with 429 or 5xx and Retry-After is sent again after exactly that time,
 * whatever its method, because the server did not process it. A GET whose connection was reset
 * before the answer is sent again after one second; any other method is not, because the server may
 * have processed it. All other answers and errors go to the caller. client-go: rest/with_retry.go
 * IsNextRetry, rest/request.go Watch and request.
 */

import { type Clock, wallNowOf } from '../../base/clock.ts';
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
   * Called before each repeat with the answer or error of the last attempt and the wait in
   * milliseconds. Must not throw. Default: waits of more than 5 s go to handleError.
   */
  onRepeat?: ((error: StatusError | TransportError, afterMs: number) => void) | undefined;
  /**
   * A rate limit: awaited before the request is sent, and before each repeat. Must end with the
   * signal.
   */
  turn?: (() => Promise<void>) | undefined;
  /** The most repeats. Default 10. */
  repeats?: number | undefined;
}

/**
 * What the caller of a list, a watch or discovery passes: a clock, the signal that ends it, hooks.
 */
export interface Caller {
  clock: Clock;
  signal: AbortSignal;
  /**
   * Called with the clock's time when a list or watch is answered with 200, and at each chunk after
   * that. Must not throw.
   */
  onBytes?: (now: number) => void;
  /**
   * Called before each repeat with the answer or error of the last attempt and the wait in
   * milliseconds. Must not throw.
   */
  onRepeat?: (error: CapstanError, afterMs: number) => void;
  /** Leave the advice about served resources out of the error of a 404. */
  terse?: boolean;
}

/** Sends a request, with its repeats. Resolves or rejects as the last attempt. */
export async function sendWithRepeats(
  transport: Transport,
  request: TransportRequest,
  options: RepeatOptions,
): Promise<Exchange> {
  const { clock, signal, turn, repeats: most = MAX_REPEATS } = options;
  const {
    onRepeat = (error, afterMs) =>
      isLongWait(afterMs) &&
      handleError(error, `${request.method} ${request.path}${goesOn(afterMs, clock)}`),
  } = options;
  for (let repeats = 0; ; repeats++) {
    await turn?.();
    try {
      const exchange = await Exchange.open(transport, request, options);
      const delay = retryAfter(exchange);
      if (delay === undefined || repeats >= most) return exchange;
      const text = await exchange.explanation(); // called always, because it ends the exchange
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

/** Whether a wait is reported: a server or a gateway may ask for hours. */
export const isLongWait = (afterMs: number): boolean => afterMs > 5000;

/** `, which goes on in 3600 s, at 2026-01-02T03:04:05Z`, for reports. */
export function goesOn(afterMs: number, clock: Clock): string {
  const at = new Date(Math.min(wallNowOf(clock)() + afterMs, LAST_DATE)).toISOString();
  return `, which goes on in ${Math.ceil(afterMs / 1000)} s, at ${at.replace(/\.\d+Z$/, 'Z')}`;
}

/** ECMA-262: the latest time that a Date can hold. */
const LAST_DATE = 8.64e15;

/** Errors of requests whose connection was reset at every attempt. */
const lasting = new WeakSet<object>();

/** Whether the connection was reset at every attempt. */
export function isLasting(error: unknown): boolean {
  return lasting.has(error as object);
}

export function isConnectionReset(error: unknown): error is TransportError {
  return connectionLoss(error) === 'reset';
}

/**
 * Milliseconds until the repeat; `undefined` for an answer that is not repeated. A date in
 * Retry-After is not read, as in client-go.
 */
function retryAfter(exchange: Exchange): number | undefined {
  if (exchange.status !== 429 && exchange.status < 500) return undefined;
  const header = exchange.header('retry-after')?.trim();
  if (header === undefined || !/^[+-]?\d+$/.test(header)) return undefined;
  const seconds = Number(header);
  // Go's Atoi fails beyond int64.
  return Number.isSafeInteger(seconds) ? Math.max(seconds, 0) * 1000 : undefined;
}
