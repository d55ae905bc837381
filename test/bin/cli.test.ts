/** The command line in this process, on the sources: arguments, output and exit code. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAllYaml } from '@kubernetes/client-node';
import { afterAll, describe, expect, it } from 'vitest';
import { main } from '../../bin/cli.ts';

const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-cli-')));
afterAll(() => rmSync(place, { recursive: true, force: true }));
const at = (name: string): string => join(place, name);
writeFileSync(at('none.mjs'), 'export const answer = 42;');
writeFileSync(at('lines.mjs'), `throw new Error('boom\\n  at the second line')`);
writeFileSync(at('nothing.mjs'), 'throw Object.create(null)');
writeFileSync(at('circle.mjs'), 'export const c = {}; c.crd = { crd: c };');
writeFileSync(at('getter.mjs'), `export const c = { get crd() { throw new Error('not now'); } };`);
writeFileSync(
  at('endless.mjs'),
  `export const c = { kind: 'CustomResourceDefinition', metadata: { name: 'c.d' } }; c.spec = c;`,
);

/** Without it, the checkout would be packed for each project. */
const VERSION = ['--capstan', '0.1.0'];

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const capstan = (...args: string[]): Promise<Ended> => capstanOn(undefined, ...args);
async function capstanOn(node: string | undefined, ...args: string[]): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  const code = await main(
    args,
    { out: (text) => (stdout += text), err: (text) => (stderr += text) },
    node,
  );
  return { code, stdout, stderr };
}

