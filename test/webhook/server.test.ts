/**
 * Webhooks over HTTPS: a manager serves several kinds on one port, with certificates that are read
 * again, metrics, readiness and an end that answers what was asked.
 */
import { connect } from 'node:tls';
import { AdmissionDenied, newWebhookManagedBy } from 'capstan/webhook';
import { describe, expect, test } from 'vitest';
import { expectError, expectRejection } from '../helpers/expect-error.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { ConfigMaps } from '../helpers/resources.ts';
import {
  bytesOf,
  certDir,
  idleManager,
  reviewOf,
  sendTo,
  servingWebhooks,
  startedManager,
  Website,
  website,
} from './webhooks.ts';

const VALIDATE = '/validate-example-com-v1-website';
const MUTATE = '/mutate-example-com-v1-website';
const reported = collectErrorValues();

const denyAll = {
  validateCreate: () => {
    throw new AdmissionDenied('no', { causes: [{ field: 'spec', message: 'bad' }] });
  },
};

describe('a manager with webhooks', () => {
  test('serves several kinds on one port, at the paths of controller-runtime', async () => {
    const { review, manager } = await servingWebhooks((m) => {
      newWebhookManagedBy(m)
        .for(Website)
        .withDefaulter((site) => {
          site.spec.replicas ??= 1;
        })
        .withValidator(denyAll)
        .complete();
      newWebhookManagedBy(m)
        .for(ConfigMaps)
        .withValidator({ validateDelete: (_, request) => request.warn('gone') })
        .complete();
    });
    expect(manager.webhookServer?.paths).toEqual([MUTATE, VALIDATE, '/validate--v1-configmap']);
    expect((await review(MUTATE, reviewOf())).response).toEqual({
      uid: 'a-uid',
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from('[{"op":"add","path":"/spec/replicas","value":1}]').toString('base64'),
    });
    expect((await review(VALIDATE, reviewOf())).response).toEqual({
      uid: 'a-uid',
      allowed: false,
      status: {
        status: 'Failure',
        code: 403,
        reason: 'Forbidden',
        message: 'no',
        details: { causes: [{ field: 'spec', message: 'bad' }] },
      },
    });
    const resource = { group: '', version: 'v1', resource: 'configmaps' };
    const deletion = reviewOf({ resource, operation: 'DELETE', object: null, oldObject: {} });
    expect((await review('/validate--v1-configmap', deletion)).response).toEqual({
      uid: 'a-uid',
      allowed: true,
      warnings: ['gone'],
    });
  });

  test('refuses what is no review, with a status and a text', async () => {
    const { send, review } = await servingWebhooks((m) =>
      newWebhookManagedBy(m).for(Website).withValidator(denyAll).complete(),
    );
    const body = bytesOf(reviewOf());
    expect(await send(VALIDATE, '{')).toMatchObject({ status: 400 });
    expect((await send(VALIDATE, '{')).text).toBe(
      'body: expected JSON in UTF-8, got 1 bytes that are not\n',
    );
    expect(await send(VALIDATE, '')).toMatchObject({ status: 400 });
    expect(await send(VALIDATE, body, { headers: { 'content-type': 'text/plain' } })).toMatchObject(
      { status: 415 },
    );
    expect(await send(VALIDATE, '', { method: 'GET' })).toMatchObject({
      status: 405,
      headers: { allow: 'POST' },
    });
    expect(await send('/validate', body)).toMatchObject({ status: 404 });
    expect((await review(VALIDATE, reviewOf())).status).toBe(200);
  });

  test('reads a body of 3 MiB and no longer one, whether its length is told or not', async () => {
    const { send } = await servingWebhooks((m) =>
      newWebhookManagedBy(m)
        .for(Website)
        .withValidator({ validateDelete: () => undefined })
        .complete(),
    );
    const most = 3 * 1024 * 1024;
    const envelope = JSON.stringify(reviewOf({ object: website({ host: '' }) })).length;
    const long = (length: number) =>
      bytesOf(reviewOf({ object: website({ host: 'a'.repeat(length - envelope) }) }));
    expect(await send(VALIDATE, long(most))).toMatchObject({ status: 200 });
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
      expect(await send(VALIDATE, long(most + 1), { headers })).toMatchObject({
        status: 413,
        text: `body: expected at most ${most} bytes, got more\n`,
        headers: { connection: 'close' },
      });
  });

  test.each([100, 10_000, 500_000])('answers a body with %i objects in objects', async (depth) => {
    const { send, review } = await servingWebhooks((m) =>
      newWebhookManagedBy(m)
        .for(Website)
        .withDefaulter((site) => {
          site.spec.replicas = 1;
        })
        .complete(),
    );
    const nested = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    const body = JSON.stringify(reviewOf()).replace('"host":', `"deep":${nested},"host":`);
    const { status, response } = await send(MUTATE, body);
    // Up to what the stack holds it is reviewed; the API server takes no more than 10 000.
    if (depth === 100) expect(response).toMatchObject({ allowed: true });
    else expect(status === 400 || typeof response.allowed === 'boolean').toBe(true);
    expect((await review(MUTATE, reviewOf())).response).toMatchObject({ allowed: true });
    reported.length = 0;
  });

  test('reports what a handler throws, and its text is in the response', async () => {
    const { review } = await servingWebhooks((m) =>
      newWebhookManagedBy(m)
        .for(Website)
        .withValidator({ validateCreate: () => Promise.reject(new TypeError('a bug')) })
        .complete(),
    );
    expect((await review(VALIDATE, reviewOf())).response).toMatchObject({
      allowed: false,
      status: { code: 500, message: 'a bug' },
    });
    expect(reported.splice(0)).toEqual([new TypeError('a bug')]);
  });

  test('ends the signal of a handler when the API server no longer waits', async () => {
    const entered = Promise.withResolvers<AbortSignal>();
    const { send, clock } = await servingWebhooks((m) =>
      newWebhookManagedBy(m)
        .for(Website)
        .withValidator({
          validateCreate: (_, { signal }) => {
            entered.resolve(signal);
            return new Promise(() => undefined);
          },
        })
        .complete(),
    );
    const answer = send(`${VALIDATE}?timeout=1.5s`, bytesOf(reviewOf()));
    const signal = await entered.promise;
    await clock.run(1499);
    expect(signal.aborted).toBe(false);
    await clock.run(1);
    expect(signal.aborted).toBe(true);
    expect((await answer).response).toMatchObject({ status: { code: 504 } });
    expect(reported.splice(0)).toMatchObject([{ code: 'TIMEOUT' }]);
  });

  test('ends the signal of a handler when the caller hangs up', async () => {
    const entered = Promise.withResolvers<AbortSignal>();
    const { certs, manager } = await servingWebhooks((m) =>
      newWebhookManagedBy(m)
        .for(Website)
        .withValidator({
          validateCreate: (_, { signal }) => {
            entered.resolve(signal);
            return new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason));
            });
          },
        })
        .complete(),
    );
    const { port } = new URL(manager.url('webhook') as string);
    const socket = connect({ port: Number(port), host: '127.0.0.1', ca: certs.ca.cert });
    const body = bytesOf(reviewOf());
    socket.write(
      `POST ${VALIDATE} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    const signal = await entered.promise;
    const ended = new Promise((resolve) => signal.addEventListener('abort', resolve));
    socket.destroy();
    await ended;
    await expect.poll(() => reported.splice(0).length).toBe(1);
  });

  test('takes handlers of other paths, as long as they are free', async () => {
    const { send, manager } = await servingWebhooks((m) =>
      m.webhookServer?.register('/convert', (_, response) => void response.end('converted')),
    );
    expect(await send('/convert', '{}')).toMatchObject({ status: 200, text: 'converted' });
    expectError(
      () => manager.webhookServer?.register('/convert', () => undefined),
      'INVALID_ARGUMENT',
      'the path /convert already has a handler',
    );
  });

  test('counts requests, with the names of controller-runtime', async () => {
    const { send, review, manager } = await servingWebhooks(
      (m) => newWebhookManagedBy(m).for(Website).withValidator(denyAll).complete(),
      { metrics: { bindAddress: 'localhost:0' } },
    );
    await review(VALIDATE, reviewOf());
    await review(VALIDATE, reviewOf({ operation: 'UPDATE', oldObject: {} }));
    await send(VALIDATE, '{');
    const scrape = async () => {
      const response = await fetch(`${manager.url('metrics')}/metrics`);
      return parseText(await response.text());
    };
    const samplesOf = async (name: string) =>
      (await scrape()).get(`controller_runtime_webhook_${name}`)?.samples;
    expect(await samplesOf('requests_total')).toEqual([
      expect.objectContaining({ labels: { code: '200', webhook: VALIDATE }, value: 2 }),
      expect.objectContaining({ labels: { code: '400', webhook: VALIDATE }, value: 1 }),
      expect.objectContaining({ labels: { code: '500', webhook: VALIDATE }, value: 0 }),
    ]);
    expect(await samplesOf('requests_in_flight')).toEqual([
      expect.objectContaining({ labels: { webhook: VALIDATE }, value: 0 }),
    ]);
    expect((await samplesOf('latency_seconds'))?.at(-1)).toMatchObject({ value: 3 });
    expect(await samplesOf('admission_responses_total')).toEqual([
      expect.objectContaining({
        labels: { webhook: VALIDATE, allowed: 'true', admission_code: '200' },
        value: 1,
      }),
      expect.objectContaining({
        labels: { webhook: VALIDATE, allowed: 'false', admission_code: '400' },
        value: 0,
      }),
      expect.objectContaining({
        labels: { webhook: VALIDATE, allowed: 'false', admission_code: '403' },
        value: 1,
      }),
      expect.objectContaining({
        labels: { webhook: VALIDATE, allowed: 'false', admission_code: '500' },
        value: 0,
      }),
    ]);
    expect(await samplesOf('panics_total')).toEqual([expect.objectContaining({ value: 0 })]);
  });

  test('is ready when the server listens', async () => {
    const { path } = await certDir();
    const { manager } = idleManager({
      healthProbe: { bindAddress: 'localhost:0' },
      webhook: { bindAddress: '127.0.0.1:0', certDir: path },
    });
    // The group of the webhooks waits for this one.
    const open = Promise.withResolvers<void>();
    manager.add({
      name: 'slow',
      group: 'HTTP servers',
      start: () => Promise.resolve(),
      ready: () => open.promise,
      needLeaderElection: () => false,
    } as never);
    startedManager(manager);
    const probe = async () => {
      const response = await fetch(`${manager.url('healthProbe')}/readyz/webhook`);
      return [response.status, await response.text()];
    };
    await expect.poll(() => manager.url('healthProbe')).toBeDefined();
    expect(await probe()).toEqual([
      500,
      'internal server error: the webhook server does not listen yet\n',
    ]);
    open.resolve();
    await manager.elected();
    expect(await probe()).toEqual([200, 'ok']);
  });

  test('may serve probes on the same port', async () => {
    const { path, ca } = await certDir();
    const { manager } = idleManager({
      healthProbe: { bindAddress: '127.0.0.1:0' },
      webhook: { bindAddress: '127.0.0.1:0', certDir: path },
    });
    newWebhookManagedBy(manager).for(Website).withValidator(denyAll).complete();
    startedManager(manager);
    await manager.elected();
    const url = manager.url('webhook') as string;
    expect(manager.url('healthProbe')).toBe(url);
    const more = { ca: ca.cert };
    expect(await sendTo(`${url}/readyz`, '', { ...more, method: 'GET' })).toMatchObject({
      status: 200,
      text: 'ok',
    });
    expect((await sendTo(`${url}${VALIDATE}`, bytesOf(reviewOf()), more)).response).toMatchObject({
      allowed: false,
    });
  });

  test('reads its certificate again', async () => {
    const { certs, manager, clock } = await servingWebhooks((m) =>
      newWebhookManagedBy(m).for(Website).withValidator(denyAll).complete(),
    );
    const served = () =>
      new Promise<string>((resolve, reject) => {
        const { port } = new URL(manager.url('webhook') as string);
        const socket = connect({ port: Number(port), host: '127.0.0.1', ca: certs.ca.cert }, () => {
          const { subject } = socket.getPeerCertificate();
          resolve(String(subject.CN));
          socket.destroy();
        });
        socket.once('error', reject);
      });
    expect(await served()).toBe('first');
    await certs.renew('second');
    await clock.run(10_000);
    await expect.poll(served).toBe('second');
  });

  test('answers what was asked before it stops', async () => {
    const entered = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const { review, stop, done } = await servingWebhooks((m) =>
      newWebhookManagedBy(m)
        .for(Website)
        .withValidator({
          validateCreate: () => {
            entered.resolve();
            return finish.promise;
          },
        })
        .complete(),
    );
    const answer = review(VALIDATE, reviewOf());
    await entered.promise;
    stop();
    finish.resolve();
    expect((await answer).response).toMatchObject({ allowed: true });
    await done;
    await expect(review(VALIDATE, reviewOf())).rejects.toThrow('ECONNREFUSED');
  });

  test('does not start without a certificate', async () => {
    const { manager } = idleManager({
      webhook: { bindAddress: '127.0.0.1:0', certDir: '/nowhere' },
    });
    newWebhookManagedBy(manager).for(Website).withValidator(denyAll).complete();
    const { done } = startedManager(manager);
    await expectRejection(done, 'LISTEN', 'has no certificate', '/nowhere/tls');
  });
});

describe('newWebhookManagedBy', () => {
  const manager = () => idleManager({ webhook: { certDir: '/nowhere' } }).manager;

  test('needs a manager with a webhook server', () => {
    expectError(
      () => newWebhookManagedBy(idleManager().manager),
      'INVALID_ARGUMENT',
      'newManager({ webhook: { certDir } })',
    );
    for (const wrong of [undefined, null, 7, {}])
      expectError(() => newWebhookManagedBy(wrong as never), 'INVALID_ARGUMENT', '"manager');
  });

  test('refuses what it does not know', () => {
    const builder = () => newWebhookManagedBy(manager()).for(Website);
    const refused: [() => unknown, string][] = [
      [() => newWebhookManagedBy(manager()).for({} as never), 'what defineResource returns'],
      [() => newWebhookManagedBy(manager()).for(Website, { sub: 'scale' } as never), 'subResource'],
      [
        () => newWebhookManagedBy(manager()).for(Website, { subResource: 'a/b' }),
        'a name, not "", "." or "..", without "/"',
      ],
      [() => builder().complete(), 'call withDefaulter() or withValidator()'],
      [() => builder().withValidator({}), 'an object with validateCreate'],
      [
        () => builder().withValidator({ validateCrate: () => undefined } as never),
        'validateCreate',
      ],
      [() => builder().withValidator({ validateCreate: 7 } as never), 'a function, got 7'],
      [() => builder().withDefaulter(7 as never), '"change" expected a function'],
      [() => builder().withDefaulter(() => undefined, { timeout: 1 } as never), 'timeoutSeconds'],
      [() => builder().withDefaulter(() => undefined, { timeoutSeconds: 31 }), 'at most 30'],
      [() => builder().withDefaulter(() => undefined, { operations: [] }), 'operations'],
      [
        () => builder().withDefaulter(() => undefined, { operations: ['DELETE' as never] }),
        'CREATE, UPDATE or CONNECT, got "DELETE"',
      ],
      [() => builder().withValidator(denyAll, { failurePolicy: 'fail' as never }), '"Fail" or'],
      [
        () => builder().withValidator(denyAll, { reinvocationPolicy: 'Never' } as never),
        'withValidator()',
      ],
      [() => builder().withValidator(denyAll, { name: 'check' }), 'three parts'],
      [() => builder().withValidator(denyAll, { path: 'check' }), 'a path such as'],
      [() => builder().withValidator(denyAll).withValidator(denyAll), 'validating webhook already'],
    ];
    for (const [call, message] of refused) expectError(call, 'INVALID_ARGUMENT', message);
  });

  test('registers once', () => {
    const one = manager();
    const builder = newWebhookManagedBy(one).for(Website).withValidator(denyAll);
    builder.complete();
    expectError(() => builder.complete(), 'INVALID_ARGUMENT', 'registered already');
    expectError(
      () => newWebhookManagedBy(one).for(Website).withValidator(denyAll).complete(),
      'INVALID_ARGUMENT',
      `the path ${VALIDATE} already has a handler`,
    );
    const second = (name?: string) =>
      newWebhookManagedBy(one)
        .for(Website)
        .withValidator(denyAll, { path: '/other', name })
        .complete();
    expectError(second, 'INVALID_ARGUMENT', '/other expected another name than');
    second('other.website.example.com');
    newWebhookManagedBy(one)
      .for<{ spec: { replicas: number } }>(Website, { subResource: 'scale' })
      .withValidator({ validateUpdate: (_, { spec }) => void spec.replicas })
      .complete();
    expect(one.webhookServer?.paths).toEqual([VALIDATE, '/other', `${VALIDATE}-scale`]);
  });
});

describe('the option webhook', () => {
  test.each<[object, string]>([
    [{ bindAddress: '0' }, '"options.webhook.bindAddress"'],
    [{ certDir: 7 }, '"options.webhook.certDir" expected a string'],
    [{ certificate: 'x' }, 'is no option of newManager()'],
    [{ certDir: 'a', selfManaged: {} }, 'either certDir or selfManaged'],
    [{ selfManaged: { namespace: 'a' } }, 'secretName'],
    [{ selfManaged: { namespace: 'a', secretName: 'b', dnsNames: [] } }, 'dnsNames'],
    [{ selfManaged: { namespace: 'a', secretName: 'b', dnsNames: ['a b'] } }, 'got "a b"'],
    [{ clientConfig: {} }, 'either service or url'],
    [{ clientConfig: { url: 'http://a' } }, 'https://127.0.0.1:9443'],
    [{ clientConfig: { service: { namespace: 'a', name: 'B' } } }, 'service.name'],
    [{ maxBodyBytes: 0 }, 'maxBodyBytes'],
    [{ install: 'yes' }, 'install'],
    [{ configurationName: 'A' }, 'configurationName'],
  ])('is checked: %j', (webhook, message) => {
    expectError(() => idleManager({ webhook: webhook as never }), 'INVALID_ARGUMENT', message);
  });

  test('on the address of the metrics leaves no room for their certificate', () => {
    expectError(
      () =>
        idleManager({
          metrics: { bindAddress: ':9443', tls: {} },
          webhook: { certDir: '/certs' },
        }),
      'INVALID_ARGUMENT',
      'on the address of the webhooks',
    );
  });
});
