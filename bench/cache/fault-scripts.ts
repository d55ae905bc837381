/**
 * Scripts of a server with faults, for requests-under-faults.ts: the answers to the first lists and
 * the first watches, in order. Afterwards the server works: it answers lists, and sends an update
 * to each watch, which shows that the client has recovered. Lists have no objects, so that a relist
 * brings no update. A script has no times, so that it is the same for all peers.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { frameText, listTexts, podText } from './pod-bytes.ts';

type Step = (response: ServerResponse, version: number) => void;

export interface FaultScript {
  name: string;
  lists?: readonly Step[];
  watches?: readonly Step[];
  /** The script only throttles, so a client that lists more than once fails the test. */
  oneList?: boolean;
}

const JSON_TYPE = { 'content-type': 'application/json' };

function statusText(code: number, reason: string): string {
  const message = `the script says ${reason}`;
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code,
  });
}

const refuse =
  (code: number, reason: string, headers: Record<string, string> = {}): Step =>
  (response) =>
    void response.writeHead(code, { ...JSON_TYPE, ...headers }).end(statusText(code, reason));

const reset: Step = (response) => void response.destroy();

/** A watch that fails after it was opened. */
const open =
  (then: Step): Step =>
  (response, version) => {
    response.writeHead(200, JSON_TYPE);
    response.write(addedText(version), () => then(response, version));
  };

/** The event of a new object. */
const addedText = (version: number): string =>
  `{"type":"ADDED","object":${podText(version, version, 0)}}\n`;

const ends: Step = (response) => void response.end();
const endsAtOnce: Step = (response) => void response.writeHead(200, JSON_TYPE).end();
const says =
  (text: string): Step =>
  (response) =>
    void response.end(text);
const errorEvent = (code: number, reason: string): Step =>
  says(`{"type":"ERROR","object":${statusText(code, reason)}}\n`);

const times = (count: number, step: Step): Step[] => Array.from({ length: count }, () => step);
const soon = { 'retry-after': '1' };

export const FAULT_SCRIPTS: readonly FaultScript[] = [
  { name: 'none' },
  { name: 'lists: 500 twice', lists: times(2, refuse(500, 'InternalError')) },
  { name: 'lists: reset twice', lists: times(2, reset) },
  {
    name: 'lists: 429, Retry-After 1, three times',
    lists: times(3, refuse(429, 'TooManyRequests', soon)),
  },
  { name: 'lists: 410', lists: [refuse(410, 'Expired')] },
  {
    name: 'watches: 429, Retry-After 1, three times',
    watches: times(3, refuse(429, 'TooManyRequests', soon)),
    oneList: true,
  },
  {
    name: 'watches: 429 without Retry-After, twice',
    watches: times(2, refuse(429, 'TooManyRequests')),
    oneList: true,
  },
  {
    name: 'watches: a 429 event, twice',
    watches: times(2, open(errorEvent(429, 'TooManyRequests'))),
    oneList: true,
  },
  {
    name: 'watches: 503, Retry-After 1, twice',
    watches: times(2, refuse(503, 'ServiceUnavailable', soon)),
  },
  { name: 'watches: 500 twice', watches: times(2, refuse(500, 'InternalError')) },
  { name: 'watches: reset before the answer, twice', watches: times(2, reset) },
  { name: 'watches: reset when open, twice', watches: times(2, open(reset)) },
  {
    name: 'watches: half a frame, twice',
    watches: times(
      2,
      open((response) => void response.write('{"type":"MOD', () => response.destroy())),
    ),
  },
  { name: 'watches: end, three times', watches: times(3, open(ends)) },
  { name: 'watches: end at once, three times', watches: times(3, endsAtOnce) },
  { name: 'watches: a 410 event, twice', watches: times(2, open(errorEvent(410, 'Expired'))) },
  { name: 'watches: 410, twice', watches: times(2, refuse(410, 'Expired')) },
  { name: 'watches: a 500 event', watches: [open(errorEvent(500, 'InternalError'))] },
  { name: 'watches: no JSON', watches: [open(says('<html>bad gateway</html>\n'))] },
];

/** A server that plays a script once and counts the requests. */
export class FaultyServer {
  lists = 0;
  watches = 0;
  readonly #script: FaultScript;
  readonly #server: Server;
  #version = 10;

  private constructor(script: FaultScript) {
    this.#script = script;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(script: FaultScript): Promise<FaultyServer> {
    const server = new FaultyServer(script);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
    response.on('error', () => undefined); // the client may reset the connection too
    if (pathname !== '/api/v1/pods') {
      refuse(404, 'NotFound')(response, 0);
      return;
    }
    const watch = ['true', '1'].includes(searchParams.get('watch') ?? '');
    const { lists = [], watches = [] } = this.#script;
    const step = watch ? watches[this.watches++] : lists[this.lists++];
    const version = this.#version++;
    if (step !== undefined) {
      step(response, version);
      return;
    }
    response.writeHead(200, JSON_TYPE);
    if (watch) response.write(`${addedText(0)}${frameText({ pod: 0, version, node: 0 })}`);
    else response.end([...listTexts(0, 0, version)].join(''));
  }
}
