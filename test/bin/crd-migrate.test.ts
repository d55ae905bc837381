/**
 * `capstan crd migrate` on the embedded server: which objects are written, in which pages, what an
 * interruption and a failure leave. That a real server then stores them in the new version is for
 * test/e2e.
 */
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineResource, StatusError } from 'capstan/cache';
import {
  type Client,
  type CustomResourceDefinition,
  crdResource,
  installCRDs,
  listAll,
  newClient,
  withInterceptors,
} from 'capstan/client';
import { ApiServer } from 'capstan/testing';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type MigrationOptions, type MigrationState, migrate } from '../../bin/crd-migrate.ts';
import { capstan } from '../helpers/command-line.ts';
import { foxes, writeKubeconfig } from '../helpers/definition-sources.ts';

const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-crd-migrate-')));
afterAll(() => rmSync(place, { recursive: true, force: true }));
const STATE = join(place, 'state.json');
beforeEach(() => rmSync(STATE, { force: true }));

const NAME = 'foxes.acme.io';
const VERSIONS = ['v1alpha1', 'v1beta1', 'v1'];
const PAGES: MigrationOptions = { pageSize: 4, concurrency: 2, dryRun: false };

interface Fox {
  metadata: { name: string; namespace: string };
  spec?: { age?: number };
}
const foxIn = (version: string) =>
  defineResource<Fox>()({
    group: 'acme.io',
    version,
    kind: 'Fox',
    plural: 'foxes',
    namespaced: true,
  });

/** The definition with all versions, of which one is stored. */
function storing(storage: string): CustomResourceDefinition {
  const crd = foxes({ type: 'object', properties: { age: { type: 'integer' } } });
  const [version] = crd.spec.versions as [CustomResourceDefinition['spec']['versions'][number]];
  crd.spec.versions = VERSIONS.map((name) => ({ ...version, name, storage: name === storage }));
  return crd;
}

/** A server with three Foxes stored in each version, and the writes that its clients send. */
async function started(): Promise<{ client: Client; kubeconfig: string; patched: string[] }> {
  const server = await ApiServer.start();
  const transport = server.transport();
  onTestFinished(async () => {
    await transport.close?.();
    await server.stop();
  });
  const client = newClient({ transport, fieldOwner: 'test' });
  for (const version of VERSIONS) {
    await installCRDs(client, [storing(version)]);
    for (let number = 0; number < 3; number++)
      await client.create(foxIn(version), {
        metadata: { name: `${version}-${number}`, namespace: 'default' },
        spec: { age: number },
      });
  }
  const patched: string[] = [];
  const watched = withInterceptors(client, {
    patch: (inner, resource, key, ...rest) => {
      patched.push((key as { name: string }).name);
      return inner.patch(resource, key, ...rest);
    },
  });
  return { client: watched, kubeconfig: writeKubeconfig(place, server.url), patched };
}

const storedVersions = async (client: Client): Promise<readonly string[]> =>
  (await client.get(crdResource, { name: NAME })).status?.storedVersions ?? [];

async function allFoxes(client: Client): Promise<string[]> {
  const names: string[] = [];
  for await (const { metadata } of listAll(client, foxIn('v1'), { namespace: 'default' }))
    names.push(metadata.name);
  return names;
}

