/**
 * Integers beyond 2^53 on the embedded server, compared as bytes. The server rounded them as the
 * client does, so no test could show that a client had changed a number that it did not write.
 */
import { ApiServer } from 'capstan/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const BIG = '9007199254740993';
const path = '/apis/example.com/v1/namespaces/default/widgets';
let server: ApiServer;
beforeAll(async () => {
  server = await ApiServer.start();
});
afterAll(() => server.stop());

async function ask(method: string, at: string, body?: string, type = 'application/json') {
  const init = body === undefined ? {} : { body, headers: { 'content-type': type } };
  const response = await fetch(`${server.url}${at}`, { method, ...init });
  return { status: response.status, text: await response.text() };
}

const widget = (name: string, spec: string): string =>
  `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":${spec}}`;

test.each([
  ['one', `{"serial":${BIG}}`],
  ['negative', `{"serial":-${BIG}}`],
  ['largest', '{"serial":9223372036854775807}'],
  ['smallest', '{"serial":-9223372036854775808}'],
  ['listed', `{"list":[${BIG},9007199254740992,{"serial":${BIG}}]}`],
  ['named', `{"byName":{"__proto__":${BIG},"a\\"b":${BIG}}}`],
])('%s: what is stored is what came', async (name, spec) => {
  const created = await ask('POST', path, widget(name, spec));
  expect(created.status).toBe(201);
  for (const { text } of [created, await ask('GET', `${path}/${name}`), await ask('GET', path)])
    expect(text).toContain(`"spec":${spec}`);
  const label = '{"metadata":{"labels":{"seen":"true"}}}';
  const merged = await ask('PATCH', `${path}/${name}`, label, 'application/merge-patch+json');
  expect(merged.text).toContain(`"spec":${spec}`);
});

test('what is no int64 is a float, as in Go', async () => {
  const { text } = await ask('POST', path, widget('float', '{"a":18446744073709551615,"b":1.0}'));
  expect(text).toContain('"spec":{"a":18446744073709552000,"b":1}');
});

test('patches compare and change them as they are', async () => {
  await ask('POST', path, widget('patched', `{"serial":${BIG}}`));
  const patch = (text: string, type: string) =>
    ask(
      'PATCH',
      `${path}/patched?fieldManager=me${type.startsWith('apply') ? '&force=true' : ''}`,
      text,
      `application/${type}`,
    );
  const test = (value: string) => `[{"op":"test","path":"/spec/serial","value":${value}}]`;
  expect((await patch(test(BIG), 'json-patch+json')).status).toBe(200);
  expect((await patch(test('9007199254740992'), 'json-patch+json')).status).toBe(422);
  const merged = await patch('{"spec":{"serial":9007199254740995}}', 'merge-patch+json');
  expect(merged.text).toContain('"serial":9007199254740995');
  const applied = await patch(
    widget('patched', `{"serial":${BIG},"more":[${BIG}]}`),
    'apply-patch+yaml',
  );
  expect(applied.text).toContain(`"serial":${BIG}`);
  expect(applied.text).toContain(`"more":[${BIG}]`);
});

test('a watch and a stream of initial objects tell them', async () => {
  await ask('POST', path, widget('watched', `{"serial":${BIG}}`));
  const query = 'watch=true&timeoutSeconds=1&resourceVersion=0';
  const { text } = await ask('GET', `${path}?${query}&fieldSelector=metadata.name%3Dwatched`);
  expect(text).toContain(`"spec":{"serial":${BIG}}`);
});

test('those of built-in kinds pass their types', async () => {
  const pod = (seconds: string): string =>
    `{"metadata":{"name":"a"},"spec":{"terminationGracePeriodSeconds":${seconds},"containers":[{"name":"c","image":"i"}]}}`;
  const pods = '/api/v1/namespaces/default/pods';
  const { status, text } = await ask('POST', pods, pod(BIG));
  expect([status, text.includes(`"terminationGracePeriodSeconds":${BIG}`)]).toEqual([201, true]);
  const port = `{"metadata":{"name":"s"},"spec":{"ports":[{"port":${BIG}}]}}`;
  expect((await ask('POST', '/api/v1/namespaces/default/services', port)).status).toBe(400);
});
