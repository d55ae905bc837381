/**
 * Serves webhooks over HTTP: reads the body of a request up to a limit, calls the handler, and
 * writes the answer. A wrong request gets an HTTP status and a text, which the API server shows to
 * its user. controller-runtime: pkg/webhook/admission/http.go.
 */
import type { HTTPHandler } from '../manager/router.ts';
import { type AdmissionHandlers, type ReviewContext, respond } from './admission.ts';
import {
  type ConversionContext,
  type ConversionRegistration,
  convert,
  decodeConversion,
} from './conversion.ts';
import {
  BadReview,
  decodeReview,
  encodeReview,
  type ReviewResponse,
  requireJsonType,
} from './review.ts';

type Exchange = Parameters<HTTPHandler>;

/** 3 MiB, the API server's limit of a request. apiserver: DefaultMaxRequestSizeBytes. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;
/** 64 MiB: the API server converts a whole list in one request. */
const MAX_CONVERSION_BYTES = 64 * 1024 * 1024;
/** In milliseconds: how long the API server waits. apiserver: defaultRequestTimeout of webhooks. */
const CONVERSION_MS = 30_000;

export interface ReviewHandlerOptions extends Pick<ReviewContext, 'clock' | 'timeout' | 'onError'> {
  /** Default 3 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Gets each response before it is sent. */
  onResponse(response: ReviewResponse): void;
}

/** Serves reviews of one webhook. */
export function admissionHandler(
  admission: AdmissionHandlers,
  options: ReviewHandlerOptions,
): HTTPHandler {
  const { clock, onError, onResponse, maxBodyBytes = MAX_BODY_BYTES } = options;
  return jsonHandler(maxBodyBytes, async (body, hungUp, query) => {
    const review = decodeReview(body);
    const timeout = Math.min(options.timeout, timeoutIn(query));
    const answer = await respond(review, admission, { clock, timeout, hungUp, onError });
    onResponse(answer);
    return encodeReview(review.uid, answer);
  });
}

/** Serves the conversions of all kinds. */
export function conversionHandler(
  kinds: ReadonlyMap<string, ConversionRegistration>,
  options: Pick<ConversionContext, 'clock' | 'onError'> & {
    readonly maxBodyBytes: number | undefined;
  },
): HTTPHandler {
  const most = Math.max(options.maxBodyBytes ?? 0, MAX_CONVERSION_BYTES);
  return jsonHandler(most, (body, hungUp, query) => {
    const timeout = Math.min(CONVERSION_MS, timeoutIn(query));
    return convert(decodeConversion(body), kinds, { ...options, timeout, hungUp });
  });
}

/**
 * Serves POST requests with JSON. `answer` returns the text of the response, or throws BadReview.
 * `hungUp` fires when the API server disconnects.
 */
function jsonHandler(
  maxBodyBytes: number,
  answer: (body: Uint8Array, hungUp: AbortSignal, query: string) => Promise<string>,
): HTTPHandler {
  return async (request, response) => {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    try {
      if (request.method !== 'POST')
        throw new BadReview(405, `method: expected POST, got ${request.method}`);
      requireJsonType(request.headers['content-type']);
      const body = await bodyOf(request, maxBodyBytes);
      if (body === undefined) return;
      const text = await answer(body, gone.signal, request.url ?? '');
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    } catch (error) {
      if (!(error instanceof BadReview)) throw error;
      refuse(request, response, error);
    }
  };
}

/** Resolves with `undefined` if the API server disconnects. */
function bodyOf(request: Exchange[0], most: number): Promise<Uint8Array | undefined> {
  const tooLong = (): BadReview =>
    new BadReview(413, `body: expected at most ${most} bytes, got more`);
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (Number(request.headers['content-length']) > most) return Promise.reject(tooLong());
  request.on('data', (chunk: Uint8Array) => {
    length += chunk.length;
    if (length > most) {
      chunks.length = 0;
      reject(tooLong());
    } else chunks.push(chunk);
  });
  request.once('end', () => resolve(Buffer.concat(chunks)));
  request.once('error', () => resolve(undefined));
  request.once('close', () => resolve(undefined));
  return promise;
}

function refuse(request: Exchange[0], response: Exchange[1], { status, message }: BadReview): void {
  // The rest of the body is not read, so the connection cannot serve another request.
  if (!request.complete) response.shouldKeepAlive = false;
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    ...(status === 405 ? { allow: 'POST' } : {}),
  });
  response.end(`${message}\n`);
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/**
 * How long the API server waits for the answer, in milliseconds. The query parameter `timeout` has
 * this time as a Go duration.
 */
function timeoutIn(url: string): number {
  const given = /[?&]timeout=((?:\d+(?:\.\d+)?(?:ms|s|m))+)(?:&|$)/.exec(url)?.[1];
  let ms = 0;
  for (const [, value, unit = ''] of given?.matchAll(/(\d+(?:\.\d+)?)(ms|s|m)/g) ?? [])
    ms += Number(value) * (UNITS[unit] ?? 0);
  return ms > 0 ? ms : Number.POSITIVE_INFINITY;
}
