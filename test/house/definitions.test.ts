/** An exported name has one definition, so that a search for it finds one. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const DEFINITION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const enum|class|interface|type|function\*?|const|let|enum)\s+([A-Za-z_][\w$]*)/gm;

/**
 * Names with two definitions, by the folder that is to rename one of them. The list may only become
 * shorter: a name that no longer has two definitions must be removed from it.
 */
const LEFT: Readonly<Record<string, readonly string[]>> = {
  workqueue: ['aborted'],
};

/** The files that define each exported name. A workerd variant counts as its module. */
function definitions(): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  const exclude = ['bindings/generated/**', '**/*.workerd.ts', '**/node_modules/**'];
  for (const path of globSync(['bindings/**/*.ts', 'bin/**/*.ts', 'scripts/**/*.ts'], {
    cwd: root,
    exclude,
  }))
    for (const [, name = ''] of readFileSync(`${root}/${path}`, 'utf8').matchAll(DEFINITION)) {
      const files = all.get(name) ?? new Set();
      all.set(name, files.add(path));
    }
  return all;
}

describe('exported names', () => {
  const all = definitions();
  const twice = [...all].filter(([, files]) => files.size > 1);

  it('are found by this test', () => {
    expect(all.get('CapstanError')).toEqual(new Set(['bindings/base/errors.ts']));
    expect(all.size).toBeGreaterThan(1000);
  });

  it('are defined in one file each', () => {
    const left = new Set(Object.values(LEFT).flat());
    const found = twice
      .filter(([name]) => !left.has(name))
      .map(([name, files]) => `${name}: ${[...files].sort().join(', ')}`);
    expect(found).toEqual([]);
  });

  it('are in the list of exceptions only while they have two definitions', () => {
    expect(Object.values(LEFT).flat().length).toBeLessThanOrEqual(1);
  });
});