describe('a migration', () => {
  it('writes each object once, page by page, and then storedVersions', async () => {
    const { client, patched } = await started();
    expect(await storedVersions(client)).toEqual(VERSIONS);
    const pages: MigrationState[] = [];
    const onPage = (state: MigrationState): void => void pages.push(state);
    expect(await migrate(client, NAME, { ...PAGES, onPage })).toEqual({
      definition: NAME,
      storage: 'v1',
      stored: VERSIONS,
      written: 9,
    });
    expect(pages.map(({ written }) => written)).toEqual([4, 8]);
    expect(patched.sort()).toEqual((await allFoxes(client)).sort());
    expect(await storedVersions(client)).toEqual(['v1']);
    // again: nothing is left to do
    expect(await migrate(client, NAME, PAGES)).toMatchObject({ stored: ['v1'], written: 0 });
    expect(patched).toHaveLength(9);
  });

  it('goes on where it was interrupted', async () => {
    const { client, patched } = await started();
    let state: MigrationState | undefined;
    const stopped = migrate(client, NAME, {
      ...PAGES,
      onPage(next) {
        state = next;
        throw new Error('stopped');
      },
    });
    await expect(stopped).rejects.toThrow('stopped');
    expect(await storedVersions(client)).toEqual(VERSIONS);
    expect(await migrate(client, NAME, { ...PAGES, state })).toMatchObject({ written: 9 });
    expect(patched.sort()).toEqual((await allFoxes(client)).sort());
  });

  it('begins anew when the state is of another storage version', async () => {
    const { client, patched } = await started();
    const crd = await client.get(crdResource, { name: NAME });
    const state = {
      definition: NAME,
      uid: crd.metadata.uid,
      generation: crd.metadata.generation ?? 0,
      storage: 'v1beta1',
      continue: 'none',
      written: 5,
    };
    expect(await migrate(client, NAME, { ...PAGES, state })).toMatchObject({ written: 9 });
    expect(patched).toHaveLength(9);
  });

  it('goes on with the token that a server gives when a page has expired', async () => {
    const { client, patched } = await started();
    let calls = 0;
    const expiring = withInterceptors(client, {
      async list(inner, resource, options) {
        const page = await inner.list(resource, options);
        if (++calls !== 2) return page;
        const body = { reason: 'Expired', metadata: { continue: options?.continue ?? '' } };
        throw new StatusError(410, body, 'GET');
      },
    });
    expect(await migrate(expiring, NAME, PAGES)).toMatchObject({ written: 9 });
    expect(patched).toHaveLength(9);
  });

  it('leaves storedVersions when an object could not be written', async () => {
    const { client, patched } = await started();
    const refusing = withInterceptors(client, {
      patch: (inner, resource, key, ...rest) => {
        const { name } = key as { name: string };
        if (name !== 'v1-1') return inner.patch(resource, key, ...rest);
        const message = `Fox "${name}" is invalid`;
        return Promise.reject(new StatusError(422, { reason: 'Invalid', message }, 'PATCH'));
      },
    });
    await expect(migrate(refusing, NAME, PAGES)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(
        '1 could not be, so status.storedVersions stays as it is: default/v1-1: PATCH: 422 Invalid',
      ),
    });
    expect(patched).toHaveLength(8);
    expect(await storedVersions(client)).toEqual(VERSIONS);
  });

  it('does not mind objects that are deleted meanwhile', async () => {
    const { client } = await started();
    const deleting = withInterceptors(client, {
      async patch(inner, resource, key, ...rest) {
        if ((key as { name: string }).name === 'v1-1') await inner.delete(resource, key);
        return inner.patch(resource, key, ...rest);
      },
    });
    expect(await migrate(deleting, NAME, PAGES)).toMatchObject({ written: 8 });
    expect(await storedVersions(client)).toEqual(['v1']);
  });

  it('fails when the definition changes meanwhile', async () => {
    const { client } = await started();
    const onPage = () => installCRDs(client, [storing('v1beta1')]).then(() => undefined);
    await expect(migrate(client, NAME, { ...PAGES, onPage })).rejects.toThrow(
      'foxes.acme.io was changed while its objects were written: run the command again',
    );
    expect(await storedVersions(client)).toEqual(VERSIONS);
  });
});

describe('capstan crd migrate', () => {
  it('migrates, and removes the file of its state', async () => {
    const { client, kubeconfig } = await started();
    const cluster = ['--kubeconfig', kubeconfig];
    const dry = await capstan('crd', 'migrate', NAME, ...cluster, '--dry-run');
    const versions = 'storedVersions v1alpha1, v1beta1, v1 → v1';
    expect(dry).toEqual({
      code: 0,
      stderr: '',
      stdout: `${NAME}: would write 9 objects, ${versions}\n`,
    });
    expect(await storedVersions(client)).toEqual(VERSIONS);
    const args = ['crd', 'migrate', '--all', ...cluster, '--page', '2', '--state', STATE];
    expect(await capstan(...args)).toEqual({
      code: 0,
      stderr: '',
      stdout: `${NAME}: wrote 9 objects, ${versions}\n`,
    });
    expect(existsSync(STATE)).toBe(false);
    expect((await capstan(...args)).stdout).toBe('all objects are stored in the storage version\n');
    expect((await capstan('crd', 'migrate', NAME, ...cluster)).stdout).toBe(
      `${NAME}: all objects are stored in v1\n`,
    );
  });

  it.each([
    [[], 'expected names of definitions, such as websites.example.com, or --all'],
    [[NAME, '--all'], 'expected names of definitions, such as websites.example.com, or --all'],
    [[NAME, '--page', '0'], '--page expected a number from 1 on, got 0; see capstan crd migrate'],
    [['none.acme.io'], '"none.acme.io" not found'],
    [[NAME, '--state', join(place, 'bad.json')], 'could not be read as the state of a migration'],
  ])('rejects %j', async (args, why) => {
    writeFileSync(join(place, 'bad.json'), '{}');
    const { kubeconfig } = await started();
    const { code, stdout, stderr } = await capstan(
      ...['crd', 'migrate', ...args, '--kubeconfig', kubeconfig],
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(why);
    expect(readFileSync(join(place, 'bad.json'), 'utf8')).toBe('{}');
  });
});
