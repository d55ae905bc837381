/** The table of clients in docs/evidence/embedded-server.md, from the recorded answers. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { listItem } from '../helpers/list-item.ts';
import { recordedOf } from './answers.ts';
import { clientDifferences } from './differences.ts';

const page = fileURLToPath(new URL('../../docs/evidence/embedded-server.md', import.meta.url));
const BLOCK = /(?<=<!-- clients -->\n).*?(?=<!-- \/clients -->)/s;

const text = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
const versionIn = (path: string, pattern: RegExp): string => pattern.exec(text(path))?.[1] ?? '';

const rows = [
  {
    client: 'kubectl',
    version: versionIn('tools/kubectl/go.mod', /k8s\.io\/kubernetes v([\d.]+)/),
    what:
      'commands of the groups discovery, apply, create, get, ' +
      'change, custom, delete, nodes, pods and access',
  },
  {
    client: 'client-go',
    version: versionIn('tools/client-go/go.mod', /k8s\.io\/client-go v([\d.]+)/),
    what:
      'discovery (aggregated or not), dynamic, metadata, scale and typed clients, ' +
      'informers, recorders of events, leader election, CustomResourceDefinitions',
  },
  {
    client: 'client-node',
    version: versionIn('package.json', /"@kubernetes\/client-node": "([\d.]+)"/),
    what:
      'generated APIs, CustomObjectsApi, KubernetesObjectApi, ' +
      'Watch, informers, Exec, Log, Metrics',
  },
  {
    client: 'kubernetes-fluent-client',
    version: versionIn(
      'tools/fluent-client/package.json',
      /"kubernetes-fluent-client": "([\d.]+)"/,
    ),
    what:
      'Apply, Create, Get, Patch, PatchStatus, Scale, Finalize, ' +
      'Evict, Logs, Watch, Delete, kinds of its own',
  },
];

/** The table, and the list of differences. */
export function described(): string {
  const lines = rows.map(({ client, version, what }) => {
    const steps = recordedOf(client).length;
    const other = clientDifferences.filter((each) => each.client === client).length;
    return `| ${client} ${version} | ${what} | ${steps} | ${steps - other} |`;
  });
  const reasons = Map.groupBy(clientDifferences, ({ why }) => why);
  const list = [...reasons].map(([why, of]) =>
    listItem(`${why}: ${of.map(({ step }) => `\`${step.replace(/^\w+: /, '')}\``).join(', ')}`),
  );
  return `${[
    '',
    '| client | covered | steps | same |',
    '|---|---|---|---|',
    ...lines,
    '',
    'What differs:',
    '',
    ...list,
  ].join('\n')}\n\n`;
}

export const documented = (): string => BLOCK.exec(readFileSync(page, 'utf8'))?.[0] ?? '';

export function document(): void {
  writeFileSync(page, readFileSync(page, 'utf8').replace(BLOCK, described));
}
