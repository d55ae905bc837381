/**
 * A server that sends updates at a pace, each in a write of its own, as a kube-apiserver does:
 *
 *     node bench/controller/pace-server.ts KIND WIRE OBJECTS EVENTS RATE PORT
 *
 * One list of OBJECTS, then EVENTS updates of each in turn, RATE a second; 0: as fast as the socket
 * takes them. WIRE is `http`, `https` or `http2`.
 */
import { createServer, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { generate } from 'selfsigned';
import { FIRST_VERSION, objectText, PACE_KINDS, type PaceKind, pluralOf } from './pace-objects.ts';

const [kind = '', wire, ...numbers] = process.argv.slice(2);
const [objects = 0, events = 0, rate = 0, port = 0] = numbers.map(Number);
if (!PACE_KINDS.includes(kind as PaceKind)) throw new Error(`no kind ${kind}`);
const plural = pluralOf(kind as PaceKind);
/**
 * The pause between the list and the first update, in which a reader finishes its work on the list.
 */
const QUIET_MS = 500;

const texts = (from: number, count: number, version: number): string[] =>
  Array.from({ length: count }, (_, i) =>
    objectText(kind as PaceKind, (from + i) % objects, version + i, from + i),
  );
const list =
  `{"kind":"${kind}List","apiVersion":"v1","metadata":{"resourceVersion":"${objects}"},` +
  `"items":[${texts(0, objects, 1).join(',')}]}`;
const frames = texts(0, events, FIRST_VERSION).map((text) =>
  Buffer.from(`{"type":"MODIFIED","object":${text}}\n`),
);
const discovery = JSON.stringify({
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: [
    { name: plural, kind, namespaced: true, verbs: ['list', 'watch', 'get'], singularName: '' },
  ],
});

/** Responses of HTTP/1.1 and HTTP/2 have these. */
type Answer = Pick<ServerResponse, 'end' | 'write' | 'once' | 'flushHeaders'> & {
  writeHead(status: number, headers: Record<string, string>): unknown;
};

/**
 * Sends events as fast as the socket takes them, each in a turn of its own, so that the socket
 * joins none.
 */
function saturate(response: Answer): void {
  let next = 0;
  const send = (): void => {
    const goesOn = response.write(frames[next++]);
    if (next === frames.length) return;
    if (goesOn) setImmediate(send);
    else response.once('drain', send);
  };
  send();
}

/**
 * Sends one event a turn. After a late timer the next event comes sooner, but never two at once.
 */
function pace(response: Answer): void {
  const start = performance.now();
  let next = 0;
  const send = (): void => {
    response.write(frames[next++]);
    if (next === frames.length) return;
    setTimeout(send, Math.max(start + (next * 1000) / rate - performance.now(), 0));
  };
  send();
}

function answer(url: string, response: Answer): void {
  const { pathname, searchParams } = new URL(url, 'http://host');
  response.writeHead(200, { 'content-type': 'application/json' });
  if (pathname === '/api/v1') response.end(discovery);
  else if (!['true', '1'].includes(searchParams.get('watch') ?? '')) response.end(list);
  else {
    response.flushHeaders();
    setTimeout(() => (rate === 0 ? saturate : pace)(response), QUIET_MS);
  }
}

const ready = (): void => console.log('ready');
if (wire === 'http') {
  const server = createServer((request, response) => answer(request.url ?? '', response));
  server.on('connection', (socket) => socket.setNoDelay(true));
  server.listen(port, '127.0.0.1', ready);
} else {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'pace' }], {
    keyType: 'ec',
    algorithm: 'sha256',
  });
  if (wire === 'https') {
    createTlsServer({ key, cert }, (request, response) =>
      answer(request.url ?? '', response),
    ).listen(port, '127.0.0.1', ready);
  } else {
    createSecureServer({ key, cert, allowHTTP1: true }, (request, response) =>
      answer(request.url, response as unknown as Answer),
    ).listen(port, '127.0.0.1', ready);
  }
}
