/**
 * The code that runs on every runtime needs no specific one: the cases, their helpers and the trace
 * replayer import no Node module. The bundler of `npm run test:runtimes` checks it too.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { importsOf } from './imports.ts';

const STARTS = [
  'test/workqueue/cases/*.ts',
  'test/conformance/subjects/*.ts',
  'test/runtimes/suite.ts',
  'test/runtimes/hosts/*.ts',
];

/** All files of test/ that these import at run time. */
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

it('the cases and their helpers import capstan, vitest and each other alone', () => {
  const files = reachable();
  expect(files).toEqual(
    expect.arrayContaining([
      'test/helpers/expect-error.ts',
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
