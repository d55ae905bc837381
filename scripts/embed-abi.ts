// Writes the TypeScript side of the boundary into bindings/generated/ from assembly/: the constants
// of abi.ts, and the exports of index.ts and cache.ts with their signatures and comments.
import { readFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const read = (file: string): string => readFileSync(new URL(`assembly/${file}.ts`, root), 'utf8');
const write = (file: string, text: string): void =>
  writeFileSync(new URL(`bindings/generated/${file}.ts`, root), text);

/**
 * Exports of the hot path, which are passed on without a guard: the engine compiles such a call
 * into its caller, and the caller catches what it throws (bindings/wasm/guard.ts).
 */
const UNGUARDED = new Set([
  ...['keysFind', 'keysIntern', 'keysSlotNew'],
  ...['keysFindHash', 'keysNextHash', 'keysInternHash', 'keysNewHash'],
  ...['queueAddHash', 'queueAddSlot', 'queueGet', 'queueTake', 'queueDoneSlot', 'queueLen'],
  ...['delayAddHash', 'delayAddSlot', 'priorityAddSlot', 'slotAdd', 'slotGet', 'slotDone'],
  ...['indexPut', 'indexPutSlot', 'objectIndex'],
]);

/** Captures the comment above a declaration. */
const COMMENT_ABOVE = String.raw`((?:^//[^\n]*\n)+|^/\*\*(?:(?!\*/)[\s\S])*\*/\n)?`;

interface Export {
  readonly name: string;
  readonly comment: string;
  readonly parameters: string;
  readonly result: string;
}

const generatedFrom = (files: string): string =>
  `// Generated from ${files} by scripts/embed-abi.ts. Do not edit.\n`;

/** A comment of AssemblyScript as a docstring; '' for none. */
function docstring(comment: string, indent: string): string {
  const lines = comment
    .trim()
    .replace(/^\/\*\*|\*\/$/g, '')
    .split('\n')
    .map((line) => line.trim().replace(/^(\/\/|\*) ?/, ''))
    .filter((line, i) => line !== '' || i > 0);
  const text = lines.join('\n').trim();
  if (text === '') return '';
  return text.includes('\n')
    ? `${indent}/**\n${text.replace(/^/gm, `${indent} * `)}\n${indent} */\n`
    : `${indent}/** ${text} */\n`;
}

function constants(): string {
  const text = generatedFrom('assembly/abi.ts');
  const pattern = new RegExp(
    `${COMMENT_ABOVE}^export const (\\w+): \\w+ = (-?\\w+);(?: // ([^\\n]*))?$`,
    'gm',
  );
  const found = [...read('abi').matchAll(pattern)];
  const declared = read('abi').match(/^export /gm)?.length ?? 0;
  if (found.length !== declared) throw new Error(`abi.ts: read ${found.length} of ${declared}`);
  return found.reduce((all, [, above = '', name, value, beside = '']) => {
    // a comment above several constants is not the docstring of the first one
    const comment = above.startsWith('/**') ? above : beside;
    return `${all}${docstring(comment, '')}export const ${name} = ${value};\n`;
  }, text);
}

/** To the host an object of the core is an address, and a boolean is 0 or 1. */
const hostType = (type: string): string =>
  type === 'bool' ? 'boolean' : type === 'externref' ? 'string' : 'number';

function exportsOf(entry: string): Export[] {
  const lists = read(entry).matchAll(/export \{([^}]*)\} from "\.\/([\w-]+)"/g);
  return [...lists].flatMap(([, names = '', file = '']) =>
    names
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '')
      .map((each) => {
        const [inside = '', outside = inside] = each.split(' as ');
        const pattern = new RegExp(
          `${COMMENT_ABOVE}(?:^@\\w+[^\\n]*\\n)*` +
            `^export function ${inside}\\(([^)]*)\\)\\s*:\\s*([^{]+)\\{`,
          'm',
        );
        const found = pattern.exec(read(file));
        if (found === null) throw new Error(`${entry}.ts: no function ${inside} in ${file}.ts`);
        const [, comment = '', parameters = '', result = ''] = found;
        return {
          name: outside,
          comment,
          parameters: parameters
            .split(',')
            .map((each) => each.split(':').map((part) => part.trim()))
            .filter(([name]) => name !== '')
            .map(([name, type = '']) => `${name}: ${hostType(type)}`)
            .join(', '),
          result: result.trim() === 'void' ? 'void' : 'number',
        };
      }),
  );
}

/**
 * The exports are written out one by one: an object that is filled in a loop becomes a hash table
 * in V8, and then no call is compiled into its caller (a cycle of 59 ns took 68).
 */
function exportsModule(entry: string, type: string, builder: string): string {
  const all = exportsOf(entry);
  const members = all.map(
    ({ name, comment, parameters, result }) =>
      `${docstring(comment, '  ')}  ${name}(${parameters}): ${result};\n`,
  );
  const values = all.map(
    ({ name }) => `    ${name}: ${UNGUARDED.has(name) ? `e.${name}` : `guard(e.${name})`},\n`,
  );
  const source = generatedFrom(`assembly/${entry}.ts`);
  return `${source}import type { WasmMemory } from '../wasm/web-assembly.ts';

/** Handles come first and are never 0; slots are dense numbers from 0; times are milliseconds. */
export interface ${type} {
  readonly memory: WasmMemory;
${members.join('')}}

/** What the package calls: all exports but those of the hot path go through \`guard\`. */
export function ${builder}(e: ${type}, guard: <F>(call: F) => F): ${type} {
  return {
    memory: e.memory,
${values.join('')}  };
}
`;
}

write('abi', constants());
write('core-exports', exportsModule('index', 'CoreExports', 'coreExports'));
write('cache-exports', exportsModule('cache', 'CacheExports', 'cacheExports'));
