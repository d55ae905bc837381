/**
 * Installing and removing definitions: when it is done, what it waits for, and what ends the wait.
 */
import { StatusError } from 'capstan/cache';
import {
  type Client,
  CRDError,
  type CustomResourceDefinition,
  crdResource,
  installCRDs,
  newClient,
  uninstallCRDs,
} from 'capstan/client';
import { ApiServer, FakeClock } from 'capstan/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { crd, resource } from './website.ts';

const NAME = 'websites.example.com';

type Conditions = NonNullable<NonNullable<CustomResourceDefinition['status']>['conditions']>;
const condition = (
  type: string,
  status: 'True' | 'False',
  reason = 'Because',
  message = 'so it is',
) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-11-21T12:00:00Z',
});
const NAMES = condition('NamesAccepted', 'True');
const ESTABLISHED = condition('Established', 'True');
const notFound = () => new StatusError(404, { reason: 'NotFound', message: 'no' }, 'GET');

/**
 * A scripted server: each read of a definition returns the next state, the last one for ever.
 * undefined: not found.
 */
class Played {
  readonly calls: string[] = [];
  states: (Partial<CustomResourceDefinition> | undefined)[] = [{}];
  /** The answers to lists, in order; the last one for ever. */
  lists: (Error | undefined)[] = [undefined];
  readonly clock = new FakeClock();

  readonly client = {
    apply: async (
      _: unknown,
      object: CustomResourceDefinition,
      options: { fieldOwner?: string; force?: boolean },
    ) => {
      this.calls.push(
        `apply ${object.metadata.name} ${options.fieldOwner} ` +
          `${options.force} ${'status' in object}`,
      );
      return object;
    },
    get: async () => {
      this.calls.push('get');
      const state = this.states.length > 1 ? this.states.shift() : this.states[0];
      if (state === undefined) throw notFound();
      return { ...crd, ...state };
    },
    list: async (of: { version: string; plural: string }) => {
      this.calls.push(`list ${of.plural} ${of.version}`);
      const answer = this.lists.length > 1 ? this.lists.shift() : this.lists[0];
      if (answer !== undefined) throw answer;
      return { items: [], metadata: {} };
    },
    delete: async () => {
      this.calls.push('delete');
    },
  } as unknown as Client;

  says(...conditions: Conditions): Partial<CustomResourceDefinition> {
    return { status: { conditions } };
  }
}

/** The outcome after time has passed. */
async function outcomeAfter<T>(
  ms: number,
  clock: FakeClock,
  promise: Promise<T>,
): Promise<T | Error> {
  let outcome: T | Error = new Error('it is still waiting');
  promise.then(
    (value) => {
      outcome = value;
    },
    (error: Error) => {
      outcome = error;
    },
  );
  await clock.run(ms);
  return outcome;
}

