/**
 * Sends requests that have one JSON answer, for all calls of a client. An answer is the JSON that
 * was requested or an error. A request is repeated only if rest.ts says that this is safe; each
 * sending waits for the rate limiter.
 */

import type { Clock } from '../base/clock.ts';
import { parseJson } from '../base/exact-json.ts';
import { tell } from '../base/handle-error.ts';
import type { Logger } from '../base/logger.ts';
import { objectFromJson } from '../base/not-json.ts';
import { resourceId } from '../base/resource.ts';
import { adviceOn404 } from '../cache/reflector/discovery.ts';
import { goesOn, isLongWait, type RepeatOptions, sendWithRepeats } from '../cache/rest/rest.ts';
import { StatusError, statusErrorFromAnswer } from '../cache/rest/status-error.ts';
import type { Transport, TransportRequest } from '../cache/rest/transport.ts';
import type { RequestRateLimiter } from './rate-limit.ts';
import type { AnyResource } from './types.ts';
import { type Warning, warningsIn } from './warnings.ts';

/**
 * kube-apiserver answers within 60 s (--request-timeout), at least with a 504. After that the
 * connection is dead.
 */
const IDLE_MS = 90_000;

/** A tenant may name any number of resources. */
const MOST_ADVICE = 1000;

const TOO_LONG =
  'list by pages (`limit` and `continue`), select less, or set `maxAnswerBytes` of the client';

export interface RestClientOptions {
  readonly maxAnswerBytes?: number | undefined;
  readonly clock: Clock;
  readonly limiter?: RequestRateLimiter | undefined;
  readonly onWarning: (warning: Warning) => void;
  /** Logs waits that the server asks for. Default: see `RepeatOptions.onRepeat`. */
  readonly logger?: Logger | undefined;
}

export interface JsonRequest {
  /** The resource of the path, if there is one. */
  readonly resource?: AnyResource | undefined;
  readonly method: string;
  readonly path: string;
  /** Members that are undefined are not sent. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
}

export class RestClient {
  readonly #transport: Transport;
  readonly #options: RestClientOptions;
  /** The served versions, by resources that the server does not serve. */
  readonly #advice = new Map<string, string>();

  constructor(transport: Transport, options: RestClientOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  /**
   * Sends a request. Rejects with StatusError, TransportError, or CapstanError ABORTED and DECODE.
   */
  async send(asked: JsonRequest): Promise<object> {
    const { clock, limiter, onWarning, logger, maxAnswerBytes } = this.#options;
    const { method, path, signal = new AbortController().signal } = asked;
    const options: RepeatOptions = { clock, signal, idleMs: IDLE_MS };
    if (logger !== undefined)
      options.onRepeat = (error, afterMs) => {
        if (!isLongWait(afterMs)) return;
        logger.warn(`${method} ${path}${goesOn(afterMs, clock)}, as the server asks`, { error });
      };
    if (limiter !== undefined) options.turn = () => limiter.wait(signal, `${method} ${path}`);
    const exchange = await sendWithRepeats(this.#transport, requestOf(asked), options);
    try {
      for (const text of warningsIn(exchange.header('warning')))
        tell(() => onWarning({ text, method, path }), 'warning handler');
      if (exchange.status < 200 || exchange.status > 299) {
        const text = await exchange.explanation();
        const advice = exchange.status === 404 ? await this.#instead(asked, text, signal) : '';
        throw statusErrorFromAnswer(exchange.status, text, `${method} ${path}`, advice);
      }
      const body = objectFromJson(
        `${method} ${path}`,
        await exchange.text(maxAnswerBytes, TOO_LONG),
        parseJson,
      );
      if (isFailure(body)) throw new StatusError(exchange.status, body, `${method} ${path}`);
      return body;
    } finally {
      exchange.close();
    }
  }

  /** Discovery is asked once per resource: some programs look for kinds that may not exist. */
  async #instead({ resource }: JsonRequest, text: string, signal: AbortSignal): Promise<string> {
    if (resource === undefined) return '';
    const id = resourceId(resource);
    const known = this.#advice.get(id);
    if (known !== undefined) return known;
    const caller = { clock: this.#options.clock, signal };
    const advice = await adviceOn404(this.#transport, resource, caller, text);
    if (this.#advice.size >= MOST_ADVICE) this.#advice.clear();
    if (advice !== undefined) this.#advice.set(id, advice);
    return advice ?? '';
  }
}

function requestOf({
  method,
  path,
  query = {},
  body,
  contentType = 'application/json',
}: JsonRequest): TransportRequest {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  // `identity`, because not every transport decompresses.
  const headers: Record<string, string> = {
    accept: 'application/json',
    'accept-encoding': 'identity',
  };
  if (body !== undefined) headers['content-type'] = contentType;
  return {
    method,
    path,
    headers,
    ...(given.length === 0 ? {} : { query: Object.fromEntries(given) }),
    ...(body === undefined ? {} : { body }),
  };
}

/** A Status of failure with a 2xx code. client-go treats it as an error too. */
function isFailure(body: object): boolean {
  const { kind, status } = body as { kind?: unknown; status?: unknown };
  return kind === 'Status' && typeof status === 'string' && status !== 'Success';
}
