/**
 * The rules of built-in kinds, against what a kube-apiserver 1.36.3 answered: the reasons and
 * fields of its causes, in its order.
 */
import { ApiServer } from 'capstan/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

type Body = Record<string, unknown>;

let server: ApiServer;
beforeAll(async () => {
  server = await ApiServer.start();
});
afterAll(() => server.stop());

let count = 0;

/** The causes of a create, or of an update after a create, as `Invalid spec.x`. */
async function causes(path: string, body: Body, change?: (made: Body) => Body): Promise<string[]> {
  const name = `a${count++}`;
  const named = { ...body, metadata: { ...(body.metadata as Body | undefined), name } };
  const first = await send('POST', path, named);
  if (change === undefined) return first.causes;
  expect(first.causes).toEqual([]);
  return (await send('PUT', `${path}/${name}`, change(first.body))).causes;
}

async function send(
  method: string,
  path: string,
  body: Body,
): Promise<{ body: Body; causes: string[] }> {
  const response = await fetch(server.url + path, {
    method,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  const answer = (await response.json()) as Body;
  if (response.ok) return { body: answer, causes: [] };
  expect(response.status, JSON.stringify(answer)).toBe(422);
  const { causes } = answer.details as { causes: { reason: string; field?: string }[] };
  return {
    body: answer,
    causes: causes.map(({ reason, field }) => `${reason.replace('FieldValue', '')} ${field ?? ''}`),
  };
}

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const SECRETS = '/api/v1/namespaces/default/secrets';
const configMap = (more: Body): Body => ({ apiVersion: 'v1', kind: 'ConfigMap', ...more });
const secret = (more: Body): Body => ({ apiVersion: 'v1', kind: 'Secret', ...more });

describe('a ConfigMap', () => {
  it.each<[string, Body, string[]]>([
    ['a key with a blank', { data: { 'a b': '' } }, ['Invalid data[a b]']],
    ['a key in both', { data: { a: '' }, binaryData: { a: '' } }, ['Invalid data[a]']],
    ['too much', { data: { a: 'x'.repeat(1024 * 1024 + 1) } }, ['TooLong []']],
    ['all that fits', { data: { a: 'x'.repeat(1024 * 1024) } }, []],
  ])('with %s', async (_, more, expected) => {
    expect(await causes(CONFIG_MAPS, configMap(more))).toEqual(expected);
  });

  it('shows the key in an error, and no value', async () => {
    // It showed the value, which in a Secret is one.
    const data = { 'a b': 'c2VjcmV0' };
    for (const [path, body] of [
      [CONFIG_MAPS, configMap({ data: { a: 'c2VjcmV0', ...data }, binaryData: { a: '' } })],
      [SECRETS, secret({ data })],
    ] as const) {
      const text = JSON.stringify(
        (await send('POST', path, { ...body, metadata: { name: 'shown' } })).body,
      );
      expect(text).toContain('data[a b]: Invalid value: \\"a b\\": a valid config key');
      expect(text).not.toContain('c2VjcmV0');
    }
  });

  it('that is immutable stays as it is', async () => {
    const body = configMap({ data: { a: '1' }, immutable: true });
    expect(await causes(CONFIG_MAPS, body, (made) => ({ ...made, data: {} }))).toEqual([
      'Forbidden data',
    ]);
    expect(await causes(CONFIG_MAPS, body, (made) => ({ ...made, immutable: false }))).toEqual([
      'Forbidden immutable',
    ]);
  });
});

describe('a Secret', () => {
  it.each<[string, Body, string[]]>([
    ['a key with a blank', { data: { 'a b': '' } }, ['Invalid data[a b]']],
    [
      'no keys of TLS',
      { type: 'kubernetes.io/tls' },
      ['Required data[tls.crt]', 'Required data[tls.key]'],
    ],
    ['no text of Docker', { type: 'kubernetes.io/dockercfg' }, ['Required data[.dockercfg]']],
    [
      'a text of Docker that is no JSON',
      { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': '{' } },
      ['Invalid data[.dockerconfigjson]'],
    ],
    [
      'neither name nor password',
      { type: 'kubernetes.io/basic-auth' },
      ['Required data[username]', 'Required data[password]'],
    ],
    ['a name alone', { type: 'kubernetes.io/basic-auth', stringData: { username: '' } }, []],
    [
      'an empty key of SSH',
      { type: 'kubernetes.io/ssh-auth', stringData: { 'ssh-privatekey': '' } },
      ['Required data[ssh-privatekey]'],
    ],
    [
      'a token of nobody',
      { type: 'kubernetes.io/service-account-token' },
      ['Required metadata.annotations[kubernetes.io/service-account.name]'],
    ],
  ])('with %s', async (_, more, expected) => {
    expect(await causes(SECRETS, secret(more))).toEqual(expected);
  });

  it('keeps its type', async () => {
    const change = (made: Body): Body => ({ ...made, type: 'other' });
    expect(await causes(SECRETS, secret({}), change)).toEqual(['Invalid type']);
  });
});
