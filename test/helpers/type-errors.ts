/** The compiler's errors for a program, for tests that it must not compile. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { root } from './repository.ts';

/** What tsc says about a program in a folder of its own, by the built declarations. */
export function typeErrors(name: string, program: string, compilerOptions: object): string {
  const folder = `${root}/build/consumer-${name}`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/program.ts`, program);
  const strictest = {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    ...compilerOptions,
  };
  writeFileSync(
    `${folder}/tsconfig.json`,
    JSON.stringify({ compilerOptions: strictest, include: ['program.ts'] }),
  );
  const tsc = `${root}/node_modules/typescript/bin/tsc`;
  const result = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  });
  return result.stdout + result.stderr;
}
