/**
 * The files that `init` and `add` write: read from a template, with other names in texts and paths,
 * and written all together or not at all.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineCustomResource, withJsonSchema } from 'capstan/client';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { isKeyword } from './yaml.ts';

/** Texts by path, relative to the project's folder, with "/" between folders. */
export type TextFiles = ReadonlyMap<string, string>;

/** What the names of a template become. */
export interface KindNames {
  readonly kind: string;
  readonly singular: string;
  readonly plural: string;
  readonly group: string;
}

/** apiextensions-apiserver: pkg/apihelpers IsProtectedCommunityGroup. */
const PROTECTED = /(^|\.)(k8s|kubernetes)\.io$/;
/**
 * npm does not pack files named .gitignore or .dockerignore, so the template has `_` for the dot. A
 * biome.json below another one would be an error of Biome in this repository.
 */
const HIDDEN = /(^|\/)_(gitignore|dockerignore)$/;
const PREFIXED = /(^|\/)_(biome\.json)$/;

/** Reads the files of a folder beside this module, `template` or `template-kind`. */
export function readTemplate(folder: 'template' | 'template-kind'): Promise<TextFiles> {
  return attempt('the files of a new project could not be read', async () => {
    const root = fileURLToPath(new URL(`./${folder}/`, import.meta.url));
    const files = new Map<string, string>();
    // Not `parentPath` of the entries: in Yarn's zip archives it is always ".".
    for (const path of (await readdir(root, { recursive: true })).sort()) {
      const file = join(root, path);
      if (!(await stat(file)).isFile()) continue;
      const name = path.replaceAll('\\', '/').replace(HIDDEN, '$1.$2').replace(PREFIXED, '$1$2');
      files.set(name, await readFile(file, 'utf8'));
    }
    return files;
  });
}

/**
 * Replaces names in texts and paths, in one pass and longer names first, so that an inserted name
 * is not replaced again.
 *
 * @param own the template's names; those of `names` that it does not have are ignored
 */
export function withNames<N extends object>(
  files: TextFiles,
  own: N,
  names: NoInfer<N>,
): Map<string, string> {
  const byName = new Map(
    (Object.keys(own) as (keyof N)[]).map((key) => [String(own[key]), String(names[key])]),
  );
  const words = [...byName.keys()].sort((a, b) => b.length - a.length);
  const any = new RegExp(words.map((word) => word.replaceAll('.', '\\.')).join('|'), 'g');
  const inText = (text: string) => text.replace(any, (found) => byName.get(found) ?? found);
  return new Map([...files].map(([path, text]) => [inText(path), inText(text)]));
}

/**
 * Checks the names of a kind as the API server would.
 *
 * @param plural default: derived from the kind
 * @throws CapstanError INVALID_ARGUMENT
 */
export function checkedKind(kind: string, group: string, plural?: string): KindNames {
  if (isKeyword(kind)) throw wrong('the kind', NO_KEYWORD, kind);
  if (!/^[A-Z][A-Za-z0-9]*$/.test(kind)) {
    const pascal = kind.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, c: string) =>
      c.toUpperCase(),
    );
    const meant = /^[A-Z][A-Za-z0-9]*$/.test(pascal) ? `: did you mean "${pascal}"?` : '';
    throw wrong('the kind', 'PascalCase, such as "Website"', `${kind}${meant}`);
  }
  if (PROTECTED.test(group)) {
    const why =
      "a group of your own, as the API server takes Kubernetes' groups " +
      'only with its approval (api-approved.kubernetes.io)';
    throw wrong('--group', why, group);
  }
  // defineCustomResource checks the group and the plural, and derives the plural.
  const anything = withJsonSchema(
    { '~standard': { version: 1, vendor: 'capstan', validate: (value) => ({ value }) } },
    { type: 'object' },
  );
  const { names } = defineCustomResource({
    group,
    version: 'v1alpha1',
    kind,
    ...(plural === undefined ? {} : { plural }),
    scope: 'Namespaced',
    spec: anything,
  }).crd.spec;
  return { kind, singular: names.singular, plural: names.plural, group };
}

/** What a name must be that stands in YAML without quotes. */
export const NO_KEYWORD = 'a word that YAML does not read as true, false or null';

/**
 * Rejects a kind that is already an identifier in the files, such as ConfigMap, Promise or Client.
 */
export function requireFree(kind: string, own: string, files: TextFiles): void {
  if (kind === own) return;
  const word = new RegExp(`\\b${kind}(Controller)?\\b`);
  if ([...files].some(([path, text]) => path.endsWith('.ts') && word.test(text)))
    throw wrong('the kind', 'a name that the project has no other use for', kind);
}

/**
 * Writes files that must not exist yet. If one cannot be written, or `then` fails, the written
 * files and the folders that were made for them are removed.
 */
export async function writeAll(
  folder: string,
  files: ReadonlyMap<string, string | Uint8Array>,
  then: () => Promise<void> = async () => undefined,
): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  const makeFolder = async (path: string): Promise<void> => {
    if (existsSync(path)) return;
    await makeFolder(dirname(path));
    await mkdir(path);
    undo.unshift(() => rmdir(path)); // fails if another program has put a file into it
  };
  try {
    for (const [path, content] of files) {
      const file = join(folder, path);
      await makeFolder(dirname(file));
      await writeFile(file, '', { flag: 'wx' });
      undo.unshift(() => rm(file));
      await writeFile(file, content);
    }
    await then();
  } catch (error) {
    for (const step of undo) await step().catch(() => {}); // only the first error is reported
    throw error;
  }
}

/** CapstanError INVALID_ARGUMENT: what was expected, and what came. */
export function wrong(name: string, expected: string, got: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', `${name} expected ${expected}, got ${got}`);
}
