/**
 * Each test file runs exactly once: vitest never runs a file that is in no project of
 * vitest.config.ts.
 */
import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import config from '../../vitest.config.ts';
import { root } from '../helpers/repository.ts';

interface Project {
  readonly test: { readonly name: string; readonly include: string[]; readonly exclude: string[] };
}
const projects = (config.test?.projects ?? []) as Project[];

test('every test file is in one project', () => {
  // e2e/ and clients/ have their own configurations
  const files = globSync('{test,examples}/**/*.test.ts', {
    cwd: root,
    exclude: ['test/{e2e,clients}/**'],
  });
  expect(files.length).toBeGreaterThan(300);
  const taken = projects.flatMap(({ test: { include, exclude } }) =>
    globSync(include, { cwd: root, exclude }),
  );
  expect(taken.sort()).toEqual(files.sort());
});
