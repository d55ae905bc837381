/**
 * Reads the exports of the package's entries from the sources, for tests of their spelling: the
 * names, and the text of each declaration.
 */
import { globSync, readFileSync } from 'node:fs';
import { root } from '../helpers/repository.ts';

export const ENTRIES = [
  'apimachinery',
  'cache',
  'client',
  'client-node',
  'controller',
  'leaderelection',
  'manager',
  'testing',
  'webhook',
  'workqueue',
] as const;

export interface Declaration {
  readonly kind: 'class' | 'interface' | 'type';
  readonly name: string;
  /** Between the name and the body: type parameters, `extends` and `implements`. */
  readonly head: string;
  readonly body: string;
  /** The comment above it. */
  readonly doc: string;
  readonly file: string;
}

/** With the comment above it. */
const DECLARATION =
  /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^(export )?(?:abstract )?(class|interface|type) (\w+)/gm;

/** The classes, interfaces and types of all sources by name, exported ones first. */
export function declarations(): Map<string, Declaration> {
  const all = new Map<string, Declaration>();
  const files = globSync('bindings/**/*.ts', { cwd: root, exclude: ['bindings/generated/**'] });
  for (const file of files) {
    const text = readFileSync(`${root}/${file}`, 'utf8');
    for (const match of text.matchAll(DECLARATION)) {
      const [whole, doc = '', exported, kind, name = ''] = match;
      if (exported === undefined && all.has(name)) continue;
      const rest = text.slice(match.index + whole.length);
      const end = rest.search(kind === 'type' ? /;\n(?=\n|$)/ : /^\}/m);
      const open = kind === 'type' ? rest.indexOf('=') : rest.search(/\{\n|\{\}/);
      all.set(name, {
        kind: kind as Declaration['kind'],
        name,
        head: rest.slice(0, open),
        body: rest.slice(open, end),
        doc,
        file,
      });
    }
  }
  return all;
}

/** The names that an entry exports, types included. */
export function exportsOf(entry: (typeof ENTRIES)[number]): string[] {
  const text = readFileSync(`${root}/bindings/${entry}/index.ts`, 'utf8').replace(
    /\/\*[\s\S]*?\*\//g,
    '',
  );
  return [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== ''),
  );
}

export interface Member {
  readonly name: string;
  readonly type: string;
  readonly doc: string;
}

/** The members of an interface that are not methods. */
export function membersOf({ body }: Declaration): Member[] {
  const member = /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*)?^ {2}(?:readonly )?(\w+)\??: ([^;]+);/gm;
  return [...body.matchAll(member)].map(([, doc = '', name = '', type = '']) => ({
    name,
    type: type.replace(/ \| undefined$/, ''),
    doc,
  }));
}

/** The tables of option names (`namesOf`), by the type of the options. */
export function optionTables(): { of: string; names: string[]; file: string }[] {
  const files = globSync('bindings/**/*.ts', { cwd: root, exclude: ['bindings/generated/**'] });
  const table = /namesOf<((?:[^<>]|<[^<>]*>)+)>\(\)\(\{([^}]*(?:\{[^}]*\}[^}]*)*)\}\)/g;
  return files.flatMap((file) =>
    [...readFileSync(`${root}/${file}`, 'utf8').matchAll(table)].map(
      ([, of = '', members = '']) => ({
        of: of.replace(/<never[\s\S]*/, ''),
        names: [...members.matchAll(/\b(\w+):/g)].map(([, name = '']) => name),
        file,
      }),
    ),
  );
}
