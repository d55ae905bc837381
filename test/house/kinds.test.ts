/**
 * capstan/kinds as users get it: the page lists each kind as it is exported, the types are those of
 * client-node, and a bundle has only what is imported.
 */
import { readFileSync } from 'node:fs';
import { defineResource } from 'capstan/cache';
import * as kinds from 'capstan/kinds';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { typeErrors } from '../helpers/type-errors.ts';

const exported = Object.entries(kinds) as [string, (typeof kinds)['Pod']][];

/** The cells of each row of the page's table, without the head. */
function rows(): string[][] {
  const page = readFileSync(`${root}/docs/guides/kinds.md`, 'utf8');
  return [...page.matchAll(/^\| `.*$/gm)].map(([row]) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

const USER = `
import type * as k8s from '@kubernetes/client-node';
import { defineResource, type Resource } from 'capstan/cache';
import type { Client } from 'capstan/client';
import { Deployment, Event, EventsV1Event, HorizontalPodAutoscaler, Pod } from 'capstan/kinds';

declare const client: Client;
export const image = client
  .get(Pod, { namespace: 'default', name: 'web' })
  .then((pod) => pod.spec?.containers[0]?.image?.length);
export const resources: readonly Resource<never, never>[] = [Deployment, Event, EventsV1Event];
export const scaler: Resource<k8s.V2HorizontalPodAutoscaler> = HorizontalPodAutoscaler;
const indexers = { byNode: 'spec.nodeName' };
export const byNode: Resource<k8s.V1Pod, 'byNode'> =
  defineResource<k8s.V1Pod>()({ ...Pod, indexers });
const key = { namespace: 'default', name: 'web' };
// @ts-expect-error a Pod is no Deployment
export const wrong: Promise<k8s.V1Deployment> = client.get(Pod, key);
// @ts-expect-error a member that a Pod does not have
client.create(Pod, { metadata: { name: 'web' }, specs: {} });
`;

describe('capstan/kinds', () => {
  it('is what the table of its page says', () => {
    const listed = rows().map(([name, version, plural, namespaced]) => [
      name,
      { version, plural, namespaced },
    ]);
    expect(listed.length).toBeGreaterThan(65);
    expect(Object.fromEntries(listed)).toEqual(
      Object.fromEntries(
        exported.map(([name, { group, version, plural, namespaced }]) => [
          name,
          {
            version: group === '' ? version : `${group}/${version}`,
            plural,
            namespaced: namespaced ? 'yes' : 'no',
          },
        ]),
      ),
    );
  });

  it('has resources as defineResource makes them, none with the indexers of another', () => {
    for (const [, kind] of exported) {
      const made = defineResource()(kind);
      expect(made).toEqual(kind);
      expect(Object.keys(made)).toEqual(Object.keys(kind));
    }
    expect(new Set(exported.map(([, kind]) => kind.indexers)).size).toBe(exported.length);
  });

  it('has the types of client-node', () => {
    const options = { types: ['node'], skipLibCheck: true };
    expect(typeErrors('kinds', USER, options)).toBe('');
  });

  it('is one object in a bundle of a program that imports one kind', async () => {
    const { outputFiles } = await build({
      stdin: { contents: `export { Pod } from 'capstan/kinds';`, resolveDir: root },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      tsconfigRaw: '{}', // users have no paths: the names resolve through package.json
      write: false,
      logLevel: 'silent',
    });
    const code = outputFiles[0]?.text ?? '';
    expect(code).toContain('plural: "pods"');
    expect(code.match(/plural:/g)).toEqual(['plural:']);
    expect(code).not.toContain('import');
  });
});
