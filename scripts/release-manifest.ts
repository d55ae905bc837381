/**
 * What a release checks and writes: the address of the repository in the manifest, the conditions
 * under which it may publish, and the statement of provenance.
 */

/** A release that was refused, with a message for the terminal. */
export class ReleaseError extends Error {}

/** The members of package.json that a release reads or writes. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines?: object;
  readonly repository?: { readonly type: string; readonly url: string };
  readonly homepage?: string;
  readonly bugs?: string;
}

/**
 * The address of a repository as `https://host/owner/name`.
 *
 * @throws ReleaseError for no address, and for one that is not that of a repository
 */
export function repositoryAddress(text: string): string {
  const expected =
    'expected --repository with the address of the repository, https://host/owner/name';
  if (text.trim() === '')
    throw new ReleaseError(`${expected}, got none: the manifest names no repository without it`);
  const refused = new ReleaseError(`${expected}, got ${text}`);
  let url: URL;
  try {
    url = new URL(text.trim().replace(/^git\+/, ''));
  } catch {
    throw refused;
  }
  const path = url.pathname.replace(/\.git$/, '').replace(/\/$/, '');
  const isPlain = url.search === '' && url.hash === '' && url.username === '' && url.port === '';
  // Names that RFC 2606 keeps for examples, and this machine.
  const isExample = /(?:^|\.)(?:example(?:\.\w+)?|test|invalid|localhost)$/.test(url.hostname);
  if (isExample) throw new ReleaseError(`${refused.message}, whose host is kept for examples`);
  if (url.protocol !== 'https:' || !isPlain || !/^(?:\/[\w.-]+){2,}$/.test(path)) throw refused;
  return `https://${url.host}${path}`;
}

/** The manifest with the members that name the repository, behind `license`. */
export function withRepository(manifest: Manifest, address: string): Manifest {
  const added = {
    repository: { type: 'git', url: `git+${address}.git` },
    homepage: `${address}#readme`,
    bugs: `${address}/issues`,
  };
  return Object.fromEntries(
    Object.entries(manifest).flatMap((entry) =>
      entry[0] === 'license' ? [entry, ...Object.entries(added)] : [entry],
    ),
  ) as unknown as Manifest;
}

export interface ReleaseFacts {
  readonly version: string;
  readonly jsrVersion: string;
  readonly changelog: string;
  readonly isClean: boolean;
  /** Of the commit that is checked out. */
  readonly tags: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Why this commit, on this machine, must not be published. */
export function problemsOfRelease(facts: ReleaseFacts): string[] {
  const { version, jsrVersion, changelog, isClean, tags, env } = facts;
  const problems: string[] = [];
  if (jsrVersion !== version)
    problems.push(`jsr.json has version ${jsrVersion}, package.json has ${version}`);
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${version}`));
  if (heading === undefined) problems.push(`CHANGELOG.md has no heading "## ${version}"`);
  else if (heading.includes('unreleased'))
    problems.push(`CHANGELOG.md calls ${version} unreleased: write the date there`);
  if (!isClean) problems.push('the checkout has changes that are not committed');
  if (!tags.includes(`v${version}`)) problems.push(`this commit has no tag v${version}`);
  if (env.GITHUB_ACTIONS !== 'true' || env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined)
    problems.push('this is not the release workflow, whose identity signs the provenance');
  return problems;
}

export interface ProvenanceFacts {
  readonly manifest: Manifest;
  readonly address: string;
  readonly commit: string;
  /** Of the archive, in hex. */
  readonly sha512: string;
  /** The path of the workflow. */
  readonly workflow: string;
}

/**
 * The in-toto statement that `npm publish --provenance` signs in a GitHub workflow, without the
 * numbers of the run, which only that run has. npm: libnpmpublish, lib/provenance.js.
 */
export function provenanceOf({
  manifest: { name, version },
  address,
  commit,
  sha512,
  workflow,
}: ProvenanceFacts): object {
  const ref = `refs/tags/v${version}`;
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: `pkg:npm/${name}@${version}`, digest: { sha512 } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1',
        externalParameters: { workflow: { ref, repository: address, path: workflow } },
        resolvedDependencies: [{ uri: `git+${address}@${ref}`, digest: { gitCommit: commit } }],
      },
      runDetails: { builder: { id: 'https://github.com/actions/runner/github-hosted' } },
    },
  };
}
