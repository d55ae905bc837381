/**
 * The types as a program that installs the package sees them: the core without the types of Node, and nothing skipped.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What tsc says about a program in a folder of its own, by the built declarations. */
function typeErrors(name: string, program: string, compilerOptions: object): string {
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
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions: strictest, include: ['program.ts'] }));
  const tsc = `${root}/node_modules/typescript/bin/tsc`;
  const result = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
  return result.stdout + result.stderr;
}

const BROWSER = { lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable', 'esnext.disposable'], types: [] };

const CORE = `
import { type Resource, SharedIndexInformer, fetchTransport, ListWatch } from 'capstan/cache';
import { createController } from 'capstan/controller';
import { FakeClock, RateLimitingQueue, type Request, requestKey } from 'capstan/workqueue';

const queue = new RateLimitingQueue<Request>(undefined, { key: requestKey, clock: new FakeClock() });
queue.add({ namespace: 'default', name: 'web' });

interface Pod { metadata: { name: string }; spec: { nodeName: string } }
declare const pods: Resource<Pod, 'byNode'>;
const transport = fetchTransport('http://localhost:8001');
const informer = new SharedIndexInformer(new ListWatch(transport, pods));
export const found: Pod[] = informer.getIndexer().byIndex('byNode', 'node-1');
export const controller = createController({ transport, for: pods, reconcile: () => ({ requeueAfter: 1000 }) });
`;

describe('the declarations of the package', () => {
  it('serve a program without the types of Node', () => {
    expect(typeErrors('core', CORE, BROWSER)).toBe('');
  });

  it('know the names of the indices, and the types of the items', () => {
    const wrong = CORE.replace("byIndex('byNode'", "byIndex('byNodes'").replace("name: 'web' }", 'name: 1 }');
    const errors = typeErrors('wrong', wrong, BROWSER).split('\n');
    expect(errors.filter((line) => line.includes('error TS'))).toEqual([
      expect.stringContaining("Type 'number' is not assignable to type 'string'"),
      expect.stringContaining('\'"byNodes"\' is not assignable'),
    ]);
  });

  it('serve a program on Node', () => {
    const program = `
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { ApiServer } from 'capstan/testing';
import { KubeConfig } from '@kubernetes/client-node';
export const transports = [kubeConfigTransport(new KubeConfig()), httpTransport('http://localhost:8001')];
export const server: Promise<ApiServer> = ApiServer.start({ port: 0 });
`;
    expect(typeErrors('node', program, { types: ['node'], skipLibCheck: true })).toBe('');
  });
});
