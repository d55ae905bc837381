/**
 * Finds the code in documentation: fenced ```ts blocks of Markdown, @example parts of docstrings,
 * and the names that the package exports, so that an example needs no imports. Line n of a block is
 * line `line + n - 1` of its file.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface DocBlock {
  file: string;
  /** Of the first line of code; the first line of a file is 1. */
  line: number;
  code: string;
}

/** The fenced blocks marked `ts` or `typescript`. Indentation of the fence is taken off. */
export function markdownBlocks(file: string, text: string): DocBlock[] {
  const blocks: DocBlock[] = [];
  let open:
    | { indent: number; fence: string; wanted: boolean; line: number; code: string[] }
    | undefined;
  text.split('\n').forEach((line, i) => {
    const fence = /^( *)(`{3,})\s*(\w*)/.exec(line);
    if (open === undefined) {
      if (fence) {
        const [, indent = '', marks = '', language = ''] = fence;
        open = {
          indent: indent.length,
          fence: marks,
          wanted: /^(ts|typescript)$/.test(language),
          line: i + 2,
          code: [],
        };
      }
    } else if (line.trim() === open.fence) {
      if (open.wanted) blocks.push({ file, line: open.line, code: open.code.join('\n') });
      open = undefined;
    } else {
      open.code.push(line.slice(open.indent));
    }
  });
  if (open?.wanted) throw new Error(`${file}:${open.line}: the block is never closed`);
  return blocks;
}

/**
 * What stands after each @example, up to the next tag or the end of the comment; a fence around it
 * is taken off.
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
export function publicNames(
  subpaths: readonly string[],
  bindings: string,
): Map<string, PublicName> {
  const names = new Map<string, PublicName>();
  for (const subpath of subpaths) {
    for (const [name, type] of exportedNames(join(bindings, subpath, 'index.ts'))) {
      if (!names.has(name)) names.set(name, { from: `capstan/${subpath}`, type });
    }
  }
  return names;
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
