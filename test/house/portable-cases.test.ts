/**
 * What runs on every runtime may need nothing of one: the cases, their helpers and the replayer of
 * traces import no module of Node's. Held here, where it costs milliseconds, and by the bundler of
 * `npm run test:runtimes`.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { importsOf } from './imports.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const STARTS = [
  'test/workqueue/cases/*.ts',
  'test/conformance/subjects/*.ts',
  'test/runtimes/suite.ts',
  'test/runtimes/hosts/*.ts',
];

/** Every file of test/ that these need at run time. */
function reachable(): string[] {
  const todo = globSync(STARTS, { cwd: root });
  const found = new Set(todo);
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    for (const { specifier, typeOnly } of importsOf(readFileSync(join(root, path), 'utf8'))) {
      const target = join(dirname(path), specifier);
      if (
        typeOnly ||
        !specifier.startsWith('.') ||
        !target.startsWith('test/') ||
        found.has(target)
      )
        continue;
      found.add(target);
      todo.push(target);
    }
  }
  return [...found].sort();
}

it('the cases and all that they use import capstan, the test runner and each other alone', () => {
  const files = reachable();
  expect(files).toEqual(
    expect.arrayContaining([
      'test/helpers/workqueue/helpers.ts',
      'test/conformance/runner.ts',
      'test/helpers/random.ts',
    ]),
  );
  const foreign = files.flatMap((path) =>
    importsOf(readFileSync(join(root, path), 'utf8'))
      .filter(
        ({ specifier, typeOnly }) =>
          !typeOnly && !/^(\.|capstan\/|capstan-test:|vitest$)/.test(specifier),
      )
      .map(({ specifier, line }) => `${path}:${line} imports ${specifier}`),
  );
  expect(foreign).toEqual([]);
});
