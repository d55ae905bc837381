/**
 * A real API server in place of the embedded one, for its test suite: plain HTTP without
 * credentials, and what the embedded server does by itself, as it makes a namespace and a kind when
 * their first object comes. Between tests etcd gets back what it had.
 */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Transport } from 'capstan/cache';
import { TestRunner } from 'vitest';
import { httpTransport } from '../../../bindings/client-node/http-transport.ts';
import { headersAs } from '../../../bindings/testing/server/auth/users.ts';
import type {
  ApiServerOptions,
  ServerTransportOptions,
} from '../../../bindings/testing/server/server.ts';
import { startEnvtest } from '../../../bindings/testing/start-envtest.ts';
import { needsNoKinds } from './known.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const ROLES = '/apis/rbac.authorization.k8s.io/';
const POLL_MS = 20;
/** How long the authorizer takes to see a Role. */
const ROLES_MS = 100;
const WAIT_MS = 20_000;

/** Skips the running test, as it is about the embedded server alone. */
export function onlyEmbedded(what: string): void {
  TestRunner.getCurrentTest()?.context.skip(`${what} is of the embedded server alone`);
}

type Envtest = Awaited<ReturnType<typeof startEnvtest>>;

/** A running server with what etcd had at first. */
interface Backend {
  readonly envtest: Envtest;
  readonly user: { ca: string; cert: string; key: string };
  readonly agent: Agent;
  readonly first: ReadonlyMap<string, string>;
  /** Definitions that `provide` made, by name. They stay, as making one takes two seconds. */
  readonly provided: Set<string>;
  /** Definitions that the running test made. A kind that it removes is not provided. */
  readonly made: Set<string>;
}

/** The servers that no test uses. Each file loads this module anew; they end with the process. */
const shared = globalThis as { idleServers?: Backend[] };
shared.idleServers ??= [];
const idle: Backend[] = shared.idleServers;

/** Options that a real server can have. */
const POSSIBLE: readonly string[] = ['authorization', 'strict'];

/** Stands for `ApiServer` of `capstan/testing`. */
export class RealApiServer {
  readonly url: string;
  readonly #backend: Backend;
  readonly #server: Server;
  #stopped: Promise<void> | undefined;

