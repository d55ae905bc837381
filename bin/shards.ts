/** The arguments and the output of `capstan shards`: the owner of each slot. */
import { type Client, listAll } from 'capstan/client';
import { Lease } from 'capstan/kinds';
import { readShards, type ShardOverview, type ShardSlot } from 'capstan/manager';
import { CLUSTER_FLAGS, onCluster } from './cluster.ts';
import { type Printed, text, usage } from './command.ts';

export const SHARDS_HELP = `Usage: capstan shards [<id>] [options]

Prints the owners of the slots of a manager with "shards", the age of its replicas' Leases, and the
slots that are being moved. Without an id it lists the shards in the cluster, or in a namespace.

  --namespace <name>     of the map and the Leases (needed with an id; default: all namespaces)
  --output <format>      text or json              (default: text)
  --kubeconfig <file>    of the cluster    (default: KUBECONFIG, the own Pod, ~/.kube/config)
  --context <name>       of the kubeconfig (default: its current one)

It exits with 2 when a slot has no owner that is alive, or when there is no map.

Example: capstan shards websites --namespace operators
`;

export const SHARDS_FLAGS = {
  namespace: text,
  output: text,
  ...CLUSTER_FLAGS,
} as const;

const LABEL = 'capstan.dev/shards';

export function runShards(
  positionals: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Promise<Printed> {
  const { namespace, output, kubeconfig, context } = values as Record<string, string | undefined>;
  const [id, ...more] = positionals;
  if (more.length > 0)
    throw usage(`shards expected one id, got ${positionals.join(' ')}`, 'shards');
  if (id !== undefined && namespace === undefined)
    throw usage('shards expected --namespace with an id', 'shards');
  if (output !== undefined && output !== 'text' && output !== 'json')
    throw usage(`--output expected text or json, got ${output}`, 'shards');
  const isJson = output === 'json';
  return onCluster({ kubeconfig, context }, async (client, transport) => {
    if (id === undefined || namespace === undefined) {
      const groups = await groupsOf(client, namespace);
      return { text: isJson ? json(groups) : groupsText(groups), code: 0 };
    }
    const shards = await readShards(transport, { id, namespace });
    return { text: isJson ? json(shards) : overviewText(shards), code: isWhole(shards) ? 0 : 2 };
  });
}

/** Shards whose replicas have Leases. */
interface Group {
  readonly namespace: string;
  readonly id: string;
  readonly replicas: number;
}

async function groupsOf(client: Client, namespace: string | undefined): Promise<Group[]> {
  const counts = new Map<string, number>();
  const options = {
    pageSize: 500,
    labelSelector: LABEL,
    ...(namespace !== undefined && { namespace }),
  };
  for await (const { metadata, spec } of listAll(client, Lease, options)) {
    const key = `${metadata.namespace} ${metadata.labels?.[LABEL]}`;
    counts.set(key, (counts.get(key) ?? 0) + (spec?.holderIdentity ? 1 : 0));
  }
  return [...counts].sort().map(([key, replicas]) => {
    const [where = '', id = ''] = key.split(' ');
    return { namespace: where, id, replicas };
  });
}

const groupsText = (groups: readonly Group[]): string =>
  groups.length === 0
    ? 'no shards were found\n'
    : table([
        ['NAMESPACE', 'ID', 'REPLICAS'],
        ...groups.map(({ namespace, id, replicas }) => [namespace, id, `${replicas}`]),
      ]);

/** Whether there is a map in which each slot has an owner that is alive. */
function isWhole({ slots, replicas }: ShardOverview): boolean {
  const alive = new Set(
    replicas.filter(({ state }) => state === 'live' || state === 'leaving').map(({ name }) => name),
  );
  return slots.length > 0 && slots.every(({ owner }) => alive.has(owner));
}

const MAPS = {
  missing: 'there is no map: is a replica running?',
  changed: 'the map was changed by hand: the coordinator writes a new one',
  newer: 'the map was written by a later release: use the capstan command of that release',
};

/** What `capstan shards ID` prints. */
function overviewText(shards: ShardOverview): string {
  const { namespace, id, map, epoch, coordinator, slots, replicas, isNew } = shards;
  const lines = [`shards ${namespace}/${id}, epoch ${epoch}, coordinator ${coordinator || 'none'}`];
  if (map !== 'good') lines.push(MAPS[map]);
  if (isNew) lines.push('the map is new: slots wait until all replicas have acknowledged it');
  const moves = slots.filter(({ movesTo }) => movesTo !== undefined).length;
  const unowned = slots.filter(({ owner }) => owner === '').length;
  if (unowned > 0) lines.push(`${unowned} of ${slots.length} slots have no owner`);
  if (moves > 0) lines.push(`${moves} of ${slots.length} slots are being moved`);
  const rows = replicas.map((replica) => [
    replica.name,
    replica.state,
    `${replica.slots.length}`,
    `+${replica.incoming} -${replica.outgoing}`,
    `${replica.objects}`,
    replica.renewedMs < 0 ? '-' : `${(replica.renewedMs / 1000).toFixed(1)} s`,
    `${replica.epoch}`,
  ]);
  const head = ['REPLICA', 'STATE', 'SLOTS', 'MOVES', 'OBJECTS', 'RENEWED', 'EPOCH'];
  const owners = runsOf(slots).map(({ first, last, slot, objects }) => [
    first === last ? `${first}` : `${first}-${last}`,
    slot.owner === '' ? '(nobody)' : slot.owner,
    `${objects}`,
    slot.movesTo === undefined ? '' : `to ${slot.movesTo}: ${slot.step}`,
  ]);
  return [
    `${lines.join('\n')}\n`,
    rows.length === 0 ? '' : table([head, ...rows]),
    owners.length === 0 ? '' : table([['SLOTS', 'OWNER', 'OBJECTS', 'MOVE'], ...owners]),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** Groups adjacent slots with the same owner and the same move. */
function runsOf(slots: readonly ShardSlot[]) {
  const runs: { first: number; last: number; slot: ShardSlot; objects: number }[] = [];
  for (const slot of slots) {
    const run = runs.at(-1);
    const isSame =
      run?.slot.owner === slot.owner &&
      run.slot.movesTo === slot.movesTo &&
      run.slot.step === slot.step;
    if (run !== undefined && isSame) {
      run.last = slot.slot;
      run.objects += slot.objects ?? 0;
    } else runs.push({ first: slot.slot, last: slot.slot, slot, objects: slot.objects ?? 0 });
  }
  return runs;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
