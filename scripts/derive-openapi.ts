/**
 * Writes bindings/testing/server/openapi/archive.ts: the OpenAPI documents of a real kube-apiserver
 * (KUBEBUILDER_ASSETS), for the embedded one to serve, and what it says of two custom kinds, as the
 * pattern for all others. Run by hand when the server that the embedded one is modelled on changes:
 * `node scripts/derive-openapi.ts`, after a build. Prints the sizes.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { kubeConfigTransport } from 'capstan/client-node';
import {
  CLUSTER,
  NAMESPACED,
  PATTERN_GROUP,
  PATTERN_VERSION,
  type Pattern,
} from '../bindings/testing/server/openapi/pattern.ts';
import { readKubeConfig } from '../test/e2e/same-answers/servers.ts';
import { eventually } from '../test/helpers/control-plane/conditions.ts';
import { ControlPlane } from '../test/helpers/control-plane/control-plane.ts';

const TARGET = fileURLToPath(
  new URL('../bindings/testing/server/openapi/archive.ts', import.meta.url),
);
/** Of documents that the embedded server does not have. */
const LEFT_OUT = ['.well-known/openid-configuration', 'openid/v1/jwks'];

const HEAD = `/**
 * The OpenAPI documents of kube-apiserver 1.36, compressed with brotli, in base64; documents.ts
 * reads them. Written by scripts/derive-openapi.ts. Do not edit.
 */

`;

const definitionOf = ({ kind, plural, scope }: Pattern): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${PATTERN_GROUP}` },
  spec: {
    group: PATTERN_GROUP,
    scope,
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: PATTERN_VERSION,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        },
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
      },
    ],
  },
});

interface V2 {
  paths: Record<string, object>;
  definitions: Record<string, object>;
}

const only = (all: Record<string, object>, wanted: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => wanted(name)));

const plane = await ControlPlane.start();
try {
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  const call = async (path: string, body?: object): Promise<string> => {
    const response = await transport.request({
      method: body === undefined ? 'GET' : 'POST',
      path,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    if (response.status > 201) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  };
  const documents = new Map<string, string>();
  const { paths } = JSON.parse(await call('/openapi/v3')) as V2;
  for (const path of Object.keys(paths)) {
    if (!LEFT_OUT.includes(path)) documents.set(`v3/${path}`, await call(`/openapi/v3/${path}`));
  }
  const v2 = JSON.parse(await call('/openapi/v2')) as V2;
  for (const path of LEFT_OUT) delete v2.paths[`/${path}`];
  for (const path of ['/openid/v1/jwks/', '/.well-known/openid-configuration/'])
    delete v2.paths[path];
  documents.set('v2', JSON.stringify(v2));

  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  for (const pattern of [NAMESPACED, CLUSTER]) await call(crds, definitionOf(pattern));
  const custom = `/openapi/v3/apis/${PATTERN_GROUP}/${PATTERN_VERSION}`;
  let found = '';
  await eventually(
    'the custom kinds are described',
    async () => {
      found = await call(custom).catch(String);
      return (
        (found.includes(NAMESPACED.kind) && found.includes(CLUSTER.kind)) || found.slice(0, 99)
      );
    },
    60_000,
  );
  let extended = v2;
  await eventually(
    'OpenAPI v2 has the custom kinds too',
    async () => {
      extended = JSON.parse(await call('/openapi/v2')) as V2;
      const text = JSON.stringify(Object.keys(extended.paths));
      return (text.includes(NAMESPACED.plural) && text.includes(CLUSTER.plural)) || 'not yet';
    },
    60_000,
  );
  documents.set('custom/v3', found);
  const isNew = (name: string): boolean => !(name in v2.paths) && !(name in v2.definitions);
  documents.set(
    'custom/v2',
    JSON.stringify({
      paths: only(extended.paths, (name) => name.startsWith(`/apis/${PATTERN_GROUP}/`)),
      definitions: only(extended.definitions, isNew),
    }),
  );
  await transport.close?.();

  const texts = [...documents.values()].map((text) => Buffer.from(text));
  const names = [...documents.keys()];
  const index = JSON.stringify(texts.map((text, at) => [names[at], text.length]));
  const all = Buffer.concat([Buffer.from(`${index}\n`), ...texts]);
  const packed = brotliCompressSync(all, {
    params: {
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: all.length,
    },
  });
  const source = `${HEAD}export const ARCHIVE: string =\n  '${packed.toString('base64')}';\n`;
  writeFileSync(TARGET, source);
  console.log(
    `${names.length} documents, ${all.length} bytes, packed ${packed.length}, ` +
      `in the source ${source.length}`,
  );
} finally {
  await plane.stop();
}
