/** What is typed and what comes of it: in this process, on the sources. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAllYaml } from '@kubernetes/client-node';
import { afterAll, describe, expect, it } from 'vitest';
import { main } from '../../bin/cli.ts';

const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-cli-')));
afterAll(() => rmSync(place, { recursive: true, force: true }));
const at = (name: string): string => join(place, name);
writeFileSync(at('none.mjs'), 'export const answer = 42;');

async function capstan(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = '';
  let stderr = '';
  const code = await main(args, { out: (text) => (stdout += text), err: (text) => (stderr += text) });
  return { code, stdout, stderr };
}

describe('the command line', () => {
  it('writes nothing into a folder with something in it', async () => {
    const folder = at('taken');
    mkdirSync(folder);
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    const { code, stdout, stderr } = await capstan('init', folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `capstan: folder expected one that does not exist or is empty, got ${folder} with notes.txt (INVALID_ARGUMENT)\n`,
    );
    expect(readdirSync(folder)).toEqual(['notes.txt']);
  });

  it('writes into a new repository, which is named after its folder', async () => {
    const folder = at('Fox_Den');
    mkdirSync(join(folder, '.git'), { recursive: true });
    const { code, stdout } = await capstan('init', folder);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('\nfox-den is there. Next:') });
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(['.git', 'package.json', 'src']));
  });

  it.each([
    [['init'], 'init expected one folder, got none'],
    [['init', 'a', 'b'], 'init expected one folder, got a b'],
    [['init', at('new'), '--kind', 'fox'], 'a name in CamelCase such as "Website"'],
    [['init', at('new'), '--group', 'acme'], 'a domain such as "example.com"'],
    [['init', at('new'), '--name', 'Fox'], '--name expected at most 63 small letters'],
    [['init', at('new'), '--name', 'on'], 'a word that YAML does not take for true, false or nothing, got on'],
    [['init', at('new'), '--kind', 'Yes'], 'a word that YAML does not take for true, false or nothing, got Yes'],
    [['init', at('new'), '--name', 'capstan'], 'another name than that of the package'],
    [
      ['init', at('42')],
      '--name expected at most 63 small letters, digits and "-", such as "website-controller", got 42',
    ],
    [['init', at('new'), '--kind', 'ConfigMap'], 'a name that the project has no other use for, got ConfigMap'],
    [['init', at('new'), '--kind', 'Promise'], 'a name that the project has no other use for'],
    [['init', at('new'), '--kind', 'Main'], 'a kind that no file of the project is named after, got Main'],
    [['init', at('new'), '--force'], "Unknown option '--force'"],
    [['crd'], 'crd expected a module'],
    [['crd', at('missing.mjs')], 'could not be loaded'],
    [['crd', at('none.mjs')], 'expected an export that is a custom resource'],
    [['launch'], 'expected a command, init or crd, got "launch"'],
  ])('refuses %j', async (args, why) => {
    const { code, stdout, stderr } = await capstan(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(why);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(existsSync(at('new'))).toBe(false);
  });

  it('shows its help and its version', async () => {
    expect(await capstan()).toMatchObject({ code: 0, stdout: expect.stringContaining('capstan init <folder>') });
    expect((await capstan('init', '--help')).stdout).toBe((await capstan('--help')).stdout);
    expect(await capstan('--version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it('prints the definitions of several modules as documents, in the order of their names', async () => {
    const crd = (plural: string) => ({ kind: 'CustomResourceDefinition', metadata: { name: `${plural}.acme.io` } });
    writeFileSync(at('two.mjs'), `export const b = ${JSON.stringify(crd('wolves'))}; export const n = 1;`);
    writeFileSync(at('one.mjs'), `export default { crd: ${JSON.stringify(crd('bears'))} };`);
    const { stdout } = await capstan('crd', at('two.mjs'), at('one.mjs'));
    expect(loadAllYaml(stdout)).toEqual([crd('bears'), crd('wolves')]);
  });
});
