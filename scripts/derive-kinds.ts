/**
 * Writes bindings/kinds/kinds.ts, and the table of docs/guides/kinds.md: the built-in kinds that a
 * real kube-apiserver (KUBEBUILDER_ASSETS) serves, from its discovery, with their descriptions from
 * its OpenAPI and their types from client-node. Run by hand when a release of Kubernetes or of
 * client-node has other kinds: `node scripts/derive-kinds.ts`, after a build.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { kubeConfigTransport } from 'capstan/client-node';
import { readKubeConfig } from '../test/e2e/same-answers/servers.ts';
import { ControlPlane } from '../test/helpers/control-plane/control-plane.ts';
import {
  type Discovered,
  kindsOf,
  type ServedKind,
  servedResources,
} from '../test/helpers/control-plane/served-kinds.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const TARGET = `${root}bindings/kinds/kinds.ts`;
const PAGE = `${root}docs/guides/kinds.md`;
const MODELS = `${root}node_modules/@kubernetes/client-node/dist/gen/models/all.d.ts`;

interface Definition {
  description?: string;
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

const models = new Set(
  [...readFileSync(MODELS, 'utf8').matchAll(/\/(\w+)\.js'/g)].map(([, name = '']) => name),
);

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The class of client-node: V1Pod, or CoreV1Event where two groups have the name. */
function modelOf({ group, version, kind }: ServedKind): string {
  const first = group === '' ? 'core' : (group.split('.')[0] ?? '');
  const wanted = [`${capital(first)}${capital(version)}${kind}`, `${capital(version)}${kind}`];
  const model = wanted.find((name) => models.has(name));
  if (model === undefined) throw new Error(`client-node has no ${wanted.join(' and no ')}`);
  return model;
}

/** In place of descriptions whose first sentence is a list. */
const WORDS: Record<string, string> = {
  ServiceAccount: 'ServiceAccount is an identity for processes that run in Pods.',
};

/** Up to the first full stop that ends a sentence. */
function firstSentence(text: string): string {
  const [sentence = ''] = /^[\s\S]*?(?<!e\.g|i\.e)\.(?=\s|$)/.exec(text) ?? [text];
  return sentence.replace(/\s+/g, ' ').trim().replace(/\.?$/, '.');
}

/** A comment of paragraphs, whose lines end at 100 columns. */
function comment(paragraphs: readonly string[]): string {
  const blocks = paragraphs.map((text) => {
    const lines: string[] = [];
    for (const word of text.split(' ')) {
      const line = lines.at(-1);
      if (line !== undefined && ` * ${line} ${word}`.length <= 100)
        lines[lines.length - 1] = `${line} ${word}`;
      else lines.push(word);
    }
    return lines.map((line) => ` * ${line}\n`).join('');
  });
  return `/**\n${blocks.join(' *\n')} */\n`;
}

const apiVersion = ({ group, version }: ServedKind): string =>
  group === '' ? version : `${group}/${version}`;

const code = (text: string): string => `\`${text}\``;

function facts(kind: ServedKind): string[] {
  const { subresources, verbs, version, namespaced } = kind;
  return [
    namespaced ? 'namespaced' : 'cluster-scoped',
    ...(subresources.length === 0 ? [] : [`subresources: ${subresources.map(code).join(', ')}`]),
    ...(verbs.includes('watch') ? [] : [`${verbs.join(' and ')} only`]),
    ...(version.includes('beta') ? ['beta: off by default'] : []),
  ];
}

function source(kinds: readonly ServedKind[], description: (kind: ServedKind) => string): string {
  const consts = kinds.map((kind) => {
    const { group, version, plural, namespaced } = kind;
    const of = `${code(apiVersion(kind))} ${code(plural)}, ${facts(kind).join('; ')}.`;
    return (
      `${comment([description(kind), of])}export const ${kind.exported}: ` +
      `Resource<k8s.${modelOf(kind)}> = { group: '${group}', version: '${version}', ` +
      `kind: '${kind.kind}', plural: '${plural}', namespaced: ${namespaced}, indexers: {} };\n`
    );
  });
  return `/**
 * The built-in kinds of Kubernetes 1.36, as a kube-apiserver serves them. Written by \`node
 * scripts/derive-kinds.ts\` from its discovery and OpenAPI; not to be edited.
 */
import type * as k8s from '@kubernetes/client-node';
import type { Resource } from '../base/resource.ts';

${consts.join('\n')}`;
}

/** The rows of the page, between its two marks. */
function page(text: string, kinds: readonly ServedKind[]): string {
  const rows = kinds.map((kind) => {
    const { exported, plural, namespaced, subresources } = kind;
    const more = facts(kind).slice(subresources.length === 0 ? 1 : 2);
    return `| ${[
      code(exported),
      code(apiVersion(kind)),
      code(plural),
      namespaced ? 'yes' : 'no',
      subresources.map(code).join(', '),
      code(modelOf(kind)),
      more.join(', '),
    ].join(' | ')} |`;
  });
  const head = '| kind | version | plural | namespaced | subresources | type | remarks |';
  const table = [head, `| ${'--- | '.repeat(7).trim()}`, ...rows].join('\n');
  const marks = /(<!-- kinds -->\n)[\s\S]*(<!-- end of kinds -->)/;
  if (!marks.test(text)) throw new Error(`${PAGE} has no place for the table`);
  return text.replace(marks, (_, before: string, after: string) => `${before}${table}\n${after}`);
}

const plane = await ControlPlane.start({ everything: true });
try {
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  const resources: Discovered[] = await servedResources(transport);
  const kinds = kindsOf(resources);
  const descriptions = new Map<string, string>();
  for (const prefix of new Set(kinds.map(apiVersion))) {
    const path = `/openapi/v3/${prefix.includes('/') ? 'apis' : 'api'}/${prefix}`;
    const response = await transport.request({ method: 'GET', path });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const { components } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      components: { schemas: Record<string, Definition> };
    };
    for (const { description, ...schema } of Object.values(components.schemas))
      for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? [])
        descriptions.set(`${group}/${version}/${kind}`, description ?? '');
  }
  await transport.close?.();
  const describe = ({ group, version, kind }: ServedKind): string => {
    const text = descriptions.get(`${group}/${version}/${kind}`);
    if (!text) throw new Error(`the server does not describe ${group}/${version} ${kind}`);
    return WORDS[kind] ?? firstSentence(text);
  };
  writeFileSync(TARGET, source(kinds, describe));
  execFileSync('npx', ['biome', 'check', '--write', TARGET], { cwd: root, stdio: 'inherit' });
  writeFileSync(PAGE, page(readFileSync(PAGE, 'utf8'), kinds));
  console.log(`${kinds.length} kinds of ${resources.length} resources`);
} finally {
  await plane.stop();
}
