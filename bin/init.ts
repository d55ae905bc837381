/**
 * `capstan init`: writes the project in template/ with other names. The template is a complete
 * project that the repository checks like its own sources. Its names (Greeting, greetings,
 * example.com, greeting-controller) are replaced in texts and file names. All files are built in
 * memory and checked before the first one is written; if a write fails, the written files are
 * removed.
 */
import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import type { CapstanSource } from './capstan-source.ts';
import { type PackageFacts, projectManifest } from './project-manifest.ts';
import {
  checkedKind,
  type KindNames,
  NO_KEYWORD,
  readTemplate,
  requireFree,
  withNames,
  writeAll,
  wrong,
} from './template-files.ts';
import { isKeyword } from './yaml.ts';

export interface ProjectOptions {
  /** The kind of the custom resource, in PascalCase. */
  readonly kind: string;
  /** The API group of the custom resource. */
  readonly group: string;
  /** The name of the package, the lease and the Deployment. Default: the folder's name. */
  readonly name?: string;
  /**
   * Where the project gets Capstan from; called when all names are checked. Default: this version,
   * from the registry.
   */
  readonly capstan?: () => Promise<CapstanSource>;
}

export interface Project {
  readonly name: string;
  /** The paths of the files, relative to the folder. */
  readonly files: readonly string[];
  /** The one of them that is Capstan itself. */
  readonly archive?: string | undefined;
}

/** The names that the template uses. */
const OWN = {
  kind: 'Greeting',
  singular: 'greeting',
  plural: 'greetings',
  group: 'example.com',
  name: 'greeting-controller',
};
/** What the Dockerfile copies before it installs: an archive of Capstan has to be there too. */
const MANIFESTS = 'COPY package.json package-lock.json';
/** A folder with only these counts as empty: a new repository, and the files of macOS' Finder. */
const UNCOUNTED = ['.git', '.DS_Store'];

/**
 * Writes a project into a folder that does not exist or is empty; `.git` and `.DS_Store` are
 * allowed.
 *
 * @param folder its absolute path
 * @throws CapstanError INVALID_ARGUMENT for names that the API server would refuse or that the
 *   project already uses, for a folder that is not empty, and for errors of the file system. No
 *   file is left behind then.
 */
export async function initProject(
  folder: string,
  options: ProjectOptions,
  facts: PackageFacts,
): Promise<Project> {
  const names = checkedNames(options, folder);
  await requireEmpty(folder);
  const template = await readTemplate('template');
  requireFree(names.kind, OWN.kind, template);
  const { specifier, archive } = (await options.capstan?.()) ?? { specifier: `^${facts.version}` };
  const project = new Map<string, string | Uint8Array>(withNames(template, OWN, names));
  project.set('package.json', projectManifest(names, facts, specifier));
  if (archive !== undefined) {
    project.set(archive.name, archive.bytes);
    const dockerfile = project.get('Dockerfile') as string;
    project.set('Dockerfile', dockerfile.replace(MANIFESTS, `${MANIFESTS} ${archive.name}`));
  }
  await attempt('the project could not be written', () => writeAll(folder, project));
  return { name: names.name, files: [...project.keys()].sort(), archive: archive?.name };
}

type Names = KindNames & { readonly name: string };

function checkedNames({ kind, group, name: given }: ProjectOptions, folder: string): Names {
  const name = given ?? nameFrom(folder);
  const refuse = (expected: string): CapstanError =>
    given !== undefined
      ? wrong('--name', expected, name)
      : wrong(
          "the folder's name",
          expected,
          `"${name}" of ${folder}: give another one with --name`,
        );
  if (!/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
    throw refuse(
      'at most 63 small letters, digits and "-", a letter first and ' +
        'no "-" last, such as "website-controller"',
    );
  if (name === 'capstan') throw refuse('another name than that of the package it depends on');
  if (isKeyword(name)) throw refuse(NO_KEYWORD);
  return { ...checkedKind(kind, group), name };
}

/** The folder's name as a Kubernetes name. */
function nameFrom(folder: string): string {
  return basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}

async function requireEmpty(folder: string): Promise<void> {
  let found: string[];
  try {
    found = (await readdir(folder)).filter((name) => !UNCOUNTED.includes(name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `expected a new or an empty folder at ${folder}, got ${code}`,
      {
        cause: error,
      },
    );
  }
  if (found.length > 0) {
    const what = `${found.slice(0, 3).join(', ')}${found.length > 3 ? ', …' : ''}`;
    throw wrong('folder', 'one that does not exist or is empty', `${folder} with ${what}`);
  }
}
