/**
 * Reads the imports of TypeScript sources and checks them by the rules of the layout. It needs no
 * compiler: a small scanner skips comments, templates and regular expressions, so that text in them
 * is not taken for an import.
 */

export interface Import {
  specifier: string;
  /** `import type` or `export type`: erased at run time. */
  typeOnly: boolean;
  line: number;
}

interface Token {
  kind: 'word' | 'string' | 'mark';
  text: string;
  line: number;
}

/** After these a slash begins a regular expression, not a division. */
const BEFORE_REGEXP = new Set([
  'return',
  'typeof',
  'case',
  'in',
  'of',
  'do',
  'else',
  'void',
  'delete',
  'await',
  'yield',
]);

/** One token, or something to skip, at the beginning of the rest. Order matters. */
const PIECES: readonly [kind: Token['kind'] | 'skip', pattern: RegExp][] = [
  ['skip', /\s+/y],
  ['skip', /\/\/[^\n]*/y],
  ['skip', /\/\*[\s\S]*?\*\//y],
  ['string', /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y],
  ['word', /[\p{ID_Start}$_#@][\p{ID_Continue}$]*/uy],
  ['word', /[0-9][\w.]*/y],
  ['mark', /[\s\S]/y],
];
const REGEXP = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;

function tokens(source: string): Token[] {
  const found: Token[] = [];
  const templates: number[] = []; // open braces within each `${`, innermost last
  let at = 0;
  let line = 1;

  const take = (length: number): string => {
    const text = source.slice(at, at + length);
    at += length;
    line += text.split('\n').length - 1;
    return text;
  };
  /**
   * From after a backtick, or after the brace that ends a `${…}`, to the next `${` or the closing
   * backtick.
   */
  const skipTemplate = (): void => {
    const text = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/y;
    text.lastIndex = at;
    take(text.exec(source)?.[0].length ?? 0);
    if (source[at] === '$') templates.push(0);
    take(source[at] === '$' ? 2 : 1);
  };
  const regexpHere = (): number => {
    const before = found.at(-1);
    const operand =
      before !== undefined &&
      (before.kind === 'string' ||
        (before.kind === 'word' && !BEFORE_REGEXP.has(before.text)) ||
        (before.kind === 'mark' && /[)\]}`]/.test(before.text)));
    if (operand) return 0;
    REGEXP.lastIndex = at;
    return REGEXP.exec(source)?.[0].length ?? 0;
  };

  while (at < source.length) {
    for (const [kind, pattern] of PIECES) {
      pattern.lastIndex = at;
      const match = pattern.exec(source)?.[0];
      if (match === undefined) continue;
      if (match === '/') {
        const length = regexpHere();
        if (length > 0) {
          found.push({ kind: 'string', text: take(length), line });
          break;
        }
      }
      const begins = line;
      take(match.length);
      if (kind === 'skip') break;
      if (match === '`') skipTemplate();
      const depth = templates.length - 1;
      if (match === '{' && depth >= 0) templates[depth] = (templates[depth] ?? 0) + 1;
      if (match === '}' && depth >= 0) {
        if (templates[depth] === 0) {
          templates.pop();
          skipTemplate();
          found.push({ kind: 'mark', text: '`', line });
          break;
        }
        templates[depth] = (templates[depth] ?? 0) - 1;
      }
      found.push({ kind, text: match, line: begins });
      break;
    }
  }
  return found;
}

/** All imports of a module: static, re-exports, side effects and dynamic ones with a literal. */
export function importsOf(source: string): Import[] {
  const all = tokens(source);
  const text = (i: number): string => all[i]?.text ?? '';
  const imports: Import[] = [];
  let typeOnly = false; // of the current import or export statement
  all.forEach((token, i) => {
    if (
      token.kind === 'word' &&
      (token.text === 'import' || token.text === 'export') &&
      text(i - 1) !== '.'
    ) {
      typeOnly =
        text(i + 1) === 'type' && /^[\p{L}$_*{]/u.test(text(i + 2)) && text(i + 2) !== 'from';
    }
    if (token.kind !== 'string' || !/^['"]/.test(token.text)) return;
    const before = text(i - 1);
    const dynamic = before === '(' && text(i - 2) === 'import';
    if (before !== 'from' && before !== 'import' && !dynamic) return;
    imports.push({
      specifier: token.text.slice(1, -1),
      typeOnly: typeOnly && !dynamic,
      line: token.line,
    });
  });
  return imports;
}

export interface Sources {
  /** Path relative to the root of the repository → text. */
  readonly [path: string]: string;
}

export interface Rules {
  /**
   * Folder of bindings/ → the folders that it may import besides itself. A folder with subfolders
   * has no other file than index.ts; a folder that may import it may import those.
   */
  readonly folders: Readonly<Record<string, readonly string[]>>;
  /** The root file that re-exports the public names, and the folders that it re-exports. */
  readonly gatherer: { readonly file: string; readonly folders: readonly string[] };
  /** Folders that may import `node:` modules. */
  readonly node: readonly string[];
  /**
   * Package → the only folder that may name it: its types, and packages that are loaded by
   * `import()` when they are needed.
   */
  readonly packages: Readonly<Record<string, string>>;
  /** The packages that are loaded when they are needed. */
  readonly loadedLater: readonly string[];
  /** The only folder with #imports, which differ by host. */
  readonly modules: string;
}

/** The files in bindings/ itself. */
const ROOT = '(root)';

/** The rule's folder of a file: the innermost, or the first of its path. */
function folderOf(path: string, rules: Rules): string {
  const parts = path.split('/').slice(1, -1);
  if (parts.length === 0) return ROOT;
  for (let length = parts.length; length > 0; length--) {
    const folder = parts.slice(0, length).join('/');
    if (Object.hasOwn(rules.folders, folder)) return folder;
  }
  return parts[0] ?? ROOT;
}

/** A file beside subfolders; only index.ts may be one. */
function isLoose(path: string, rules: Rules): boolean {
  const folder = folderOf(path, rules);
  const holds = Object.keys(rules.folders).some((each) => each.startsWith(`${folder}/`));
  const directly = path === `bindings/${folder === ROOT ? '' : `${folder}/`}${fileOf(path)}`;
  return (folder === ROOT || holds) && directly && fileOf(path) !== 'index.ts';
}

const fileOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function resolve(from: string, specifier: string): string {
  const parts = from.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

function judge(path: string, { specifier, typeOnly }: Import, rules: Rules): string | undefined {
  const folder = folderOf(path, rules);
  if (specifier.startsWith('#'))
    return folder === rules.modules ? undefined : `only ${rules.modules} uses # imports`;
  if (specifier.startsWith('node:')) {
    return rules.node.includes(folder)
      ? undefined
      : `only ${rules.node.join(', ')} may use node: modules`;
  }
  if (!specifier.startsWith('.')) {
    const owner = rules.packages[specifier];
    if (owner === undefined) return 'no package may be imported';
    if (owner !== folder) return `only ${owner} may name this package`;
    const later = rules.loadedLater.includes(specifier);
    return typeOnly || later
      ? undefined
      : 'only types may be imported from this package (import type)';
  }
  const file = resolve(path, specifier);
  if (!file.startsWith('bindings/')) return 'leaves bindings/';
  const target = folderOf(file, rules);
  if (target === folder || target === 'generated') return undefined;
  const may = (folders: readonly string[]): boolean =>
    folders.some((each) => target === each || target.startsWith(`${each}/`));
  if (path === rules.gatherer.file) {
    return may(rules.gatherer.folders)
      ? undefined
      : `it gathers ${rules.gatherer.folders.join(', ')} alone`;
  }
  if (file === rules.gatherer.file) return 'it gathers, nothing imports it';
  const allowed = rules.folders[folder];
  if (allowed === undefined) return `no rule for the folder ${folder}`;
  return may(allowed)
    ? undefined
    : `${folder} may import ${allowed.length === 0 ? 'nothing' : `${allowed.join(', ')} only`}`;
}

/** A cycle in `edges`, as its folders; undefined if there is none. */
export function cycleIn(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const clean = new Set<string>();
  const visit = (folder: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(folder)) return [...way.slice(way.indexOf(folder)), folder];
    if (clean.has(folder)) return undefined;
    for (const next of edges.get(folder) ?? []) {
      const cycle = visit(next, [...way, folder]);
      if (cycle) return cycle;
    }
    clean.add(folder);
    return undefined;
  };
  for (const folder of edges.keys()) {
    const cycle = visit(folder, []);
    if (cycle) return cycle;
  }
  return undefined;
}

/** The violations of the rules, one a line. Type imports count too. */
export function violations(sources: Sources, rules: Rules): string[] {
  const found: string[] = [];
  const edges = new Map<string, Set<string>>();
  for (const [path, source] of Object.entries(sources)) {
    const folder = folderOf(path, rules);
    if (isLoose(path, rules))
      found.push(`${path}: index.ts is alone in bindings/${folder === ROOT ? '' : `${folder}/`}`);
    for (const each of importsOf(source)) {
      const problem = judge(path, each, rules);
      if (problem !== undefined)
        found.push(`${path}:${each.line} imports '${each.specifier}': ${problem}`);
      if (!each.specifier.startsWith('.') || path === rules.gatherer.file) continue;
      const target = folderOf(resolve(path, each.specifier), rules);
      if (target !== folder) edges.set(folder, (edges.get(folder) ?? new Set()).add(target));
    }
  }
  const cycle = cycleIn(edges);
  if (cycle) found.push(`folders import each other: ${cycle.join(' -> ')}`);
  return found;
}
