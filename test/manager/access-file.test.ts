/** What a manager asks the API server: on its live page, in a file, and as Roles that suffice. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccessEntry, newClient } from 'capstan/client';
import { newControllerManagedBy } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { fakeTransport } from 'capstan/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { collectErrors } from '../helpers/reported-errors.ts';

const errors = collectErrors();

type Line = AccessEntry & { run: string };

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'capstan-access-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

const linesOf = (text: string): Line[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

let runs = 0;

/** Runs a manager until its controller has written a ConfigMap; resolves with what `look` read. */
async function run(
  options: { accessFile?: string; look?: (url: string) => Promise<string> } = {},
): Promise<string> {
  const { accessFile, look } = options;
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'a', name: 'x' } };
  const transport = fakeTransport({ objects: [object] });
  const manager = newManager({
    transport,
    ...(accessFile === undefined ? {} : { accessFile }),
    leaderElection: { id: 'web', namespace: 'b', releaseOnCancel: true },
    debugPage: { bindAddress: '127.0.0.1:0' },
  });
  const done = Promise.withResolvers<void>();
  newControllerManagedBy(manager)
    .named(`labels-${runs++}`)
    .for(ConfigMap)
    .complete({
      reconcile: async (request, { signal }) => {
        const patch = { type: 'merge' as const, body: { data: { seen: 'yes' } } };
        await manager.client.patch(ConfigMap, request, patch, { signal });
        done.resolve();
      },
    });
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  await Promise.race([done.promise, running]);
  const seen = look === undefined ? '' : await look(manager.url('debugPage') ?? '');
  expect(linesOf(manager.accessRecord.text())).toEqual(manager.accessRecord.entries());
  // A client of the test's own is not the manager's.
  await newClient({ transport }).create(ConfigMap, { metadata: { namespace: 'a', name: 'y' } });
  stop.abort();
  await running;
  return seen;
}

const brief = ({ verb, resource, namespace = '*' }: AccessEntry): string =>
  `${verb} ${resource} ${namespace}`;

test('the live page gives the record', async () => {
  const text = await run({
    look: async (url) => {
      const response = await fetch(`${url}/debug/capstan/access`);
      expect(response.headers.get('content-type')).toBe('application/x-ndjson');
      expect((await fetch(`${url}/debug/capstan/access`, { method: 'POST' })).status).toBe(405);
      return response.text();
    },
  });
  const entries = linesOf(text);
  expect(entries.map(brief)).toEqual(
    expect.arrayContaining(['list configmaps *', 'watch configmaps *', 'patch configmaps a']),
  );
  const patch = entries.find(({ verb }) => verb === 'patch');
  expect(Object.keys(patch?.by ?? {})[0]).toMatch(/reconcile \(.*access-file\.test\.ts:\d+\)$/);
  expect(entries.find(({ resource }) => resource === 'leases')?.by).toEqual({
    'leader election': 1,
  });
});

test('the file has each line at once and the counts at the end, of several managers', async () => {
  const file = join(folder(), 'access.jsonl');
  vi.stubEnv('CAPSTAN_RECORD_ACCESS', file);
  onTestFinished(() => void vi.unstubAllEnvs());
  await run({
    look: async () => {
      expect(linesOf(readFileSync(file, 'utf8')).map(brief)).toContain('patch configmaps a');
      return '';
    },
  });
  await run();
  const lines = linesOf(readFileSync(file, 'utf8'));
  expect(new Set(lines.map((line) => line.run)).size).toBe(2);
  const updates = lines.filter((line) => brief(line) === 'update leases b');
  expect(updates.at(-1)).toMatchObject({ names: ['web'] });
  expect(lines.map(brief)).not.toContain('create configmaps a');
});

test('the option wins over the variable, and nothing is written without them', async () => {
  const place = folder();
  vi.stubEnv('CAPSTAN_RECORD_ACCESS', join(place, 'variable'));
  onTestFinished(() => void vi.unstubAllEnvs());
  await run({ accessFile: join(place, 'option') });
  expect(readFileSync(join(place, 'option'), 'utf8')).not.toBe('');
  expect(() => readFileSync(join(place, 'variable'))).toThrow('ENOENT');
});

test('a file that cannot be written is reported once, and the manager works', async () => {
  const file = join(folder(), 'file');
  writeFileSync(file, '');
  await run({ accessFile: join(file, 'below') });
  expect(errors.filter(({ error }) => String(error).includes('ENOTDIR'))).toHaveLength(1);
});

test('an option that is no path is refused', () => {
  const transport = fakeTransport();
  expect(() => newManager({ transport, accessFile: '' })).toThrow('"options.accessFile" expected');
});
