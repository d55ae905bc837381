/** Each metric that a manager serves has a page with its type and labels. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Transport } from 'capstan/cache';
import { newControllerManagedBy } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { newWebhookManagedBy } from 'capstan/webhook';
import { beforeAll, expect, test, vi } from 'vitest';
import { certificateFolder } from '../helpers/certificate-folder.ts';
import { type Family, parseText } from '../helpers/prometheus-text.ts';
import { root } from '../helpers/repository.ts';

/** Served only where there is something to say. */
const SOMETIMES = [
  'capstan_client_flow_rejected_total',
  'capstan_client_flow_requests_total',
  'capstan_client_flow_retry_after_seconds_total',
  'capstan_informer_bytes',
  'capstan_informer_metadata_only',
  'capstan_informer_not_indexed',
  'capstan_shard_foreign_events_total',
  'leader_election_slowpath_total',
];

const fileOf = (name: string): string =>
  `${root}/docs/reference/metrics/${name.replaceAll('_', '-')}.md`;

let served: Map<string, Family>;

beforeAll(async () => {
  await using server = await ApiServer.start();
  const transport = server.transport();
  const stop = new AbortController();
  const certificates = await certificateFolder();
  const manager = newManager({
    transport,
    leaderElection: { id: 'web', namespace: 'default' },
    metrics: { bindAddress: '127.0.0.1:0' },
    webhook: { bindAddress: 'localhost:0', certDir: certificates.path },
  });
  newWebhookManagedBy(manager)
    .for(ConfigMap)
    .withValidator({ validateCreate: () => undefined })
    .withConversion({ version: 'v0', toHub: (object) => object, fromHub: (object) => object })
    .complete();
  newControllerManagedBy(manager)
    .for(ConfigMap)
    .complete(async () => undefined);
  const running = manager.start({ signal: stop.signal });
  try {
    await manager.elected();
    // What an informer says about its watch is there from the first byte on.
    await vi.waitFor(async () => {
      const response = await fetch(`${manager.url('metrics')}/metrics`);
      served = parseText(await response.text());
      expect(served.has('capstan_informer_last_sign_of_life_seconds')).toBe(true);
    });
  } finally {
    stop.abort();
    await running;
    await addShards(transport);
    await transport.close?.();
    certificates.remove();
  }
});

/** Shards and leader election exclude each other. */
async function addShards(transport: Transport): Promise<void> {
  const stop = new AbortController();
  const manager = newManager({
    transport,
    shards: { id: 'shared', namespace: 'default' },
    metrics: { bindAddress: '127.0.0.1:0' },
  });
  const running = manager.start({ signal: stop.signal });
  await manager.elected();
  const response = await fetch(`${manager.url('metrics')}/metrics`);
  for (const [name, family] of parseText(await response.text()))
    if (name.startsWith('capstan_shard_')) served.set(name, family);
  stop.abort();
  await running;
}

test('each has a page with its type and its labels', () => {
  const wrong: string[] = [];
  for (const [name, { type, samples }] of served) {
    if (!existsSync(fileOf(name))) {
      wrong.push(`${name}: no page`);
      continue;
    }
    const page = readFileSync(fileOf(name), 'utf8');
    if (!page.includes(`| Type | ${type} |`)) wrong.push(`${name}: not a ${type} on its page`);
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    const line = /^\| Labels \| (.*) \|$/m.exec(page)?.[1] ?? '';
    const named = [...line.matchAll(/`(\w+)`/g)].map(([, label]) => label);
    if (named.sort().join() !== [...labels].sort().join())
      wrong.push(`${name}: labels ${[...labels]}, on its page ${named}`);
  }
  expect(wrong).toEqual([]);
});

test('each page is of a metric that is served', () => {
  const pages = globSync('docs/reference/metrics/*.md', { cwd: root }).map((path) =>
    basename(path, '.md').replaceAll('-', '_'),
  );
  expect(pages.sort()).toEqual([...new Set([...served.keys(), ...SOMETIMES])].sort());
});

test('all are in the table of docs/reference/metrics.md', () => {
  const table = readFileSync(`${root}/docs/reference/metrics.md`, 'utf8');
  const missing = [...served.keys(), ...SOMETIMES].filter((name) => !table.includes(`[${name}](`));
  expect(missing).toEqual([]);
});
