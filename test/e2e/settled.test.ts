/**
 * createOrUpdate and its relatives for all built-in kinds: an object of each is written with every
 * empty list and map set, with null in their place, and with all but its metadata replaced by a
 * state without defaults. The second call writes nothing.
 */
import { newSharedInformerFactory, type Resource, type Transport } from 'capstan/cache';
import {
  type Client,
  createOrPatch,
  createOrUpdate,
  defaultRetry,
  isInvalid,
  newClient,
  retryOnConflict,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { ApiServer } from 'capstan/testing';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { type Empty, emptiesOf, getJson, schemasOf, withEmpties } from './all-kinds/empties.ts';
import { NOT_KEPT, OBJECTS, type SampleObject } from './all-kinds/objects.ts';
import { readKubeConfig } from './same-answers/servers.ts';

type Kind = Resource<SampleObject>;

interface Counted {
  transport: Transport;
  /** The number of writes so far. */
  writes(): number;
}

let plane: ControlPlane;
let embedded: ApiServer;
let real: Transport;
const kinds = new Map<string, Kind>();
const empties = new Map<string, Empty[]>();

beforeAll(async () => {
  plane = await ControlPlane.start();
  real = kubeConfigTransport(await readKubeConfig(plane));
  embedded = await ApiServer.start();
  await discover();
});

afterAll(async () => {
  await real?.close?.();
  await embedded?.stop();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

async function discover(): Promise<void> {
  const { groups } = (await getJson(real, '/apis')) as {
    groups: { preferredVersion: { groupVersion: string } }[];
  };
  const all = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)];
  for (const groupVersion of all) {
    const prefix = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`;
    const [group = '', version = ''] = groupVersion === 'v1' ? ['', 'v1'] : groupVersion.split('/');
    const { resources } = (await getJson(real, prefix)) as {
      resources: { name: string; kind: string; namespaced: boolean }[];
    };
    const schemas = await schemasOf(real, prefix);
    for (const { name: plural, kind, namespaced } of resources) {
      if (plural.includes('/')) continue;
      const id = `${group}/${version}/${plural}`;
      kinds.set(id, { group, version, kind, plural, namespaced, indexers: {} });
      const body = OBJECTS[id];
      if (body !== undefined)
        empties.set(id, emptiesOf(schemas, group, version, kind, { ...body, metadata: {} }));
    }
  }
}

function counted(inner: Transport): Counted {
  let count = 0;
  return {
    writes: () => count,
    transport: {
      request(request) {
        if (request.method !== 'GET' && request.query?.dryRun === undefined) count++;
        return inner.request(request);
      },
    },
  };
}

let names = 10;

/** The object under a unique name. */
function named(
  kind: Kind,
  body: SampleObject,
): { key: { namespace?: string; name: string }; body: SampleObject } {
  const index = String(++names % 256);
  const text = JSON.stringify(body).replaceAll('INDEX', index).replaceAll('NAME', `n${names}`);
  const own = JSON.parse(text) as SampleObject;
  const name = (own.metadata?.name as string | undefined) ?? `n${names}`;
  const key = kind.namespaced ? { namespace: 'default', name } : { name };
  return { key, body: { ...own, metadata: { ...own.metadata, ...key } } };
}

/** The empty members that the server accepts. */
async function taken(client: Client, kind: Kind, id: string): Promise<Empty[]> {
  const accepts = async (some: readonly Empty[]): Promise<boolean> => {
    const { body } = named(kind, withEmpties({ metadata: {}, ...OBJECTS[id] }, some));
    return client.create(kind, body, { dryRun: true }).then(
      () => true,
      () => false,
    );
  };
  const all = empties.get(id) ?? [];
  if (await accepts(all)) return all;
  const some: Empty[] = [];
  for (const empty of all) if (await accepts([...some, empty])) some.push(empty);
  return some;
}

test('every kind that the server has is in the table, or stands there with a reason', () => {
  const known = [...Object.keys(OBJECTS), ...Object.keys(NOT_KEPT)].sort();
  expect([...kinds.keys()].sort()).toEqual(known);
});

const VARIANTS = {
  'without defaults': (body: SampleObject) => body,
  'with every empty list and map': withEmpties,
  'with null for them': (body: SampleObject, some: readonly Empty[]) =>
    withEmpties(body, some, null),
} as const;

interface Side {
  readonly transport: Transport;
  writes(): number;
  client(): Client;
  /** Kinds that the server does not accept, with the reason. */
  readonly refuses: Record<string, string>;
}

const sides: Record<string, () => Side> = {
  'a real server': () => side(real, {}),
  'a real server, from caches': () => side(real, {}, true),
  'the embedded server': () => side(embedded.transport(), {}),
};

function side(inner: Transport, refuses: Side['refuses'], cached = false): Side {
  const { transport, writes } = counted(inner);
  const cache = cached ? newSharedInformerFactory(transport) : undefined;
  if (cache !== undefined) onTestFinished(() => cache.shutdown());
  const client = () => newClient({ transport, cache, onWarning: () => undefined });
  return { transport, writes, client, refuses };
}

/**
 * Writes one object of a kind repeatedly. Each call returns the result and the number of writes.
 */
function turns(bring: typeof createOrUpdate, { writes }: Side, kind: Kind, given: SampleObject) {
  const { key, body } = named(kind, given);
  const { metadata, ...rest } = body;
  return async (client: Client): Promise<string> => {
    const before = writes();
    const { result } = await bring(client, kind, key, (draft) => {
      Object.assign(draft, structuredClone(rest));
      Object.assign(draft.metadata as object, structuredClone(metadata));
    });
    return `${result} ${writes() - before}`;
  };
}

describe.each(Object.entries(sides))('on %s', (_, make) => {
  describe.each([
    ['createOrUpdate', createOrUpdate],
    ['createOrPatch', createOrPatch],
  ] as const)('%s writes once', (_, bring) => {
    test.for(Object.keys(OBJECTS))('%s', async (id) => {
      const at = make();
      const kind = kinds.get(id) as Kind;
      const client = at.client();
      const some = await taken(client, kind, id);
      for (const [variant, vary] of Object.entries(VARIANTS)) {
        const body = vary({ metadata: {}, ...OBJECTS[id] }, some);
        const turn = turns(bring, at, kind, body);
        const got = [await turn(client), await turn(client), await turn(client)];
        const about = `${variant}: ${JSON.stringify(body)}`;
        expect(got, about).toEqual(['created 1', 'unchanged 0', 'unchanged 0']);
      }
    });
  });
});

/**
 * Kinds that refuse an update to a state without defaults, in Go too: a member that was chosen at
 * the create cannot be removed.
 */
const IMMUTABLE: readonly string[] = ['batch/v1/jobs'];

describe('a process that begins anew writes once more at most', () => {
  test.for(Object.keys(OBJECTS))('%s', async (id) => {
    const at = side(real, {});
    const kind = kinds.get(id) as Kind;
    const some = await taken(at.client(), kind, id);
    const turn = turns(
      createOrUpdate,
      at,
      kind,
      withEmpties({ metadata: {}, ...OBJECTS[id] }, some),
    );
    expect(await turn(at.client())).toBe('created 1');
    const client = at.client();
    // the server itself writes the conditions of a definition meanwhile
    const first = await retryOnConflict(defaultRetry, () => turn(client)).catch(
      (error: unknown) => {
        if (IMMUTABLE.includes(id) && isInvalid(error)) return 'immutable';
        throw error;
      },
    );
    if (first === 'immutable') return;
    expect(['unchanged 0', 'unchanged 1', 'updated 1']).toContain(first);
    expect([await turn(client), await turn(client)]).toEqual(['unchanged 0', 'unchanged 0']);
  });
});
