/**
 * `capstan init`: writes the project in template/ with other names. The template is a complete
 * project that the repository checks like its own sources. Its names (Greeting, greetings,
 * example.com, greeting-controller) are replaced in texts and file names. All files are built in
 * memory and checked before the first one is written; if a write fails, the written files are
 * removed.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CapstanError } from 'capstan';
import { defineCustomResource, withJsonSchema } from 'capstan/client';
import { attempt } from './attempt.ts';
import { type PackageFacts, projectManifest } from './project-manifest.ts';
import { isKeyword } from './yaml.ts';

export interface ProjectOptions {
  /** The kind of the custom resource, in CamelCase. */
  readonly kind: string;
  /** The API group of the custom resource. */
  readonly group: string;
  /** The name of the package, the lease and the Deployment. Default: the folder's name. */
  readonly name?: string;
}

export interface Project {
  readonly name: string;
  /** The paths of the files, relative to the folder. */
  readonly files: readonly string[];
}

const TEMPLATE = fileURLToPath(new URL('./template/', import.meta.url));
/** The names that the template uses. */
const OWN = {
  kind: 'Greeting',
  singular: 'greeting',
  plural: 'greetings',
  group: 'example.com',
  name: 'greeting-controller',
};
/** A folder with only these counts as empty: a new repository, and the files of macOS' Finder. */
const UNCOUNTED = ['.git', '.DS_Store'];
/** apiextensions-apiserver: pkg/apihelpers IsProtectedCommunityGroup. */
const PROTECTED = /(^|\.)(k8s|kubernetes)\.io$/;
/**
 * npm does not pack files named .gitignore or .dockerignore, so the template has `_` for the dot.
 */
const DOT = /(^|\/)_(?=gitignore$|dockerignore$)/;

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
  const template = await attempt('the files of a new project could not be read', readTemplate);
  requireFree(names.kind, template);
  const project = new Map(
    [...template].map(([path, text]) => [renamed(path, names), renamed(text, names)]),
  );
  project.set('package.json', projectManifest(names.name, names.singular, facts));
  if (project.size !== template.size + 1)
    throw wrong('--kind', 'a kind whose file names are free', names.kind);
  await attempt('the project could not be written', () => writeAll(folder, project));
  return { name: names.name, files: [...project.keys()].sort() };
}

async function writeAll(folder: string, project: ReadonlyMap<string, string>): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  const makeFolder = async (path: string): Promise<void> => {
    if (existsSync(path)) return;
    await makeFolder(dirname(path));
    await mkdir(path);
    undo.unshift(() => rmdir(path)); // fails if another program has put a file into it
  };
  try {
    for (const [path, text] of project) {
      const file = join(folder, path);
      await makeFolder(dirname(file));
      await writeFile(file, '', { flag: 'wx' });
      undo.unshift(() => rm(file));
      await writeFile(file, text);
    }
  } catch (error) {
    for (const step of undo) await step().catch(() => {}); // only the first error is reported
    throw error;
  }
}

type Names = typeof OWN;

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
  const noKeyword = 'a word that YAML does not read as true, false or null';
  if (isKeyword(name)) throw refuse(noKeyword);
  if (isKeyword(kind)) throw wrong('--kind', noKeyword, kind);
  if (PROTECTED.test(group)) {
    const why =
      "a group of your own, as the API server takes Kubernetes' groups " +
      'only with its approval (api-approved.kubernetes.io)';
    throw wrong('--group', why, group);
  }
  // defineCustomResource checks kind and group, and derives the plural.
  const anything = withJsonSchema(
    { '~standard': { version: 1, vendor: 'capstan', validate: (value) => ({ value }) } },
    { type: 'object' },
  );
  const { crd } = defineCustomResource({
    group,
    version: 'v1alpha1',
    kind,
    scope: 'Namespaced',
    spec: anything,
  });
  const { singular, plural } = crd.spec.names;
  return { kind, singular, plural, group, name };
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

/** Does not use `parentPath` of the entries: in Yarn's zip archives it is always ".". */
async function readTemplate(): Promise<Map<string, string>> {
  const template = new Map<string, string>();
  for (const path of (await readdir(TEMPLATE, { recursive: true })).sort()) {
    const file = join(TEMPLATE, path);
    if ((await stat(file)).isFile())
      template.set(path.replaceAll('\\', '/').replace(DOT, '$1.'), await readFile(file, 'utf8'));
  }
  return template;
}

/**
 * Rejects a kind that is already an identifier in the template, such as ConfigMap, Promise or
 * Client.
 */
function requireFree(kind: string, template: ReadonlyMap<string, string>): void {
  if (kind === OWN.kind) return;
  const word = new RegExp(`\\b${kind}\\b`);
  if ([...template].some(([path, text]) => path.endsWith('.ts') && word.test(text)))
    throw wrong('--kind', 'a name that the project has no other use for', kind);
}

/** One pass, longer names first, so that an inserted name is not replaced again. */
function renamed(text: string, names: Names): string {
  return text.replace(/greeting-controller|example\.com|greetings|greeting|Greeting/g, (found) => {
    const own = (Object.keys(OWN) as (keyof Names)[]).find((key) => OWN[key] === found);
    return own === undefined ? found : names[own];
  });
}

function wrong(name: string, expected: string, got: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', `${name} expected ${expected}, got ${got}`);
}
