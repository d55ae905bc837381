/**
 * `capstan add`: adds a kind to a project that `capstan init` made. It writes the files of
 * template-kind/ with other names, appends one line to src/controllers.ts, and writes
 * deploy/crd.yaml anew. It never overwrites a file of the project. If any step fails, the new files
 * are removed and the two changed ones are as they were.
 */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { manifestsOf } from './crd.ts';
import {
  checkedKind,
  readTemplate,
  requireFree,
  withNames,
  writeAll,
  wrong,
} from './template-files.ts';
import { writeWhole } from './whole-file.ts';

export interface KindOptions {
  /** In PascalCase. */
  readonly kind: string;
  /** The API group. Default: the project's, from `capstan.group` in its package.json. */
  readonly group?: string | undefined;
  /** Default `v1alpha1`. */
  readonly version?: string | undefined;
  /** Default: derived from the kind. */
  readonly plural?: string | undefined;
  /** Whether the kind is cluster-scoped. Default false. */
  readonly clusterScoped?: boolean | undefined;
}

export interface AddedKind {
  /** The new files, relative to the project's folder. */
  readonly files: readonly string[];
  /** The changed files. */
  readonly changed: readonly string[];
}

/** The names that template-kind/ uses. */
const OWN = {
  kind: 'Gadget',
  singular: 'gadget',
  plural: 'gadgets',
  group: 'example.com',
  version: 'v1alpha1',
  name: 'greeting-controller',
};

const CONTROLLERS = 'src/controllers.ts';
const CRD = 'deploy/crd.yaml';
/** Replacements in the files of a cluster-scoped kind. */
const CLUSTER_SCOPED: readonly (readonly [string, string])[] = [
  [`scope: 'Namespaced'`, `scope: 'Cluster'`],
  [`{ namespace: 'default', name: 'hello' }`, `{ name: 'hello' }`],
  ['  namespace: default\n', ''],
];

/**
 * Adds a kind to the project that contains `folder`.
 *
 * @throws CapstanError INVALID_ARGUMENT if that is no such project, for names that the API server
 *   would refuse, for a kind or a file that exists, if the modules of the project cannot be loaded,
 *   and for errors of the file system. The project is unchanged then.
 */
export async function addKind(folder: string, options: KindOptions): Promise<AddedKind> {
  const project = await projectAbove(folder);
  const { version = 'v1alpha1', group = project.group, plural } = options;
  if (group === undefined)
    throw wrong('--group', `a domain, as ${project.folder}/package.json has no capstan.group`, '');
  if (!/^v[1-9]\d*((alpha|beta)[1-9]\d*)?$/.test(version))
    throw wrong('--version', 'a version such as v1, v1beta1 or v1alpha1', version);
  const kind = checkedKind(options.kind, group, plural);
  const template = await readTemplate('template-kind');
  requireFree(kind.kind, OWN.kind, template);
  const files = withNames(template, OWN, { ...kind, version, name: project.name });
  if (options.clusterScoped === true)
    for (const [path, text] of files)
      files.set(
        path,
        CLUSTER_SCOPED.reduce((all, [from, to]) => all.replaceAll(from, to), text),
      );
  const taken = [...files.keys()].filter((path) => existsSync(join(project.folder, path)));
  if (taken.length > 0)
    throw wrong(
      'add',
      'a kind that the project does not have',
      `${kind.kind}, whose files exist (${taken.join(', ')}); nothing was written`,
    );
  const line = `export { ${kind.kind}Controller } from './controllers/${kind.singular}.ts';\n`;
  const controllers = await controllersOf(project.folder, line);
  const path = join(project.folder, CONTROLLERS);
  await writeAll(project.folder, files, async () => {
    await attempt(`${CONTROLLERS} could not be written`, () =>
      writeFile(path, `${controllers}${controllers.endsWith('\n') ? '' : '\n'}${line}`),
    );
    try {
      await writeWhole(join(project.folder, CRD), await manifestsOf([path]));
    } catch (error) {
      await writeFile(path, controllers);
      throw error;
    }
  });
  return { files: [...files.keys()].sort(), changed: [CRD, CONTROLLERS] };
}

interface Found {
  readonly folder: string;
  readonly name: string;
  readonly group: string | undefined;
}

/** The nearest folder with a package.json, as npm finds it. */
async function projectAbove(from: string): Promise<Found> {
  let folder = from;
  while (!existsSync(join(folder, 'package.json'))) {
    const above = dirname(folder);
    if (above === folder)
      throw wrong('add', 'to run in a project of capstan init', `${from}, with no package.json`);
    folder = above;
  }
  const path = join(folder, 'package.json');
  const { capstan } = await attempt(`${path} could not be read`, async () => {
    const manifest: unknown = JSON.parse(await readFile(path, 'utf8'));
    return (manifest ?? {}) as { capstan?: { name?: unknown; group?: unknown } };
  });
  if (typeof capstan?.name !== 'string')
    throw wrong(
      'add',
      'to run in a project of capstan init',
      `${folder}, whose package.json has no member capstan.name`,
    );
  return {
    folder,
    name: capstan.name,
    group: typeof capstan.group === 'string' ? capstan.group : undefined,
  };
}

/** The text of src/controllers.ts, to which `line` can be appended. */
async function controllersOf(folder: string, line: string): Promise<string> {
  const text = await readFile(join(folder, CONTROLLERS), 'utf8').catch((cause) => {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `add expected ${CONTROLLERS} in ${folder}, to append this line: ${line.trim()} (every ` +
        'export of that module is a controller that src/main.ts starts)',
      { cause },
    );
  });
  const [name = ''] = /\w+Controller/.exec(line) ?? [];
  if (new RegExp(`\\b${name}\\b`).test(text))
    throw wrong(
      'add',
      'a kind that the project does not have',
      `${name}, which ${CONTROLLERS} has`,
    );
  return text;
}
