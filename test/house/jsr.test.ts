/**
 * jsr.json matches package.json, so that both registries get one package. Its dry run is part of
 * `npm run test:runtimes`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';

interface Manifest {
  version: string;
  license: string;
  exports: Record<string, unknown>;
  peerDependencies: Record<string, string>;
}

interface Jsr {
  version: string;
  license: string;
  exports: Record<string, string>;
  imports: Record<string, string>;
  publish: { exclude: string[] };
}

const read = (path: string): unknown => JSON.parse(readFileSync(`${root}/${path}`, 'utf8'));
const manifest = read('package.json') as Manifest;
const jsr = read('jsr.json') as Jsr;

it('has the version, the license and the peer of package.json', () => {
  expect([jsr.version, jsr.license]).toEqual([manifest.version, manifest.license]);
  expect(jsr.imports['@kubernetes/client-node']).toBe(
    `npm:@kubernetes/client-node@${manifest.peerDependencies['@kubernetes/client-node']}`,
  );
});

it('exports the sources of every JavaScript entry', () => {
  const entries = Object.keys(manifest.exports).filter((name) => !/\.(json|wasm)$/.test(name));
  expect(Object.keys(jsr.exports)).toEqual(entries);
  expect(Object.values(jsr.exports).filter((path) => !existsSync(`${root}/${path}`))).toEqual([]);
});

it('publishes the compiled core, which git ignores', () => {
  expect(jsr.publish.exclude).toContain('!bindings/generated');
});

it('publishes no README of a folder', () => {
  expect(jsr.publish.exclude).toContain('bindings/**/README.md');
});
