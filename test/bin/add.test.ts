/**
 * `capstan add` in a project that `capstan init` wrote: two kinds are added, and the project still
 * passes its lint, its type check and its tests. A call that fails changes nothing. Needs the built
 * package (`npm test` builds it).
 */
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadAllYaml, loadYaml } from '@kubernetes/client-node';
import type { CustomResourceDefinition } from 'capstan/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { initProject } from '../../bin/init.ts';
import type { PackageFacts } from '../../bin/project-manifest.ts';
import { linkPackages } from '../helpers/project-packages.ts';
import { root } from '../helpers/repository.ts';

const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-add-')));
const project = join(place, 'fox-den');
afterAll(() => rmSync(place, { recursive: true, force: true, maxRetries: 5 }));

const run = promisify(execFile);
async function node(cwd: string, ...args: string[]) {
  return run(process.execPath, args, { cwd, encoding: 'utf8' }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code: code as number, stdout, stderr }),
  );
}
const capstan = (cwd: string, ...args: string[]) =>
  node(cwd, join(root, 'dist/bin/capstan.js'), ...args);
const textOf = (path: string): string => readFileSync(join(project, path), 'utf8');
/** All files of the project with their texts. */
const state = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(project, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path, readFileSync(path, 'utf8')]),
  );

beforeAll(async () => {
  const facts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageFacts;
  await initProject(project, { kind: 'ArcticFox', group: 'den.acme.io' }, facts);
});

describe('capstan add', () => {
  // The modules of the project cannot be loaded before that. The files of the kind were there
  // already when that was found.
  it('changes nothing before npm install', async () => {
    const before = state();
    const { code, stdout, stderr } = await capstan(project, 'add', 'Bear');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^capstan: .*controllers\.ts could not be loaded: Cannot find package/);
    expect(state()).toEqual(before);
    linkPackages(project);
  });

  it('writes the files that it lists, a line in controllers.ts, and the definition', async () => {
    const { code, stdout, stderr } = await capstan(project, 'add', 'Bear');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`  deploy/rbac-bear.yaml
  deploy/samples/bear.yaml
  src/controllers/bear.ts
  src/resources/bear.ts
  test/bear.test.ts

changed:
  deploy/crd.yaml
  src/controllers.ts

Bear is there. Next: write its schema and its reconcile function, then
  npm run crd
  npm test
`);
    expect(textOf('src/controllers.ts')).toMatch(
      /\nexport \{ ArcticFoxController \} from '.*';\nexport \{ BearController \} from '.*';\n$/,
    );
    for (const path of stdout.match(/^ {2}\S+\/\S+$/gm) ?? [])
      expect(textOf(path.trim())).not.toMatch(/gadget|greeting|example\.com/i);
  });

  it('takes group, version, plural and scope, from a folder within the project', async () => {
    const options = ['--group', 'cats.acme.io', '--version', 'v1beta1', '--plural', 'lynxes'];
    const added = await capstan(
      join(project, 'src'),
      'add',
      'Lynx',
      '--cluster-scoped',
      ...options,
    );
    expect(added).toMatchObject({ code: 0, stderr: '' });
    const definitions = loadAllYaml(textOf('deploy/crd.yaml')) as CustomResourceDefinition[];
    expect(
      definitions.map(({ metadata, spec }) => [metadata.name, spec.scope, spec.versions[0]?.name]),
    ).toEqual([
      ['arcticfoxes.den.acme.io', 'Namespaced', 'v1alpha1'],
      ['bears.den.acme.io', 'Namespaced', 'v1alpha1'],
      ['lynxes.cats.acme.io', 'Cluster', 'v1beta1'],
    ]);
    expect(loadYaml(textOf('deploy/samples/lynx.yaml'))).toEqual({
      apiVersion: 'cats.acme.io/v1beta1',
      kind: 'Lynx',
      metadata: { name: 'hello' },
      spec: {},
    });
  });

  it('leaves a project that passes its lint, type check and tests', {
    timeout: 120_000,
  }, async () => {
    const biome = join(project, 'node_modules/@biomejs/biome/bin/biome');
    const lint = await node(project, biome, 'lint', '--error-on-warnings');
    expect(lint, lint.stdout).toMatchObject({ code: 0, stderr: '' });
    expect(await node(project, 'node_modules/typescript/bin/tsc')).toMatchObject({ stdout: '' });
    const tests = await node(project, 'node_modules/vitest/vitest.mjs', 'run', '--no-color');
    expect({ ...tests, stdout: '' }, tests.stdout).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(tests.stdout).toMatch(/Tests +12 passed \(12\)/);
  });

  it.each([
    [
      ['Bear'],
      'a kind that the project does not have, got Bear, whose files exist (deploy/rbac-bear.yaml, ',
    ],
    [['bear-cub'], 'expected PascalCase, such as "Website", got bear-cub: did you mean "BearCub"?'],
    [['Bärchen'], 'expected PascalCase, such as "Website", got Bärchen'],
    [['Client'], 'a name that the project has no other use for, got Client'],
    [['Wolf', '--version', '1'], '--version expected a version such as v1, v1beta1 or v1alpha1'],
    [['Wolf', '--group', 'acme'], 'a domain such as "example.com"'],
    [['Wolf', '--group', 'apps.k8s.io'], '--group expected a group of your own'],
    [['Wolf', '--plural', 'Wolves'], 'plural'],
    [['Wolf', '--plurals', 'wolves'], 'did you mean "--plural"?'],
  ])('refuses %j and changes nothing', async (args, why) => {
    const before = state();
    const { code, stdout, stderr } = await capstan(project, 'add', ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(why);
    expect(stderr).toMatch(/^capstan: .* \(INVALID_ARGUMENT\)\n$/);
    expect(state()).toEqual(before);
  });

  it('refuses a folder that is no project', async () => {
    const other = join(place, 'other');
    mkdirSync(other);
    const none = await capstan(other, 'add', 'Wolf');
    expect(none.stderr).toContain(`project of capstan init, got ${other}, with no package.json`);
    writeFileSync(join(other, 'package.json'), '{ "name": "other" }');
    const bare = await capstan(other, 'add', 'Wolf');
    expect(bare.stderr).toContain(`got ${other}, whose package.json has no member capstan.name`);
    const named = { name: 'other', capstan: { name: 'other', group: 'acme.io' } };
    writeFileSync(join(other, 'package.json'), JSON.stringify(named));
    const empty = await capstan(other, 'add', 'Wolf');
    expect(empty.stderr).toContain(
      `add expected src/controllers.ts in ${other}, to append this line: ` +
        `export { WolfController } from './controllers/wolf.ts'; (every export of that module`,
    );
    expect(readdirSync(other)).toEqual(['package.json']);
  });

  it('leaves everything as it was when a module of the project fails', async () => {
    appendFileSync(join(project, 'src/resources/bear.ts'), `throw new Error('not now');\n`);
    const before = state();
    const { code, stderr } = await capstan(project, 'add', 'Wolf');
    expect(code).toBe(1);
    expect(stderr).toContain('controllers.ts could not be loaded: not now');
    expect(state()).toEqual(before);
    expect(existsSync(join(project, 'src/controllers/wolf.ts'))).toBe(false);
  });
});
