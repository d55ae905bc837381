/**
 * Runs the single-file examples as a reader does, with plain Node on the built package, and checks
 * their output.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { markdownBlocks } from '../../scripts/doc-blocks.ts';
import { root } from '../helpers/repository.ts';

/**
 * The output of a program. The test fails if the program fails, writes to stderr, or does not exit.
 */
async function run(...program: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, program, {
    cwd: root,
    timeout: 60_000,
  });
  expect(stderr, program[0]).toBe('');
  return stdout;
}

/** Parses `name: 2 requests, 29871 bytes, …`. */
function counted(
  output: string,
  way: string,
): { requests: number; bytes: number; stale: number; rest: string } {
  const line = output.split('\n').find((text) => text.startsWith(`${way}: `)) ?? '';
  const [, requests, bytes, rest = ''] = /: (\d+) requests, (\d+) bytes, (.*)/.exec(line) ?? [];
  const stale = Number(/stale ([\d.]+) ms/.exec(rest)?.[1]);
  return { requests: Number(requests), bytes: Number(bytes), stale, rest };
}

/** The program of a page that contains the text. */
function snippetWith(text: string, page: string): string {
  const blocks = markdownBlocks(page, readFileSync(`${root}/${page}`, 'utf8'));
  return blocks.find(({ code }) => code.includes(text))?.code ?? '';
}

test('discovery: a watch sees each change sooner and with fewer bytes than lists', async () => {
  const output = await run('examples/discovery.ts');
  const once = counted(output, 'list once');
  const again = counted(output, 'list again');
  const watch = counted(output, 'watch');
  expect(once, output).toMatchObject({ requests: 1, rest: '60 changes never seen' });
  expect(watch.requests, 'a list and a watch, or one stream').toBeLessThanOrEqual(2);
  expect(again.requests, output).toBeGreaterThan(watch.requests);
  expect(again.bytes, output).toBeGreaterThan(watch.bytes);
  expect(watch.stale, output).toBeGreaterThan(0);
  expect(again.stale, output).toBeGreaterThan(watch.stale);
});

test('scheduler: every Pod is bound once, and no node is overbooked', async () => {
  const output = await run('examples/scheduler.ts');
  const pods = Array.from({ length: 12 }, (_, i) => `default/job-${i}`).sort();
  const matched = (pattern: RegExp) => [...output.matchAll(pattern)].map(([, pod]) => pod).sort();
  expect(matched(/^(\S+) bound to node-[abc]$/gm)).toEqual(pods);
  expect(matched(/^(\S+) left$/gm)).toEqual(pods);
  expect(output).toContain('12 DELETED events; the server still has 12 Pods, the cache 0');
  expect(output).toContain(
    'phases: Failed Succeeded; never more than 2 of 2 places taken on a node',
  );
});

// It patched in "default" whatever the namespace of the request: a ConfigMap elsewhere was answered
// with 404 for ever.
test('hello-controller: greets the ConfigMaps with its label, and exits', async () => {
  const output = await run('examples/hello-controller.ts');
  expect(output.trim().split('\n').sort()).toEqual([
    'greeted default/first',
    'greeted team-a/last',
  ]);
});

test('provisioner: every claim gets a volume, and deleted claims lose it', async () => {
  const output = await run('examples/provisioner/main.ts');
  const lines = output.split('\n');
  expect(lines).toContain('12 claims: 12 volumes, 12 directories');
  expect(lines).toContain('5 of them deleted: 7 volumes, 7 directories');
  const volumes = [...output.matchAll(/^ {2}(\S+) Bound (pvc-\S+)$/gm)].map(
    ([, claim, volume]) => `${claim} ${volume}`,
  );
  expect(volumes).toHaveLength(19);
  expect(new Set(volumes).size, 'those that stay keep their volumes').toBe(12);
  expect(lines).toContain('12 events ProvisioningSucceeded');
});

test('versions: no object is lost, and a conversion that loses something is found', async () => {
  const [passed, lost, object] = (await run('examples/versions/main.ts')).split('\n');
  expect(passed).toBe('v1beta1 and v1: 200 objects of each came back as they were');
  expect(lost).toMatch(/^Site from v1 to v1beta1 and back: spec\.(port|replicas) /);
  expect(object).toMatch(/^ {2}the object: \{"apiVersion":"demo\.capstan\.dev\/v1"/);
});

test('webhook-source: a posted image reaches the Sites that use it', async () => {
  const lines = (await run('examples/webhook-source.ts')).trim().split('\n');
  expect(lines.filter((line) => line.startsWith('pushed'))).toEqual([
    'pushed press: 202',
    'pushed cart: 202',
    'pushed unused: 202',
    'pushed nonsense: 400',
  ]);
  const rolledOut = lines
    .map((line) => /^(\S+ runs \S+), because of .*webhook$/.exec(line)?.[1])
    .filter(Boolean);
  expect(rolledOut.sort()).toEqual([
    'blog runs sha256:1',
    'news runs sha256:1',
    'shop runs sha256:2',
  ]);
});

// It cancelled its only item before the loop over the snapshot, which then printed nothing.
test("the queue's features beyond client-go: the snapshot has the waiting item", async () => {
  const output = await run(
    '--input-type=module-typescript',
    '--eval',
    snippetWith('new PriorityQueue(', 'docs/guides/queue-alone.md'),
  );
  expect(output).toMatch(/^web waiting 0 \S+\nworking on default\/web\nworking on default\/db\n$/);
});
