/**
 * Serves one request, from the request line to its reply, with the faults that it meets, whether it
 * came over a socket or from this process. Resources are the part of api.ts.
 */
import type { Clock } from '../../base/clock.ts';
import { handleError } from '../../base/handle-error.ts';
import { failure, inAcceptedFormat } from './answers/answer.ts';
import { type Headers, Output, type Reply, warningHeader } from './answers/output.ts';
import { Api } from './api.ts';
import { type AnswerFault, Faults, isAnswer, isOfStream, type StreamFault } from './faults.ts';
import { type JsonObject, readJson } from './json.ts';
import { withoutVersion } from './reads/event-stream.ts';
import type { Incoming } from './request/body.ts';
import { type ApiTarget, parseTarget } from './request/request-target.ts';
import type { CheckedServing } from './serving-options.ts';
import { ApiError, genericStatus } from './status.ts';

/** A request with its method and URL. */
export interface ServerRequest extends Incoming {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** The error that interrupted the request; null if there was none. */
  readonly errored?: Error | null | undefined;
}

/** An escape that Go's HTTP server refuses before any other check. */
const MALFORMED = /%(?![\da-f]{2})/i;

export class Serving {
  readonly api: Api;
  readonly faults = new Faults();
  /** The time of the clock: milliseconds since 1970. */
  readonly wallTime: () => number;
  /** Host and port, for discovery. */
  readonly #address: string;
  readonly #clock: Clock;

  /** @param ofCluster whether the Namespaces of a cluster exist from the start */
  constructor(address: string, options: CheckedServing, ofCluster: boolean) {
    this.#address = address;
    this.#clock = options.clock;
    const start = options.startTime - options.clock.now();
    this.wallTime = () => start + options.clock.now();
    this.api = new Api({ ...options, wallTime: this.wallTime, ofCluster });
  }

  /** Never rejects: an internal error is reported, and is a 500 for the client. */
  async serve(request: ServerRequest, reply: Reply): Promise<void> {
    try {
      await this.#serve(request, reply);
    } catch (error) {
      handleError(error, 'embedded API server');
    }
  }

  async #serve(request: ServerRequest, reply: Reply): Promise<void> {
    const output = new Output(reply, request.headers['accept-encoding'] as string | undefined);
    const target = parseTarget(request.method ?? 'GET', request.url ?? '/');
    const streamFaults: StreamFault[] = [];
    for (const fault of this.faults.take(target)) {
      if (isAnswer(fault)) return answerByFault(fault, target, output);
      if (isOfStream(fault)) streamFaults.push(fault);
      else if (fault.do === 'delay') await this.#delay(fault.ms, output);
      else if (fault.do === 'drop') output.cutAfter(fault.afterBytes);
      else output.splitInto(fault.chunkBytes);
    }
    if (output.closed) return;
    if (MALFORMED.test(target.path)) {
      output.send(400, { 'Content-Type': 'text/plain; charset=utf-8' }, '400 Bad Request');
      return;
    }
    try {
      const server = { address: this.#address, faults: streamFaults };
      const answer = await this.api.handle(target, request, output, server);
      if (answer === undefined) return;
      // `omit: 'version'` is the only fault of a stream that hits lists.
      if (streamFaults.length > 0)
        answer.body = withoutVersion(readJson(answer.body) as JsonObject);
      send(output, answer);
    } catch (error) {
      if (output.closed || (request.errored ?? null) !== null) return;
      if (!(error instanceof ApiError)) handleError(error, 'embedded API server');
      const answer = failure(error instanceof ApiError ? error : genericStatus(500));
      send(output, await inAcceptedFormat(request, answer));
    }
  }

  /** Waits until the time is over or the client has left. */
  #delay(ms: number, output: Output): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(resolve, ms);
      output.onClose(() => {
        this.#clock.clearTimer(timer);
        resolve();
      });
    });
  }
}

function send(output: Output, answer: ReturnType<typeof failure>): void {
  const headers: Headers = {
    ...(answer.type === '' ? {} : { 'Content-Type': answer.type }),
    'Cache-Control': 'no-cache, private',
    ...answer.headers,
  };
  if (answer.retryAfter !== undefined) headers['Retry-After'] = answer.retryAfter;
  if (answer.warnings !== undefined) headers.Warning = answer.warnings.map(warningHeader);
  output.send(answer.code, headers, answer.body);
}

/** Runs a fault that replaces the answer. */
function answerByFault(fault: AnswerFault, target: ApiTarget, output: Output): void {
  switch (fault.do) {
    case 'status':
      send(output, failure(genericStatus(fault.status, fault.reason, seconds(fault.retryAfter))));
      return;
    case 'garbage':
      output.send(200, { 'Content-Type': 'application/json' }, fault.bytes);
      return;
    case 'stall':
      if (target.verb === 'watch') output.begin(200, { 'Content-Type': 'application/json' });
      return;
    case 'refuse':
    case 'reset':
      output.reset();
  }
}

/** The header and the Status have whole seconds only. */
const seconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.ceil(ms / 1000);
