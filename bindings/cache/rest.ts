/**
 * REST repeats: what client-go's REST client does below the reflector. 429 and 5xx that carry Retry-After are sent again
 * after exactly that time; a connection that was reset before the answer, after one second; ten times at most. Anything
 * else is the caller's to judge. client-go: rest/with_retry.go IsNextRetry, rest/request.go Watch and request.
 */
import { Exchange, type ExchangeOptions } from './exchange.ts';
import { type Transport, TransportError, type TransportRequest } from './transport.ts';
import { sleep } from './wait.ts';

/** client-go: rest/request.go NewRequest, maxRetries. */
const MAX_REPEATS = 10;
/** client-go: rest/with_retry.go retryAfterResponse. */
const RESET_DELAY_MS = 1000;

/** Sends a request that may be sent twice, with its repeats. The last answer or error counts, whatever it is. */
export async function sendWithRepeats(
  transport: Transport,
  request: TransportRequest,
  options: ExchangeOptions,
): Promise<Exchange> {
  for (let repeats = 0; ; repeats++) {
    let exchange: Exchange | undefined;
    let delay: number | undefined;
    try {
      exchange = await Exchange.open(transport, request, options);
      delay = retryAfter(exchange);
    } catch (error) {
      if (!isReset(error) || repeats >= MAX_REPEATS) throw error;
      delay = RESET_DELAY_MS;
    }
    if (exchange !== undefined) {
      if (delay === undefined || repeats >= MAX_REPEATS) return exchange;
      await exchange.explanation();
    }
    await sleep(options.clock, delay ?? 0, options.signal);
  }
}

export function isReset(error: unknown): boolean {
  return error instanceof TransportError && error.kind === 'reset';
}

/** Milliseconds, or `undefined` where the answer is final. A date in Retry-After is not read, as in client-go. */
function retryAfter(exchange: Exchange): number | undefined {
  if (exchange.status !== 429 && exchange.status < 500) return undefined;
  const header = exchange.header('retry-after')?.trim();
  if (header === undefined || !/^[+-]?\d+$/.test(header)) return undefined;
  return Math.max(Number(header), 0) * 1000;
}
