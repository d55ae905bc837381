/** `capstan shards` on the embedded server, on maps and Leases as replicas write them. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, newClient } from 'capstan/client';
import { ConfigMap, Lease } from 'capstan/kinds';
import type { ShardOverview } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { afterAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { MemberState } from '../../bindings/shards/cluster-view.ts';
import { leaseToWrite, mapToWrite } from '../../bindings/shards/objects.ts';
import { emptyMap, type ShardMap } from '../../bindings/shards/shard-map.ts';
import { chooseEdges, SLOTS } from '../../bindings/shards/slots.ts';
import { capstan } from '../helpers/command-line.ts';
import { writeKubeconfig } from '../helpers/definition-sources.ts';
import { invalidArgument } from '../helpers/expect-error.ts';

const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-shards-')));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const NAMESPACE = 'operators';
/** Long, as a command may start slowly. */
const LEASE = 600_000;
const ALL = Array.from({ length: SLOTS }, (_, slot) => slot);
let client: Client;
let config: string;

beforeEach(async () => {
  const server = await ApiServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const transport = server.transport();
  onTestFinished(async () => void (await transport.close?.()));
  client = newClient({ transport });
  config = writeKubeconfig(place, server.url);
});

async function putMap(more: Partial<ShardMap>): Promise<void> {
  const map = { ...emptyMap(7, chooseEdges([])), floor: 0, ...more };
  const object = mapToWrite(undefined, map, { namespace: NAMESPACE, name: 'web' });
  await client.create(ConfigMap, invalidArgument(object));
}

/** @param ageMs the time since the last renewal */
async function putLease(
  name: string,
  state: Partial<MemberState> | undefined,
  ageMs = 500,
  holder = name,
): Promise<void> {
  const whole =
    state === undefined
      ? undefined
      : { epoch: 7, warm: [], holding: [], leaving: false, weights: [], ...state };
  const object = leaseToWrite(
    undefined,
    { holder, duration: LEASE, state: whole },
    { namespace: NAMESPACE, name: state === undefined ? 'web' : `web-${name}`, group: 'web' },
    new Date(Date.now() - ageMs).toISOString().replace('Z', '000Z'),
  );
  await client.create(Lease, invalidArgument(object));
}

const shards = (...args: readonly string[]) => capstan('shards', ...args, '--kubeconfig', config);

it('prints who owns which slots, what is moved, and how old the Leases are', async () => {
  await putMap({
    slots: ALL.map((slot) => (slot < 32 ? 'a-1' : 'b-2')),
    moving: [{ slot: 31, from: 'a-1', to: 'b-2', since: 7 }],
  });
  const low = ALL.slice(0, 32);
  const high = ALL.slice(31);
  await putLease('a-1', { warm: low, weights: low.map(() => 10), holding: [31] });
  await putLease('b-2', { warm: high, weights: high.map(() => 20) });
  await putLease('c-3', {}, LEASE + 5000);
  await putLease('d-4', {}, 500, '');
  await putLease('a-1', undefined);
  const { code, stdout: out, stderr: err } = await shards('web', '--namespace', NAMESPACE);
  expect(err).toBe('');
  expect(out.replace(/\d+\.\d s/g, 'N s')).toBe(`shards operators/web, epoch 7, coordinator a-1
1 of 64 slots are being moved

REPLICA  STATE    SLOTS  MOVES  OBJECTS  RENEWED  EPOCH
a-1      live     32     +0 -1  320      N s    7
b-2      live     32     +1 -0  640      N s    7
c-3      expired  0      +0 -0  0        N s  7
d-4      ended    0      +0 -0  0        N s    7

SLOTS  OWNER  OBJECTS  MOVE
0-30   a-1    310
31     a-1    10       to b-2: warm
32-63  b-2    640
`);
  expect(code).toBe(0);

  const json = await shards('web', '--namespace', NAMESPACE, '--output', 'json');
  const overview: ShardOverview = JSON.parse(json.stdout);
  expect(overview).toMatchObject({ id: 'web', map: 'good', epoch: 7, coordinator: 'a-1' });
  expect(overview.slots).toHaveLength(SLOTS);
  expect(overview.slots[31]).toMatchObject({ owner: 'a-1', movesTo: 'b-2', step: 'warm' });
  expect(overview.replicas.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'a-1 live',
    'b-2 live',
    'c-3 expired',
    'd-4 ended',
  ]);
  expect(overview.replicas[2]?.renewedMs).toBeGreaterThanOrEqual(LEASE + 5000);

  const list = await shards();
  expect(list.stdout).toBe('NAMESPACE  ID   REPLICAS\noperators  web  3\n');
});

it('exits with 2 without a living owner of a slot, or a map to follow', async () => {
  const missing = await shards('web', '--namespace', NAMESPACE);
  expect(missing).toMatchObject({ code: 2, stderr: '' });
  expect(missing.stdout).toContain('there is no map');
  await putMap({ slots: ALL.map((slot) => (slot === 5 ? '' : slot < 9 ? 'gone-1' : 'a-1')) });
  await putLease('a-1', {});
  const { code, stdout: out } = await shards('web', '--namespace', NAMESPACE);
  expect(code).toBe(2);
  expect(out).toContain('1 of 64 slots have no owner');
  expect(out).toMatch(/gone-1 +gone +8 /);
  expect(out).toMatch(/5 +\(nobody\)/);
  const map = await client.get(ConfigMap, { namespace: NAMESPACE, name: 'web' });
  await client.update(ConfigMap, { ...map, data: { ...map.data, map: '{}' } });
  const changed = await shards('web', '--namespace', NAMESPACE);
  expect(changed).toMatchObject({ code: 2 });
  expect(changed.stdout).toContain('was changed by hand');
});

it('refuses arguments that cannot be meant', async () => {
  expect((await shards('web')).stderr).toContain('expected --namespace with an id');
  expect((await shards('web', 'b', '--namespace', 'x')).stderr).toContain('expected one id');
  expect((await shards('web', '--namespace', 'x', '--output', 'yml')).stderr).toContain(
    'text or json',
  );
  expect((await shards()).stdout).toBe('no shards were found\n');
});
