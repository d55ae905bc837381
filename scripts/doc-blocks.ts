/**
 * Finds the code in documentation: fenced ```ts blocks of Markdown, @example parts of docstrings,
 * and the names that the package exports, so that an example needs no imports. Line n of a block is
 * line `line + n - 1` of its file.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface DocBlock {
  file: string;
  /** Of the first line of code; the first line of a file is 1. */
  line: number;
  code: string;
}

/** A block that is marked `ts run`, and what it prints, where a `text` block follows at once. */
export interface RunBlock extends DocBlock {
  output: string | undefined;
}

interface Fenced extends DocBlock {
  /** The text after the opening fence, such as `ts run`. */
  info: string;
  /** Of the line of the closing fence. */
  end: number;
}

/** All fenced blocks. The indentation of the fence is taken off. */
function fencedBlocks(file: string, text: string): Fenced[] {
  const blocks: Fenced[] = [];
  let open: { indent: number; fence: string; block: Fenced; code: string[] } | undefined;
  text.split('\n').forEach((line, i) => {
    const fence = /^( *)(`{3,}) *(.*?) *$/.exec(line);
    if (open === undefined) {
      if (fence) {
        const [, indent = '', marks = '', info = ''] = fence;
        const block = { file, line: i + 2, code: '', info, end: 0 };
        open = { indent: indent.length, fence: marks, block, code: [] };
      }
    } else if (line.trim() === open.fence) {
      blocks.push({ ...open.block, code: open.code.join('\n'), end: i + 1 });
      open = undefined;
    } else {
      open.code.push(line.slice(open.indent));
    }
  });
  if (open && isTypeScript(open.block))
    throw new Error(`${file}:${open.block.line}: the block is never closed`);
  return blocks;
}

const isTypeScript = ({ info }: { info: string }): boolean => /^(ts|typescript)\b/.test(info);

/** The fenced blocks marked `ts` or `typescript`. */
export function markdownBlocks(file: string, text: string): DocBlock[] {
  return fencedBlocks(file, text)
    .filter(isTypeScript)
    .map(({ line, code }) => ({ file, line, code }));
}

/** The fenced blocks marked `ts run`. */
export function runBlocks(file: string, text: string): RunBlock[] {
  const blocks = fencedBlocks(file, text);
  const lines = text.split('\n');
  return blocks.flatMap(({ info, line, code, end }, i) => {
    if (info !== 'ts run') return [];
    const next = blocks[i + 1];
    const between = next === undefined ? [] : lines.slice(end, next.line - 2);
    const isOutput = next?.info === 'text' && between.every((each) => each === '');
    return [{ file, line, code, output: isOutput ? next.code : undefined }];
  });
}

/**
 * The text after each @example, up to the next tag or the end of the comment, without a fence
 * around it.
 */
export function docstringExamples(file: string, text: string): DocBlock[] {
  const blocks: DocBlock[] = [];
  let open: { line: number; code: string[] } | undefined;
  const close = (): void => {
    if (open) {
      const code = open.code
        .map((line) => (line.startsWith('```') ? '' : line))
        .join('\n')
        .trimEnd();
      blocks.push({ file, line: open.line, code });
    }
    open = undefined;
  };
  let inside = false;
  text.split('\n').forEach((line, i) => {
    if (/^\s*\/\*\*/.test(line)) inside = true;
    if (!inside) return;
    const ends = line.includes('*/');
    const body = line
      .replace(/^\s*\/?\*+ ?/, '')
      .replace(/\s*\*\/.*$/, '')
      .replace(/^\/$/, '');
    const tag = /^@(\w+)\s*(.*)$/.exec(body);
    if (tag) close();
    if (tag?.[1] === 'example') open = { line: i + 1, code: [tag[2] ?? ''] };
    else if (open) open.code.push(body);
    if (ends) {
      close();
      inside = false;
    }
  });
  return blocks;
}

export interface PublicName {
  from: string;
  type: boolean;
}

const LISTS = /export\s+(type\s+)?\{([^}]*)\}(?:\s+from\s+'([^']+)')?/g;
const STARS = /export\s+\*\s+from\s+'([^']+)'/g;
const DECLARATIONS =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(class|function\*?|const|let|interface|type)\s+(\w+)/gm;

/** The names that a module exports, and whether each is a type only. */
export function exportedNames(path: string): Map<string, boolean> {
  const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const names = new Map<string, boolean>();
  for (const [, kind = '', name = ''] of text.matchAll(DECLARATIONS))
    names.set(name, /^(interface|type)$/.test(kind));
  for (const [, allTypes, list = ''] of text.matchAll(LISTS)) {
    for (const item of list.split(',').map((part) => part.trim())) {
      const name = /(\w+)$/.exec(item)?.[1];
      if (name) names.set(name, allTypes !== undefined || item.startsWith('type '));
    }
  }
  for (const [, target = ''] of text.matchAll(STARS)) {
    for (const [name, type] of exportedNames(join(dirname(path), target))) names.set(name, type);
  }
  return names;
}

/** The public names by subpath; the first subpath that has a name gives it. */
function publicNames(subpaths: readonly string[], bindings: string): Map<string, PublicName> {
  const names = new Map<string, PublicName>();
  for (const subpath of subpaths) {
    for (const [name, type] of exportedNames(join(bindings, subpath, 'index.ts'))) {
      if (!names.has(name)) names.set(name, { from: `capstan/${subpath}`, type });
    }
  }
  return names;
}

/** Where a name is exported twice, the first subpath gives it. */
const SUBPATHS = [
  'workqueue',
  'cache',
  'controller',
  'client',
  'apimachinery',
  'leaderelection',
  'manager',
  'webhook',
  'client-node',
  'testing',
  'kinds',
];

/** The names of all entry points that there are. */
export function packageNames(bindings: string): Map<string, PublicName> {
  const there = SUBPATHS.filter((subpath) => existsSync(join(bindings, subpath, 'index.ts')));
  return publicNames(there, bindings);
}

/**
 * The code with imports of the names that it uses and does not define, in front of its first line.
 */
export function withImports(code: string, names: ReadonlyMap<string, PublicName>): string {
  const words = new Set(code.match(/\b[A-Za-z_]\w*\b/g));
  const imports: string[] = [];
  for (const [name, { from, type }] of names) {
    if (!words.has(name)) continue;
    const declared = `\\b(?:const|let|class|function|interface|type)\\s+${name}\\b`;
    const imported = `^\\s*import\\b[^;']*\\b${name}\\b`;
    const defined = new RegExp(`${declared}|${imported}`, 'm');
    if (!defined.test(code))
      imports.push(`import { ${type ? 'type ' : ''}${name} } from '${from}';`);
  }
  return `${imports.join(' ')}${code}\nexport {};\n`;
}
