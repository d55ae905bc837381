// kubectl explain, apply and diff ask for OpenAPI before anything else; a server without it was 404
// to them. test/e2e/openapi.test.ts compares the documents with those of a real server; here is
// what changes while a server runs.
import { ApiServer } from 'capstan/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { soon } from '../helpers/server/requests.ts';

type Documents = Record<string, { serverRelativeURL: string }>;
interface Document {
  paths: Record<string, unknown>;
  components: { schemas: Record<string, { properties: Record<string, unknown> }> };
  definitions: Record<string, unknown>;
}

let server: ApiServer;
beforeEach(async () => {
  server = await ApiServer.start();
});
afterEach(() => server.stop());

const index = async (): Promise<Documents> =>
  ((await (await fetch(`${server.url}/openapi/v3`)).json()) as { paths: Documents }).paths;

const read = async (path: string): Promise<Document> =>
  (await (await fetch(server.url + path)).json()) as Document;

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'com.example.v1.Lamp';

async function write(method: string, path: string, body: object): Promise<number> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await fetch(server.url + path, {
    method,
    headers: { 'content-type': type },
    body: JSON.stringify(body),
  });
  await answer.arrayBuffer();
  return answer.status;
}

const versions = (spec: object) => [
  {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
  },
];

const lamps = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'lamps.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'lamps', kind: 'Lamp' },
    versions: versions({ type: 'object', properties: { watts: { type: 'integer' } } }),
  },
};

it('every document of the index is there, under its hash', async () => {
  const documents = Object.entries(await index());
  expect(documents.length).toBeGreaterThan(5);
  for (const [name, { serverRelativeURL }] of documents) {
    const answer = await fetch(server.url + serverRelativeURL, { redirect: 'error' });
    const { paths } = (await answer.json()) as Document;
    expect(answer.headers.get('cache-control')).toBe('public, immutable');
    expect(Object.keys(paths).some((path) => path.startsWith(`/${name}`))).toBe(true);
  }
});

it('the document of a definition follows it, and its hash too', async () => {
  await soon(index).not.toHaveProperty(['apis/example.com/v1']);
  expect(await write('POST', CRDS, lamps)).toBe(201);
  await soon(index).toHaveProperty(['apis/example.com/v1']);
  const before = (await index())['apis/example.com/v1'];
  const { components, paths } = await read('/openapi/v3/apis/example.com/v1');
  expect(components.schemas[NAME]?.properties.spec).toEqual(
    lamps.spec.versions[0]?.schema.openAPIV3Schema.properties.spec,
  );
  expect(Object.keys(paths).sort()).toEqual([
    '/apis/example.com/v1/lamps',
    '/apis/example.com/v1/namespaces/{namespace}/lamps',
    '/apis/example.com/v1/namespaces/{namespace}/lamps/{name}',
  ]);

  const spec = { type: 'object', properties: { lumen: { type: 'integer' } } };
  const patch = { spec: { versions: versions(spec) } };
  expect(await write('PATCH', `${CRDS}/lamps.example.com`, patch)).toBe(200);
  const schemaOf = async () =>
    (await read('/openapi/v3/apis/example.com/v1')).components.schemas[NAME];
  await soon(async () => (await schemaOf())?.properties.spec).toEqual(spec);
  await soon(async () => (await index())['apis/example.com/v1']).not.toEqual(before);
  const oldForm = async () => (await read('/openapi/v2')).definitions;
  await soon(async () => (await oldForm())[NAME]).toMatchObject({ properties: { spec } });

  expect(await write('DELETE', `${CRDS}/lamps.example.com`, {})).toBe(200);
  await soon(index).not.toHaveProperty(['apis/example.com/v1']);
  await soon(oldForm).not.toHaveProperty([NAME]);
});

it('a kind that no definition defines takes any member', async () => {
  const tree = { apiVersion: 'wood.example.com/v1', kind: 'Tree', metadata: { name: 'oak' } };
  const path = '/apis/wood.example.com/v1/namespaces/default/trees';
  expect(await write('POST', path, tree)).toBe(201);
  const { components } = await read('/openapi/v3/apis/wood.example.com/v1');
  expect(components.schemas['com.example.wood.v1.Tree']).toMatchObject({
    'x-kubernetes-preserve-unknown-fields': true,
  });
});

it('a client that asks for protobuf alone gets 406', async () => {
  const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const headers = { accept };
  expect((await fetch(`${server.url}/openapi/v2`, { headers })).status).toBe(406);
  const both = { accept: `${accept},application/json;q=0.9` };
  expect((await fetch(`${server.url}/openapi/v2`, { headers: both })).status).toBe(200);
});