describe('the command line', () => {
  it('writes nothing into a folder that is not empty', async () => {
    const folder = at('taken');
    mkdirSync(folder);
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    const { code, stdout, stderr } = await capstan('init', folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      'capstan: folder expected one that does not exist or is empty, got ' +
        `${folder} with notes.txt (INVALID_ARGUMENT)\n`,
    );
    expect(readdirSync(folder)).toEqual(['notes.txt']);
  });

  it('writes into a new repository and names the project after its folder', async () => {
    const folder = at('Fox_Den');
    mkdirSync(join(folder, '.git'), { recursive: true });
    writeFileSync(join(folder, '.DS_Store'), ''); // of the Finder, after it has shown the folder
    const { code, stdout } = await capstan('init', folder, ...VERSION);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('\nfox-den is there. Next:'),
    });
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(['.git', 'package.json', 'src']));
  });

  // Paths that are too long for the system, like a full disk: writing fails from deploy/samples on.
  // Existing files stay.
  it.skipIf(process.platform === 'win32').each([[[]], [['.git']]])(
    'leaves no partial project beside %j',
    async (before) => {
      const longest = (process.platform === 'linux' ? 4096 : 1024) - 1;
      const deep = at(`deep ${before.length}`);
      const length = longest - '/deploy/rbac.yaml'.length - deep.length;
      const folder = `${deep}${'/fox'.repeat(length).slice(0, length - 1)}x`;
      mkdirSync(deep);
      for (const name of before) mkdirSync(join(folder, name), { recursive: true });
      const { code, stderr } = await capstan('init', folder, ...VERSION);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^capstan: the project could not be written: ENAMETOOLONG: .* \(INVALID_ARGUMENT\)\n$/,
      );
      expect(readdirSync(before.length === 0 ? deep : folder)).toEqual(before);
    },
  );

  it.skipIf(process.platform === 'win32').each([
    ['fox', 'fox'],
    ['./fox-den/2@x', './fox-den/2@x'],
    ['fox $(den)', `'fox $(den)'`],
    [`fox's`, `'fox'\\''s'`],
    ['-fox', './-fox'],
  ])('prints a cd command that works for %j', async (name, word) => {
    const from = process.cwd();
    mkdirSync(at('shell'), { recursive: true });
    process.chdir(at('shell'));
    try {
      const { stdout } = await capstan('init', '--name', 'fox', ...VERSION, '--', name);
      expect(stdout).toContain(`\n  cd ${word}\n`);
    } finally {
      process.chdir(from);
    }
  });

  // The project was written, and its first command failed with a syntax error in TypeScript.
  it.each([
    ['20.20.2', '\n  npm run dev\n\nIt needs Node >=22.19, and this is Node 20.20.2.\n'],
    ['22.18.0', '\nIt needs Node >=22.19, and this is Node 22.18.0.\n'],
    ['22.19.0', '\n  npm run dev\n'],
    ['24.0.0', '\n  npm run dev\n'],
    ['100.1.0', '\n  npm run dev\n'],
  ])('warns on Node %s if the project does not run there', async (node, end) => {
    const { stdout } = await capstanOn(node, 'init', at(`on-${node}`), ...VERSION);
    expect(stdout.endsWith(end), stdout).toBe(true);
  });

  it.each([
    [['init'], 'init expected one folder, got none'],
    [['init', 'a', 'b'], 'init expected one folder, got a b'],
    [
      ['init', at('new'), '--kind', 'fox'],
      'the kind expected PascalCase, such as "Website", got fox: did you mean "Fox"?',
    ],
    [['init', at('new'), '--group', 'acme'], 'a domain such as "example.com"'],
    // The project was written, and every API server rejected its definition.
    [
      ['init', at('new'), '--group', 'gateway.networking.k8s.io'],
      'a group of your own, as the API server takes',
    ],
    [
      ['init', at('new'), '--group', 'kubernetes.io'],
      '(api-approved.kubernetes.io), got kubernetes.io',
    ],
    [['init', at('new'), '--name', 'Fox'], '--name expected at most 63 small letters'],
    [
      ['init', at('new'), '--name', 'on'],
      'a word that YAML does not read as true, false or null, got on',
    ],
    [
      ['init', at('new'), '--kind', 'Yes'],
      'a word that YAML does not read as true, false or null, got Yes',
    ],
    [['init', at('new'), '--name', 'capstan'], 'another name than that of the package'],
    [
      ['init', at('42')],
      'the folder\'s name expected at most 63 small letters, digits and "-", a ' +
        'letter first and no "-" last, such as "website-controller", got "42" of ' +
        `${at('42')}: give another one with --name`,
    ],
    [['init', at('Capstan')], `got "capstan" of ${at('Capstan')}: give another one with --name`],
    [['init', at('No')], `got "no" of ${at('No')}: give another one with --name`],
    [['init', at('日本')], `got "" of ${at('日本')}: give another one with --name`],
    [
      ['init', at('new'), '--kind', 'ConfigMap'],
      'a name that the project has no other use for, got ConfigMap',
    ],
    [['init', at('new'), '--kind', 'Promise'], 'a name that the project has no other use for'],
    [
      ['init', at('new'), '--force'],
      "Unknown option '--force' of init: there are --kind, --group, --name, --capstan; see",
    ],
    [['init', at('new'), '--knid', 'Fox'], `of init: did you mean "--kind"?`],
    [['init', at('new'), '--kind'], 'argument missing'],
    [['init', at('new'), '--capstan', './no.tgz'], '--capstan expected a version such as 0.1.0'],
    [['crd'], 'crd expected a module'],
    [['crd', at('missing.mjs')], 'could not be loaded'],
    [['crd', at('none.mjs')], 'expected an export that is a custom resource'],
    [['crd', at('lines.mjs')], 'lines.mjs could not be loaded: boom at the second line'],
    [['crd', at('nothing.mjs')], 'could not be loaded: something that has no text'],
    [['crd', at('circle.mjs')], 'expected an export that is a custom resource'],
    [['crd', at('getter.mjs')], 'could not be loaded: not now'],
    [['crd', at('endless.mjs')], 'c.d could not be written as YAML: Maximum call stack'],
    [['crd', at('none.mjs'), '--check'], 'expected the file to compare with, --out <file>'],
    [['launch'], 'crd migrate, shards, types, webhooks, rbac or bench, got "launch"'],
    [['int'], 'got "int": did you mean "init"?'],
    [['help', 'cdr'], 'got "cdr": did you mean "crd"?'],
    [['webhook', 'foo'], 'got "webhook": did you mean "webhooks"?'],
    [['crd-diff'], 'got "crd-diff": did you mean "crd diff"?'],
    // The word was loaded as a module: "/…/dif could not be loaded".
    [['crd', 'dif'], 'or diff or migrate, got "dif": did you mean "diff"?; see capstan crd --help'],
    [['crd', 'migrat', '--all'], 'got "migrat": did you mean "migrate"?'],
    [['crd', 'dif', '--help'], 'got "dif": did you mean "diff"?'],
    [['help', 'crd', 'dif'], 'got "dif": did you mean "diff"?'],
    [
      ['crd', 'launch'],
      'crd expected a module, such as src/website.ts, or diff or migrate, got "launch"; see',
    ],
    [['shards', 'foo'], 'shards expected --namespace with an id'],
    [['bench', 'foo'], 'bench expected options only, got foo'],
    [['constructor'], 'crd migrate, shards, types, webhooks, rbac or bench, got "constructor"'],
    [['add'], 'add expected one kind, such as Website, got none; see capstan add --help'],
    [['add', 'Fox', 'Bear'], 'add expected one kind, such as Website, got Fox Bear'],
  ])('rejects %j', async (args, why) => {
    const { code, stdout, stderr } = await capstan(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(why);
    expect(stderr).toMatch(/^capstan: .* \(INVALID_ARGUMENT\)\n$/);
    expect(existsSync(at('new'))).toBe(false);
  });

  it('prints its help and its version', async () => {
    const { code, stdout: help } = await capstan();
    expect({ code, help: (await capstan('--help')).stdout }).toEqual({ code: 0, help });
    expect((await capstan('help')).stdout).toBe(help);
    for (const name of ['init', 'add', 'crd']) {
      expect(help).toContain(`  ${name} `);
      const { stdout } = await capstan(name, 'any.mjs', '--help');
      expect(stdout).toMatch(new RegExp(`^Usage: capstan ${name} <`));
      expect((await capstan('help', name)).stdout).toBe(stdout);
    }
    expect(await capstan('--version')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it('prints the definitions of several modules as documents, sorted by name', async () => {
    const crd = (plural: string) => ({
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.acme.io` },
    });
    writeFileSync(
      at('two.mjs'),
      `export const b = ${JSON.stringify(crd('wolves'))}; export const n = 1;`,
    );
    writeFileSync(at('one.mjs'), `export default { crd: ${JSON.stringify(crd('bears'))} };`);
    const { stdout } = await capstan('crd', at('two.mjs'), at('one.mjs'));
    expect(loadAllYaml(stdout)).toEqual([crd('bears'), crd('wolves')]);
  });

  describe('crd --out', () => {
    const bears = { kind: 'CustomResourceDefinition', metadata: { name: 'bears.acme.io' } };
    const folder = at('deploy');
    const out = join(folder, 'crd.yaml');
    mkdirSync(folder);
    writeFileSync(at('bears.mjs'), `export const bears = ${JSON.stringify(bears)};`);
    writeFileSync(at('boom.mjs'), `throw new Error('boom')`);
    const state = (): unknown => [readdirSync(folder), readFileSync(out, 'utf8')];

    // `npm run crd` was `capstan crd … > deploy/crd.yaml`: the shell had emptied the file before a
    // module failed.
    it('writes the file, and keeps the old one on any failure', async () => {
      writeFileSync(out, 'old');
      expect(await capstan('crd', at('boom.mjs'), '--out', out)).toMatchObject({
        code: 1,
        stdout: '',
      });
      expect(state()).toEqual([['crd.yaml'], 'old']);
      expect(await capstan('crd', at('bears.mjs'), '--out', out)).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      });
      const { stdout } = await capstan('crd', at('bears.mjs'));
      expect(state()).toEqual([['crd.yaml'], stdout]);
      expect(loadAllYaml(stdout)).toEqual([bears]);
    });

    it('with --check compares the file and writes nothing', async () => {
      const check = () => capstan('crd', at('bears.mjs'), '--out', out, '--check');
      await capstan('crd', at('bears.mjs'), '--out', out);
      const written = readFileSync(out, 'utf8');
      expect(await check()).toEqual({ code: 0, stdout: '', stderr: '' });
      writeFileSync(out, written.replaceAll('\n', '\r\n'));
      expect((await check()).code).toBe(0);
      for (const [text, line] of [
        [`${written}more: 1\n`, 4],
        [written.replace('bears', 'wolves'), 3],
        [written.split('\n').slice(0, 2).join('\n'), 3],
      ] as const) {
        writeFileSync(out, text);
        expect(await check()).toEqual({
          code: 1,
          stdout: '',
          stderr:
            `capstan: ${out} expected what the modules define, and differs from line ${line} on: ` +
            'run the command without --check (INVALID_ARGUMENT)\n',
        });
        expect(readFileSync(out, 'utf8')).toBe(text);
      }
    });

    it.skipIf(process.platform === 'win32')(
      'writes to the target of a link, and the link stays',
      async () => {
        writeFileSync(out, 'old');
        symlinkSync(out, at('link.yaml'));
        expect(await capstan('crd', at('bears.mjs'), '--out', at('link.yaml'))).toMatchObject({
          code: 0,
        });
        expect(readlinkSync(at('link.yaml'))).toBe(out);
        expect(loadAllYaml(readFileSync(out, 'utf8'))).toEqual([bears]);
      },
    );

    // The mode was lost, and a dangling link was replaced by the file.
    it.skipIf(process.platform === 'win32')(
      'keeps the mode of a file, and writes to the target of a dangling link',
      async () => {
        writeFileSync(out, 'old');
        chmodSync(out, 0o640);
        await capstan('crd', at('bears.mjs'), '--out', out);
        expect(statSync(out).mode & 0o777).toBe(0o640);
        rmSync(out);
        symlinkSync(out, at('dangling.yaml'));
        expect(await capstan('crd', at('bears.mjs'), '--out', at('dangling.yaml'))).toMatchObject({
          code: 0,
        });
        expect(readlinkSync(at('dangling.yaml'))).toBe(out);
        expect(loadAllYaml(readFileSync(out, 'utf8'))).toEqual([bears]);
      },
    );

    it.each([
      [folder, `--out expected a file, got ${folder} (INVALID_ARGUMENT)`],
      [
        at('nowhere/crd.yaml'),
        `${at('nowhere/crd.yaml')} could not be written: ENOENT: no such file or directory`,
      ],
    ])('rejects %s', async (path, why) => {
      const { code, stderr } = await capstan('crd', at('bears.mjs'), '--out', path);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining(`capstan: ${why}`),
      });
      expect(stderr).toMatch(/ \(INVALID_ARGUMENT\)\n$/);
    });
  });

  describe('crd, with several definitions of one name', () => {
    const version = (name: string, host = 'string') => ({
      name,
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { properties: { host: { type: host } } } },
    });
    const of = (...versions: object[]) => ({
      kind: 'CustomResourceDefinition',
      metadata: { name: 'bears.acme.io' },
      spec: { group: 'acme.io', versions },
    });
    const v1 = of(version('v1'));
    const beta = of(version('v1beta1'));
    const both = of(version('v1'), { ...version('v1beta1'), storage: false });
    const moduleOf = (name: string, exported: Record<string, object>): string => {
      const lines = Object.entries(exported).map(
        ([as, crd]) => `export const ${as} = ${JSON.stringify(crd)};`,
      );
      writeFileSync(at(name), lines.join('\n'));
      return at(name);
    };

    // The last one by name was printed, and the versions of the others were lost silently.
    it.each([
      ['between its versions', { a: beta, b: both, c: v1 }, both],
      ['after its versions', { a: beta, b: v1, c: both }, both],
      ['before its versions', { a: both, b: v1, c: beta }, both],
      ['twice', { a: both, b: both }, both],
    ])('prints the definition with all versions, exported %s', async (when, exported, whole) => {
      const { stdout, stderr } = await capstan('crd', moduleOf(`${when}.mjs`, exported));
      expect({ stderr, documents: loadAllYaml(stdout) }).toEqual({
        stderr: '',
        documents: [whole],
      });
    });

    it('prints the definitions of an array, as conversionDefinitions gives', async () => {
      const list = { a: v1, definitions: [both] };
      const { stdout } = await capstan('crd', moduleOf('array.mjs', list));
      expect(loadAllYaml(stdout)).toEqual([both]);
    });

    it('prints the conversion, which only the definition with all versions has', async () => {
      const whole = { ...both, spec: { ...both.spec, conversion: { strategy: 'None' } } };
      const { stdout } = await capstan('crd', moduleOf('conversion.mjs', { a: whole, b: v1 }));
      expect(loadAllYaml(stdout)).toEqual([whole]);
    });

    it.each([
      ['no definition has all versions', { a: v1 }, { b: beta }, 'v1 and of v1beta1'],
      [
        'a version differs',
        { a: both },
        { b: of(version('v1beta1', 'integer')) },
        'v1, v1beta1 and of v1beta1',
      ],
      [
        'something else differs',
        { a: both },
        { b: { ...v1, spec: { ...v1.spec, group: 'b' } } },
        'v1, v1beta1 and of v1',
      ],
      [
        'another one is stored',
        { a: both },
        { b: of(version('v1beta1'), version('v1')) },
        'v1, v1beta1 and of v1beta1, v1',
      ],
    ])('rejects them when %s', async (why, one, other, versions) => {
      const paths = [moduleOf(`one ${why}.mjs`, one), moduleOf(`other ${why}.mjs`, other)];
      expect(await capstan('crd', ...paths)).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'capstan: bears.acme.io expected one definition with all of its ' +
          `versions, got several that differ, of ${versions}: export ` +
          'combineVersions([...]) of them alone (INVALID_ARGUMENT)\n',
      });
    });
  });
});
