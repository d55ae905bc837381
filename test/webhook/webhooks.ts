/** Helpers of the webhook tests: a manager that serves webhooks over HTTPS, and reviews to send. */
import { type RequestOptions, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { defineResource, type KubeObject, TransportError } from 'capstan/cache';
import { type ControllerManager, type ManagerOptions, newManager } from 'capstan/manager';
import { FakeClock } from 'capstan/workqueue';
import { onTestFinished } from 'vitest';
import { type CertificateFolder, certificateFolder } from '../helpers/certificate-folder.ts';

/** As `expect.poll`, on a machine that does other work too. */

export interface Website extends KubeObject {
  spec: { host: string; replicas?: number; tags?: string[] };
}

export const Website = defineResource<Website>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  plural: 'websites',
  namespaced: true,
});

export const website = (spec: Website['spec'], name = 'web'): Website => ({
  apiVersion: 'example.com/v1',
  kind: 'Website',
  metadata: { name, namespace: 'default' },
  spec,
});

/** An AdmissionReview of a Website, as the API server sends it. */
export function reviewOf(request: Record<string, unknown> = {}): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'a-uid',
      kind: { group: 'example.com', version: 'v1', kind: 'Website' },
      resource: { group: 'example.com', version: 'v1', resource: 'websites' },
      requestKind: { group: 'example.com', version: 'v1', kind: 'Website' },
      requestResource: { group: 'example.com', version: 'v1', resource: 'websites' },
      name: 'web',
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: 'jane', uid: '1', groups: ['system:authenticated'] },
      object: website({ host: 'a.example' }),
      oldObject: null,
      dryRun: false,
      options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
      ...request,
    },
  };
}

export const bytesOf = (review: object): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(review));

/** A folder with tls.crt, tls.key and ca.crt, which is removed after the test. */
export async function certDir(): Promise<CertificateFolder> {
  const folder = await certificateFolder('first');
  onTestFinished(folder.remove);
  return folder;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Record<string, unknown>;
  /** The `response` of an AdmissionReview. */
  readonly response: Record<string, unknown>;
}

/** A manager without an API server. */
export function idleManager(options: Partial<ManagerOptions> = {}) {
  const request = () => Promise.reject(new TransportError('refused', 'nobody is there'));
  const clock = new FakeClock();
  return { manager: newManager({ transport: { request }, clock, ...options }), clock };
}

/** Starts a manager, which ends with the test; await `done` for its failures. */
export function startedManager(manager: ControllerManager) {
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  done.catch(() => undefined);
  const stop = () => stopper.abort();
  onTestFinished(async () => {
    stop();
    await done.catch(() => undefined);
  });
  return { stop, done };
}

/** Starts a manager with webhooks on a free port of loopback, with what `prepare` registers. */
export async function servingWebhooks(
  prepare: (manager: ControllerManager) => void,
  options: Partial<ManagerOptions> = {},
) {
  const certs = await certDir();
  const webhook = { bindAddress: '127.0.0.1:0', certDir: certs.path };
  const { manager, clock } = idleManager({ webhook, ...options });
  prepare(manager);
  const started = startedManager(manager);
  await Promise.race([manager.elected(), started.done]);
  const send = (path: string, body: string | Uint8Array, more: RequestOptions = {}) =>
    sendTo(`${manager.url('webhook')}${path}`, body, { ca: certs.ca.cert, ...more });
  const review = (path: string, of: object) => send(path, bytesOf(of));
  return { ...started, manager, clock, certs, send, review };
}

export function sendTo(
  url: string,
  body: string | Uint8Array,
  more: RequestOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method: 'POST',
        agent: false,
        ...more,
        headers: { 'content-type': 'application/json', ...more.headers },
      },
      async (incoming) => {
        const content = await text(incoming).catch(() => '');
        const isReview = incoming.headers['content-type'] === 'application/json';
        const { response = {} } = isReview ? JSON.parse(content) : {};
        resolve({
          status: incoming.statusCode ?? 0,
          text: content,
          headers: incoming.headers,
          response,
        });
      },
    );
    call.once('error', reject);
    call.end(body);
  });
}