describe('installCRDs', () => {
  it('serves definitions on the embedded server, and changes and removes them', async () => {
    const server = await ApiServer.start();
    const transport = server.transport();
    onTestFinished(async () => {
      await transport.close?.();
      await server.stop();
    });
    const client = newClient({ transport });
    const [installed] = await installCRDs(client, [crd]);
    expect(installed?.status?.conditions?.map(({ type }) => type)).toEqual([
      'NamesAccepted',
      'Established',
    ]);
    await client.create(resource, {
      metadata: { name: 'a', namespace: 'default' },
      spec: { host: 'a' },
    });
    await uninstallCRDs(client, [crd]);
    await expect(client.get(crdResource, { name: NAME })).rejects.toMatchObject({ status: 404 });
    await uninstallCRDs(client, [crd]);
  });

  it('applies with force, with a field owner, without the status', async () => {
    const played = new Played();
    played.states = [played.says(NAMES, ESTABLISHED)];
    const withStatus = { ...crd, ...played.says(NAMES) };
    await outcomeAfter(
      100,
      played.clock,
      installCRDs(played.client, [withStatus], { clock: played.clock, fieldOwner: 'me' }),
    );
    expect(played.calls).toEqual([`apply ${NAME} me true false`, 'get', 'list websites v1']);
  });

  it('waits until the definitions are established', async () => {
    const played = new Played();
    played.states = [
      {},
      played.says(NAMES),
      played.says(NAMES, condition('Established', 'False')),
      played.says(NAMES, ESTABLISHED),
    ];
    const installing = installCRDs(played.client, [crd], { clock: played.clock });
    expect(await outcomeAfter(399, played.clock, installing)).toMatchObject({
      message: 'it is still waiting',
    });
    expect(await outcomeAfter(1, played.clock, installing)).toMatchObject([
      { status: { conditions: [NAMES, ESTABLISHED] } },
    ]);
    expect(played.clock.timers()).toBe(0);
  });

  it.each([
    ['there is nothing yet', notFound()],
    ['storage is made', new StatusError(429, { message: 'storage is (re)initializing' }, 'GET')],
    ['the server has a failure', new StatusError(503, {}, 'GET')],
  ])('waits until each version is served, while %s', async (_, error) => {
    const played = new Played();
    const [version] = crd.spec.versions;
    const versions = ['v1', 'v2', 'v0'].map((name) => ({
      ...version,
      name,
      served: name !== 'v0',
    }));
    played.states = [
      { spec: { ...crd.spec, versions: versions as never }, ...played.says(NAMES, ESTABLISHED) },
    ];
    played.lists = [undefined, error, undefined];
    const installing = installCRDs(played.client, [crd], { clock: played.clock });
    expect(await outcomeAfter(199, played.clock, installing)).toMatchObject({
      message: 'it is still waiting',
    });
    expect(await outcomeAfter(1, played.clock, installing)).toHaveLength(1);
    const lists = played.calls.filter((call) => call.startsWith('list'));
    expect(lists, 'not that which is not served').toEqual(
      ['v1', 'v2', 'v1', 'v2'].map((name) => `list websites ${name}`),
    );
  });

  it('counts a version as served if listing it is forbidden', async () => {
    const played = new Played();
    played.states = [played.says(NAMES, ESTABLISHED)];
    played.lists = [new StatusError(403, { reason: 'Forbidden', message: 'no' }, 'GET')];
    expect(
      await outcomeAfter(
        100,
        played.clock,
        installCRDs(played.client, [crd], { clock: played.clock }),
      ),
    ).toHaveLength(1);
  });

  it("rejects if names are refused for a second, with the server's message", async () => {
    const played = new Played();
    played.states = [
      played.says(
        condition('NamesAccepted', 'False', 'PluralConflict', '"websites" is already in use'),
      ),
    ];
    const installing = installCRDs(played.client, [crd], { clock: played.clock });
    expect(await outcomeAfter(1000, played.clock, installing)).toMatchObject({
      message: 'it is still waiting',
    });
    const error = await outcomeAfter(200, played.clock, installing);
    expect(error).toBeInstanceOf(CRDError);
    expect(error).toMatchObject({
      code: 'CRD',
      definition: NAME,
      message:
        `the server does not accept ${NAME}: NamesAccepted=False ` +
        'PluralConflict: "websites" is already in use',
    });
  });

  it('waits if names were refused before they were changed', async () => {
    const played = new Played();
    const refused = played.says(condition('NamesAccepted', 'False'));
    played.states = [refused, refused, played.says(NAMES, ESTABLISHED)];
    expect(
      await outcomeAfter(
        1000,
        played.clock,
        installCRDs(played.client, [crd], { clock: played.clock }),
      ),
    ).toHaveLength(1);
  });

  it('rejects if the schema is not structural', async () => {
    const played = new Played();
    played.states = [
      played.says(NAMES, condition('NonStructuralSchema', 'True', 'Violations', 'spec.x: type')),
    ];
    const error = await outcomeAfter(
      2000,
      played.clock,
      installCRDs(played.client, [crd], { clock: played.clock }),
    );
    expect(error).toMatchObject({
      code: 'CRD',
      message: expect.stringContaining('NonStructuralSchema=True Violations'),
    });
  });

  it('applies again once the predecessor is deleted', async () => {
    const played = new Played();
    const metadata = { name: NAME, deletionTimestamp: '2026-11-21T12:00:00Z' };
    const going = {
      metadata,
      ...played.says(NAMES, ESTABLISHED, condition('Terminating', 'True')),
    };
    played.states = [going, going, undefined, played.says(NAMES, ESTABLISHED)];
    expect(
      await outcomeAfter(
        1000,
        played.clock,
        installCRDs(played.client, [crd], { clock: played.clock }),
      ),
    ).toHaveLength(1);
    expect(played.calls.filter((call) => call.startsWith('apply'))).toHaveLength(2);
  });

  it("rejects if definitions are not served in time, with the server's message", async () => {
    const played = new Played();
    played.states = [played.says(NAMES, condition('Established', 'False', 'Installing', 'soon'))];
    const installing = installCRDs(played.client, [crd], { clock: played.clock, timeout: 500 });
    expect(await outcomeAfter(1000, played.clock, installing)).toMatchObject({
      code: 'CRD',
      message:
        `${NAME} is not served after 500 ms: NamesAccepted=True Because: ` +
        'so it is; Established=False Installing: soon',
    });
    expect(played.clock.now(), 'the default is ten seconds, as in envtest').toBe(1000);
    const silent = new Played();
    const waiting = installCRDs(silent.client, [crd], { clock: silent.clock });
    expect(await outcomeAfter(9999, silent.clock, waiting)).toMatchObject({
      message: 'it is still waiting',
    });
    expect(await outcomeAfter(100, silent.clock, waiting)).toMatchObject({
      message: `${NAME} is not served after 10000 ms: the server says nothing of it`,
    });
  });

  it('waits until the signal fires', async () => {
    const played = new Played();
    const stop = new AbortController();
    const installing = installCRDs(played.client, [crd], {
      clock: played.clock,
      signal: stop.signal,
    });
    await outcomeAfter(50, played.clock, installing);
    stop.abort(new Error('enough'));
    expect(await outcomeAfter(0, played.clock, installing)).toMatchObject({
      code: 'ABORTED',
      cause: { message: 'enough' },
    });
    expect(played.clock.timers()).toBe(0);
  });

  it('requires a name, and a number as timeout', async () => {
    const { client } = new Played();
    await expect(installCRDs(client, [crd], { timeout: Number.NaN })).rejects.toThrow(
      '"timeout" expected',
    );
    for (const call of [installCRDs, uninstallCRDs]) {
      // `installCRDs(client, crd)` without a list failed with "crds is not iterable".
      for (const crds of [undefined, {}, crd])
        await expect(call(client, crds as never)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('"crds" expected an array of definitions, got '),
        });
      await expect(call(client, [undefined as never])).rejects.toThrow(
        '"crds[]" expected an object',
      );
    }
    await expect(uninstallCRDs(client, [{ ...crd, metadata: {} }])).rejects.toThrow(
      '"crd.metadata.name" expected a name',
    );
  });
});