  static async start(options: ApiServerOptions = {}): Promise<RealApiServer> {
    for (const [name, value] of Object.entries(options))
      if (!POSSIBLE.includes(name)) onlyEmbedded(`the option ${name}`);
      else if (value === 'ABAC' || (name === 'strict' && value === false))
        onlyEmbedded(`${name}: ${value}`);
    const backend = idle.pop() ?? (await newBackend());
    const test = TestRunner.getCurrentTest();
    const isFresh = test === undefined || needsNoKinds(test.fullTestName ?? test.name);
    await reset(backend, isFresh || options.strict === true);
    const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 });
    const lenient = options.strict !== true;
    server.on('request', (asked, answer) => void serve(backend, lenient, asked, answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const real = new RealApiServer(backend, server);
    return new Proxy(real, {
      get: (_, name) => {
        if (!(name in real)) {
          if (name === 'then') return undefined;
          onlyEmbedded(`server.${String(name)}`);
        }
        const value: unknown = Reflect.get(real, name, real);
        return typeof value === 'function' ? value.bind(real) : value;
      },
    });
  }

  private constructor(backend: Backend, server: Server) {
    this.#backend = backend;
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  transport({ as, headers }: ServerTransportOptions = {}): Transport {
    const all = { ...(as === undefined ? {} : headersAs(as)), ...headers };
    return httpTransport(this.url, { headers: all });
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #end(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    idle.push(this.#backend);
  }
}

async function newBackend(): Promise<Backend> {
  const envtest = await startEnvtest();
  // The name that the embedded server gives to who has no credentials.
  const admin = await envtest.addUser({ name: 'kubernetes-admin', groups: ['system:masters'] });
  const { users } = JSON.parse(admin.kubeconfig());
  const pem = (name: string): string => Buffer.from(users[0].user[name], 'base64').toString();
  const user = {
    ca: envtest.authority,
    cert: pem('client-certificate-data'),
    key: pem('client-key-data'),
  };
  const agent = new Agent({ keepAlive: true, ...user });
  const made = {
    envtest,
    user,
    agent,
    first: new Map<string, string>(),
    provided: new Set<string>(),
    made: new Set<string>(),
  };
  await settled(made);
  return { ...made, first: await contents(envtest) };
}

/** Resolves when the API server has made what it makes after its start. */
async function settled(backend: Backend): Promise<void> {
  for (const path of [
    '/api/v1/namespaces/default/services/kubernetes',
    '/api/v1/namespaces/kube-public',
    '/api/v1/namespaces/kube-node-lease',
  ])
    await until(path, async () => (await ask(backend, 'GET', path)).status === 200);
}

/** The whole of etcd, as base64, but for what the API server keeps writing. */
async function contents(envtest: Envtest): Promise<Map<string, string>> {
  const [key, end] = ['/registry/', '/registry0'].map(base64);
  const { kvs = [] } = (await etcd(envtest, 'kv/range', { key, range_end: end })) as {
    kvs?: { key: string; value: string }[];
  };
  return new Map(
    kvs.filter(({ key }) => !OWN.test(text(key))).map(({ key, value }) => [key, value]),
  );
}

const OWN =
  /^\/registry\/(leases\/kube-system|masterleases|flowschemas|prioritylevelconfigurations)\//;
const base64 = (plain: string): string => Buffer.from(plain).toString('base64');
const text = (encoded: string): string => Buffer.from(encoded, 'base64').toString();

/** Gives etcd back what it had at first, and perhaps the definitions that were provided. */
async function reset(backend: Backend, withoutKinds: boolean): Promise<void> {
  const { envtest, first, provided } = backend;
  backend.made.clear();
  const now = await contents(envtest);
  for (const [key, value] of first)
    if (now.get(key) !== value) await etcd(envtest, 'kv/put', { key, value });
  for (const key of now.keys()) {
    if (first.has(key)) continue;
    const name = /\/customresourcedefinitions\/(.+)$/.exec(text(key))?.[1];
    if (name === undefined) await etcd(envtest, 'kv/deleterange', { key });
    else if (withoutKinds || !provided.has(name))
      await removeDefinition(backend, key, now.get(key));
  }
}

async function removeDefinition(
  backend: Backend,
  key: string,
  value: string | undefined,
): Promise<void> {
  const { metadata, spec } = JSON.parse(text(value ?? '')) as Definition;
  await etcd(backend.envtest, 'kv/deleterange', { key });
  backend.provided.delete(metadata.name);
  for (const { name } of spec.versions)
    await until(`the end of ${metadata.name}`, async () => {
      const path = `/apis/${spec.group}/${name}/${spec.names.plural}`;
      return (await ask(backend, 'GET', path)).status === 404;
    });
}

interface Definition {
  metadata: { name: string };
  spec: {
    group: string;
    names: { plural: string };
    versions: { name: string; served: boolean }[];
  };
}

/** Removes a provided definition when a test is about to make its own of that name. */
async function makeRoom(backend: Backend, { method, url, body }: Asked): Promise<void> {
  if (!url.startsWith(CRDS) || (method !== 'POST' && method !== 'PATCH')) return;
  const name = /"name":\s*"([^"]+\.[^"]+)"/.exec(body.toString())?.[1];
  if (name === undefined) return;
  backend.made.add(name);
  if (!backend.provided.has(name)) return;
  const key = base64(`/registry/apiextensions.k8s.io/customresourcedefinitions/${name}`);
  const value = (await contents(backend.envtest)).get(key);
  await removeDefinition(backend, key, value);
}

async function etcd(envtest: Envtest, method: string, body: object): Promise<unknown> {
  const response = await fetch(`${envtest.etcdUrl}/v3/${method}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`etcd: ${await response.text()}`);
  return response.json();
}

interface Asked {
  method: string;
  url: string;
  headers: OutgoingHttpHeaders;
  body: Buffer;
}

async function serve(
  backend: Backend,
  lenient: boolean,
  from: IncomingMessage,
  to: ServerResponse,
): Promise<void> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of from) chunks.push(chunk);
    const { method = 'GET', url = '/' } = from;
    const headers = { ...from.headers };
    // Each group of an impersonated user is a header of its own.
    for (const [name, values] of Object.entries(from.headersDistinct))
      if (name.startsWith('impersonate-')) headers[name] = values;
    const asked = { method, url, headers, body: Buffer.concat(chunks) };
    await makeRoom(backend, asked);
    if (lenient) await provide(backend, asked);
    const answer = await forward(backend, asked, to);
    if (answer.statusCode === 201 && url.startsWith(CRDS) && !url.includes('dryRun='))
      await served(backend, asked);
    if (method !== 'GET' && url.startsWith(ROLES)) await setTimeout(ROLES_MS);
    to.writeHead(answer.statusCode ?? 500, answer.headers);
    to.flushHeaders();
    answer.on('error', () => to.destroy());
    answer.on('aborted', () => to.destroy());
    answer.pipe(to);
  } catch (error) {
    if (!to.destroyed) console.error(`${from.method} ${from.url}: ${(error as Error).stack}`);
    to.destroy();
  }
}

async function forward(
  { envtest, user, agent }: Backend,
  { method, url, headers, body }: Asked,
  to?: ServerResponse,
): Promise<IncomingMessage> {
  const sent = request(envtest.url + url, {
    method,
    headers: { ...headers, host: new URL(envtest.url).host },
    ...(headers.authorization === undefined ? { agent } : { agent: false, ca: user.ca }),
  });
  to?.on('close', () => sent.destroy());
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return answer;
}

async function ask(
  backend: Backend,
  method: string,
  url: string,
  object?: object,
): Promise<{ status: number | undefined; body: unknown }> {
  const body = Buffer.from(object === undefined ? '' : JSON.stringify(object));
  const headers: Asked['headers'] =
    object === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(body.length) };
  const answer = await forward(backend, { method, url, headers, body });
  let all = '';
  for await (const chunk of answer) all += chunk;
  return { status: answer.statusCode, body: all.startsWith('{') ? JSON.parse(all) : all };
}

/** Makes the namespace and the kind of a request, as the embedded server does. */
async function provide(backend: Backend, { method, url, body }: Asked): Promise<void> {
  const { pathname: path } = new URL(url, 'http://localhost');
  const [, group, version, rest = ''] = /^\/(?:apis\/([^/]+)|api)\/([^/]+)\/(.+)/.exec(path) ?? [];
  const [, namespace, inside] = /^namespaces\/([^/]+)\/([^/]+)/.exec(rest) ?? [];
  if (namespace !== undefined && (method === 'POST' || method === 'PATCH')) {
    const missing = (await ask(backend, 'GET', `/api/v1/namespaces/${namespace}`)).status === 404;
    if (missing)
      await ask(backend, 'POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  }
  const plural = inside ?? rest.split('/')[0] ?? '';
  if (group === undefined || version === undefined || !isCustom(group)) return;
  if (plural === '' || backend.made.has(`${plural}.${group}`)) return;
  const wanted = `${group}/${version}`;
  const { status, body: known } = await ask(backend, 'GET', `/apis/${wanted}`);
  const { resources = [] } = status === 200 ? (known as { resources?: { name: string }[] }) : {};
  if (resources.some(({ name }) => name === plural)) return;
  if ((await ask(backend, 'GET', `${CRDS}/${plural}.${group}`)).status === 200) return;
  const kind =
    /"kind"\s*:\s*"([A-Z][A-Za-z]*)"/.exec(body.toString())?.[1] ??
    (plural[0]?.toUpperCase() ?? '') + plural.slice(1).replace(/ies$/, 'y').replace(/s$/, '');
  const made = definition({ group, version, plural, kind, namespaced: namespace !== undefined });
  await ask(backend, 'POST', CRDS, made);
  backend.provided.add(`${plural}.${group}`);
  await until(plural, async () => {
    const answer = await ask(backend, 'GET', `/apis/${wanted}/${plural}`);
    return answer.status === 200;
  });
}

const isCustom = (group: string): boolean => group.includes('.') && !group.endsWith('.k8s.io');

function definition(of: {
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
}): object {
  const { group, version, plural, kind, namespaced } = of;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { plural, kind },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  };
}

/** Resolves when the kind of a new definition is served, or its names are not accepted. */
async function served(backend: Backend, { body }: Asked): Promise<void> {
  const { metadata, spec } = JSON.parse(body.toString()) as Definition;
  const version = spec.versions.find((each) => each.served)?.name;
  await until(metadata.name, async () => {
    const { body: found } = await ask(backend, 'GET', `${CRDS}/${metadata.name}`);
    const { conditions } = (found as { status?: { conditions?: Condition[] | null } }).status ?? {};
    if (conditions?.some(({ type, status }) => type === 'NamesAccepted' && status === 'False'))
      return true;
    if (version === undefined) return true;
    const { status } = await ask(
      backend,
      'GET',
      `/apis/${spec.group}/${version}/${spec.names.plural}`,
    );
    return status === 200;
  });
}

interface Condition {
  type: string;
  status: string;
}

async function until(what: string, is: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while (!(await is())) {
    if (performance.now() > end) throw new Error(`waited ${WAIT_MS} ms for ${what}`);
    await setTimeout(POLL_MS);
  }
}
