/**
 * Informers over HTTP/2: a front that speaks it is before the embedded server, with a network
 * between that forgets connections.
 */
import { request as httpRequest } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import {
  defineResource,
  type KubeObject,
  ListWatch,
  SharedIndexInformer,
  type Transport,
} from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import { ApiServer, FakeClock } from 'capstan/testing';
import { afterEach, expect, test } from 'vitest';
import { authority, bodyText, certificate } from '../helpers/http-servers.ts';
import { freezingProxy, serveH2 } from './http2-servers.ts';

const ConfigMaps = defineResource<KubeObject & { metadata: { name: string } }>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

const cleanups: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** Forwards every request, and every byte and the end of its answer. */
function forward(target: string, request: Http2ServerRequest, response: Http2ServerResponse): void {
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !name.startsWith(':')),
  );
  const upstream = httpRequest(`${target}${request.url}`, { method: request.method, headers });
  const cut = (): void => void response.stream.destroy();
  response.stream.on('close', () => upstream.destroy());
  upstream.on('error', cut);
  upstream.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 500, { 'content-type': 'application/json' });
    answer.on('data', (chunk: Uint8Array) => response.stream.write(chunk));
    answer.on('end', () => response.stream.end());
    answer.on('error', cut);
  });
  request.pipe(upstream);
}

async function start(count: number) {
  const api = await ApiServer.start();
  cleanups.push(() => api.stop());
  const ca = await authority();
  const front = await serveH2(await certificate(ca, 'server'), (request, response) =>
    forward(api.url, request, response),
  );
  cleanups.push(() => front.stop());
  const proxy = await freezingProxy(front.url);
  cleanups.push(() => proxy.stop());
  const clock = new FakeClock();
  const transport = httpTransport(`https://127.0.0.1:${proxy.port}`, {
    clock,
    tls: { ca: ca.cert },
  });
  cleanups.push(async () => transport.close?.());
  const requests: string[] = [];
  const counted: Transport = {
    request: (request) => {
      requests.push(request.query?.watch === 'true' ? 'watch' : 'list');
      return transport.request(request);
    },
  };
  const informers = Array.from(
    { length: count },
    () => new SharedIndexInformer(new ListWatch(counted, ConfigMaps), { clock, watchList: false }),
  );
  for (const informer of informers) {
    const running = informer.run();
    cleanups.push(async () => {
      await informer.stop();
      await running;
    });
  }
  const direct = api.transport();
  cleanups.push(async () => direct.close?.());
  const create = async (name: string): Promise<void> => {
    const answer = await direct.request({
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps',
      body: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }),
    });
    await bodyText(answer.body);
  };
  const held = (): string[] =>
    informers.map((informer) => informer.getIndexer().listKeys().sort().join(' '));
  await expect.poll(() => requests.length).toBe(2 * count);
  return {
    api,
    front,
    proxy,
    clock,
    requests,
    create,
    held,
    all: (keys: string) => Array(count).fill(keys),
  };
}

test('twenty informers share a connection, also after the network forgets it', async () => {
  const { front, proxy, clock, requests, create, held, all } = await start(20);
  await create('a');
  await expect.poll(held).toEqual(all('default/a'));
  expect(front.sessions).toHaveLength(1);
  proxy.freeze('present');
  await create('b');
  await clock.run(44_000);
  expect(held()).toEqual(all('default/a'));
  await clock.run(1000);
  await expect.poll(held).toEqual(all('default/a default/b'));
  expect(front.sessions).toHaveLength(2);
  expect(requests.filter((verb) => verb === 'list')).toHaveLength(20);
});

test('a server with GOAWAY loses no event', async () => {
  const { api, front, requests, create, held, all } = await start(5);
  for (const [i, name] of ['a', 'b', 'c'].entries()) {
    await create(name);
    await expect.poll(() => held().every((keys) => keys.includes(`default/${name}`))).toBe(true);
    front.sessions[i]?.goaway();
    api.dropConnections(); // the watches end, and come back on another connection
    await expect.poll(() => front.sessions.length).toBe(i + 2);
  }
  await create('d');
  await expect.poll(held).toEqual(all('default/a default/b default/c default/d'));
  expect(requests.filter((verb) => verb === 'list')).toHaveLength(5);
});