describe('uninstallCRDs', () => {
  it('waits until the definitions are deleted', async () => {
    const played = new Played();
    played.states = [{}, {}, undefined];
    const leaving = uninstallCRDs(played.client, [crd], { clock: played.clock }).then(() => 'gone');
    expect(await outcomeAfter(199, played.clock, leaving)).toMatchObject({
      message: 'it is still waiting',
    });
    expect(await outcomeAfter(1, played.clock, leaving)).toBe('gone');
  });

  it('rejects if they are not deleted in time, because of a finalizer', async () => {
    const played = new Played();
    played.states = [
      played.says(
        condition('Terminating', 'True', 'InstanceDeletionInProgress', 'could not confirm'),
      ),
    ];
    const leaving = uninstallCRDs(played.client, [crd], { clock: played.clock, timeout: 300 });
    expect(await outcomeAfter(1000, played.clock, leaving)).toMatchObject({
      code: 'CRD',
      message:
        `${NAME} is not gone after 300 ms: Terminating=True ` +
        'InstanceDeletionInProgress: could not confirm',
    });
  });

  it('counts a definition that another client recreated as deleted', async () => {
    const played = new Played();
    played.states = [
      { metadata: { name: NAME, uid: 'old' } },
      { metadata: { name: NAME, uid: 'new' } },
    ];
    const leaving = uninstallCRDs(played.client, [crd], { clock: played.clock }).then(() => 'gone');
    expect(await outcomeAfter(100, played.clock, leaving)).toBe('gone');
  });
});
