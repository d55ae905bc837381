/**
 * Sends the steps of a case to one server and records the responses. It uses node:http only, and
 * shares no code with the server under test.
 */
import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { parse as parseYaml } from 'yaml';
import type { Entry, Json } from '../same-answers/api.ts';
import { filledIn, type ParityCase, type RequestStep } from './case.ts';

const ANSWER_MS = 20_000;
const UNTIL_MS = 5000;
const PAUSE_MS = 50;
/** How long to wait for the first event of a watch of Events, in milliseconds. */
const FIRST_EVENT_MS = 300;

/** The status of a request whose connection was closed without a response. */
export const CLOSED = -1;

/** The responses of one server to one case. */
export type Transcript = (Entry & { headers?: Record<string, string> })[];

/** A server to which cases are sent. */
export class Target {
  readonly #url: URL;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #headers: Record<string, string>;

  constructor(url: string, options: { ca?: string; token?: string } = {}) {
    this.#url = new URL(url);
    this.#headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
    this.#agent =
      this.#url.protocol === 'https:'
        ? new HttpsAgent({
            keepAlive: true,
            ...(options.ca === undefined ? {} : { ca: options.ca }),
          })
        : new HttpAgent({ keepAlive: true });
  }

  /** Runs the case in an existing namespace. */
  async run({ steps }: ParityCase, namespace: string): Promise<Transcript> {
    const transcript: Transcript = [];
    const answers: unknown[] = [];
    const streams: Promise<void>[] = [];
    for (const step of steps) {
      const sent = filled(step, namespace, answers);
      await this.#freshen(sent);
      if (step.watch) {
        const entry: Transcript[number] = { request: `${sent.method} ${sent.path}`, status: 0 };
        transcript.push(entry);
        answers.push(undefined);
        streams.push((await this.#stream(sent, entry)).ended);
        continue;
      }
      const entry = await this.#untilAnswered(sent).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ECONNRESET') throw error;
        return { request: `${sent.method} ${sent.path}`, status: CLOSED } as Transcript[number];
      });
      answers.push(entry.body);
      if (step.until === undefined) transcript.push(entry);
      else if (entry.status !== step.until) break;
    }
    await Promise.all(streams);
    return transcript;
  }

  /** Sends one request outside of a case. */
  async send(step: RequestStep): Promise<Transcript[number]> {
    const answer = await this.#open(step);
    return entryOf(step, answer, await textOf(answer));
  }

  close(): void {
    this.#agent.destroy();
  }

  /**
   * A real server answers from a cache, which may lack the last write, if the version is 0 or need
   * not be exact. A list without a version waits until the cache is current.
   */
  async #freshen({ method, path }: RequestStep): Promise<void> {
    const [collection, query] = path.split('?');
    if (method !== 'GET' || !/(^|&)resourceVersion=[^&]/.test(query ?? '')) return;
    await this.send({ method, path: `${collection?.replace('/watch/', '/')}?limit=1` });
  }

  /** Repeats the request until it has the wanted status, or the time is over. */
  async #untilAnswered(step: RequestStep): Promise<Transcript[number]> {
    for (const start = Date.now(); ; await wait(PAUSE_MS)) {
      const entry = await this.send(step);
      const { until } = step;
      if (until === undefined || entry.status === until || Date.now() - start > UNTIL_MS)
        return entry;
    }
  }

  /** Resolves when the server has responded; `ended` when the stream was read to its end. */
  async #stream(step: RequestStep, entry: Transcript[number]): Promise<{ ended: Promise<void> }> {
    const answer = await this.#open(step);
    // A real server has no cache of Events: it lists them after the response has begun.
    if (/\/events\?/.test(step.path))
      await Promise.race([once(answer, 'readable'), wait(FIRST_EVENT_MS)]);
    const read = async (): Promise<void> => {
      const text = await textOf(answer);
      Object.assign(entry, entryOf(step, answer, text));
      if (answer.statusCode !== 200) return;
      delete entry.body;
      entry.events = text
        .split('\n')
        .filter((line) => line !== '')
        .map(parse);
      entry.ended = true;
    };
    return { ended: read() };
  }

  #open({ method, path, body, type, accept, headers }: RequestStep): Promise<IncomingMessage> {
    const request = this.#url.protocol === 'https:' ? httpsRequest : httpRequest;
    const text =
      body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const call = request(
        new URL(this.#url.origin + path),
        {
          method,
          agent: this.#agent,
          signal: AbortSignal.timeout(ANSWER_MS),
          headers: {
            ...this.#headers,
            accept: accept ?? 'application/json',
            'user-agent': 'parity/1',
            // Without this, Node sends a DELETE with neither a length nor chunks.
            ...(text === undefined
              ? {}
              : {
                  'content-type': type ?? 'application/json',
                  'content-length': Buffer.byteLength(text),
                }),
            ...headers,
          },
        },
        resolve,
      );
      call.on('error', reject);
      call.end(text);
    });
  }
}

function filled(step: RequestStep, namespace: string, answers: readonly unknown[]): RequestStep {
  const fill = (text: string): string => filledIn(text, namespace, answers);
  const { body, headers } = step;
  return {
    ...step,
    path: fill(step.path),
    ...(headers === undefined ? {} : { headers: JSON.parse(fill(JSON.stringify(headers))) }),
    ...(body === undefined
      ? {}
      : { body: fill(typeof body === 'string' ? body : JSON.stringify(body)) }),
  };
}

/** Headers that clients use; the other ones differ between the servers. */
const HEADERS = ['retry-after', 'allow', 'location', 'content-disposition'];

function entryOf(step: RequestStep, answer: IncomingMessage, text: string): Transcript[number] {
  const { warning } = answer.headers;
  const headers = Object.fromEntries(
    HEADERS.flatMap((name) => {
      const value = answer.headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
  return {
    request: `${step.method} ${step.path}`,
    status: answer.statusCode ?? 0,
    contentType: answer.headers['content-type'] ?? null,
    body: /yaml/.test(answer.headers['content-type'] ?? '') ? parseYaml(text) : parse(text),
    ...(warning === undefined ? {} : { warning }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  };
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
