/** A release: the address that it asks for, when it refuses, and the manifest that it publishes. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  type Manifest,
  problemsOfRelease,
  provenanceOf,
  repositoryAddress,
  withRepository,
} from '../../scripts/release-manifest.ts';
import { root } from '../helpers/repository.ts';

const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as Manifest;
const address = 'https://git.acme.io/tools/capstan';

describe('the manifest in the repository', () => {
  it('names no address, as none is known', () => {
    expect(manifest).not.toHaveProperty('repository');
    expect(manifest).not.toHaveProperty('homepage');
    expect(manifest).not.toHaveProperty('bugs');
  });
});

describe('the address of the repository', () => {
  it.each([address, `${address}.git`, `${address}/`, `git+${address}.git`, ` ${address} `])(
    'is taken as %j',
    (text) => expect(repositoryAddress(text)).toBe(address),
  );

  it.each([
    '',
    'capstan',
    'http://git.acme.io/tools/capstan',
    'git@git.acme.io:tools/capstan.git',
    'https://git.acme.io',
    'https://git.acme.io/capstan',
    'https://token@git.acme.io/tools/capstan',
    'https://git.acme.io/tools/capstan?a=b',
    'https://git.acme.io/tools/capstan#readme',
    'https://example.com/tools/capstan',
    'https://git.example/tools/capstan',
    'https://localhost/tools/capstan',
  ])('is refused as %j, with what is expected', (text) => {
    expect(() => repositoryAddress(text)).toThrow(
      /^expected --repository .*https:\/\/host\/owner\/name, got /,
    );
  });

  // A shell without a terminal is not asked: the release ends.
  it('is required by the program, before it writes anything', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['scripts/release.ts', '--dry-run'],
      { cwd: root, encoding: 'utf8', input: '' },
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^release: expected --repository .*, got none: .*\n$/);
  });
});

it('the published manifest differs by the address alone', () => {
  const published = withRepository(manifest, address);
  const { repository, homepage, bugs, ...rest } = published;
  expect({ repository, homepage, bugs }).toEqual({
    repository: { type: 'git', url: 'git+https://git.acme.io/tools/capstan.git' },
    homepage: 'https://git.acme.io/tools/capstan#readme',
    bugs: 'https://git.acme.io/tools/capstan/issues',
  });
  expect(rest).toEqual(manifest);
});

describe('a release', () => {
  const ready = {
    version: '1.2.3',
    jsrVersion: '1.2.3',
    changelog: '# Changelog\n\n## 1.2.3 (2027-01-31)\n',
    isClean: true,
    tags: ['v1.2.3'],
    env: { GITHUB_ACTIONS: 'true', ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token' },
  };

  it('may publish a tagged commit with a dated heading, in its workflow', () => {
    expect(problemsOfRelease(ready)).toEqual([]);
  });

  it.each([
    [{ jsrVersion: '1.2.2' }, 'jsr.json has version 1.2.2, package.json has 1.2.3'],
    [{ changelog: '## 1.2.3 (unreleased)' }, 'CHANGELOG.md calls 1.2.3 unreleased'],
    [{ changelog: '## 1.2.2' }, 'CHANGELOG.md has no heading "## 1.2.3"'],
    [{ isClean: false }, 'the checkout has changes that are not committed'],
    [{ tags: [''] }, 'this commit has no tag v1.2.3'],
    [{ env: {} }, 'this is not the release workflow'],
    [{ env: { GITHUB_ACTIONS: 'true' } }, 'this is not the release workflow'],
  ])('stops at %j', (change, why) => {
    const problems = problemsOfRelease({ ...ready, ...change });
    expect(problems).toEqual([expect.stringContaining(why)]);
  });

  it('asks for a statement about the archive, the commit and the workflow', () => {
    const facts = { manifest, address, commit: 'c0ffee', sha512: 'ab', workflow: 'w.yml' };
    expect(provenanceOf(facts)).toMatchObject({
      subject: [{ name: `pkg:npm/capstan@${manifest.version}`, digest: { sha512: 'ab' } }],
      predicate: {
        buildDefinition: {
          externalParameters: { workflow: { repository: address, path: 'w.yml' } },
          resolvedDependencies: [{ digest: { gitCommit: 'c0ffee' } }],
        },
      },
    });
  });
});
