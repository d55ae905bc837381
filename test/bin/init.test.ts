/**
 * A new project as its author gets it: the package is packed, its command line writes the project,
 * and the project's own scripts run. Its other packages are links to those of this repository.
 * Needs the built package (`npm test` builds it).
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadAllYaml, loadYaml } from '@kubernetes/client-node';
import { defineResource, type KubeObject, watch } from 'capstan/cache';
import { type CustomResourceDefinition, installCRDs, newClient } from 'capstan/client';
import { newControllerManagedBy, silentLogger } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { ApiServer, FakeClock, fakeTransport } from 'capstan/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linkPackages } from '../helpers/project-packages.ts';
import { root } from '../helpers/repository.ts';

const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as {
  version: string;
  engines: { node: string };
  devDependencies: Record<string, string>;
};
/** Not below the repository, whose configuration files would apply. */
const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-init-')));
const installed = join(place, 'package');
const project = join(place, 'Fox Den');
afterAll(() => rmSync(place, { recursive: true, force: true, maxRetries: 5 }));

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const run = promisify(execFile);
const node = (cwd: string, ...args: string[]): Promise<Ended> =>
  run(process.execPath, args, { cwd, encoding: 'utf8' }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr }),
  );
const capstan = (...args: string[]): Promise<Ended> =>
  node(place, join(installed, 'dist/bin/capstan.js'), ...args);
const textOf = (path: string): string => readFileSync(join(project, path), 'utf8');
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

beforeAll(() => {
  const packed = execFileSync(
    'npm',
    ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', place],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  execFileSync('tar', ['-xzf', packed.trim().split('\n').at(-1) ?? ''], { cwd: place });
}, 60_000);

describe('capstan init', () => {
  let first: Ended;
  beforeAll(async () => {
    const named = ['--kind', 'ArcticFox', '--group', 'den.acme.io'];
    first = await capstan('init', 'Fox Den', ...named, '--capstan', `^${manifest.version}`);
  });

  it('writes the files that it lists, and prints the next steps', () => {
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const written = filesIn(project);
    expect(written).toEqual([
      '.dockerignore',
      '.github/workflows/ci.yaml',
      '.gitignore',
      'Dockerfile',
      'README.md',
      'biome.json',
      'bundle.ts',
      'deploy/crd.yaml',
      'deploy/namespace.yaml',
      'deploy/optional/network-policy.yaml',
      'deploy/optional/shards.yaml',
      'deploy/rbac-arcticfox.yaml',
      'deploy/rbac.yaml',
      'deploy/samples/arcticfox.yaml',
      'deploy/workload.yaml',
      'dev.ts',
      'package.json',
      'src/controllers.ts',
      'src/controllers/arcticfox.ts',
      'src/main.ts',
      'src/resources/arcticfox.ts',
      'test/arcticfox.test.ts',
      'tsconfig.json',
    ]);
    expect(first.stdout).toBe(
      `${written.map((path) => `  ${path}\n`).join('')}\nfox-den is there. Next:\n  ` +
        "cd 'Fox Den'\n  npm install\n  npm test\n  npm run dev\n",
    );
  });

  // Yarn's Plug'n'Play reads from zip archives and returns "." as the parent of every entry: the
  // template's folder was read as a file, EISDIR.
  it("writes the same project with Yarn's Plug'n'Play", async () => {
    const yarn = `import promises from 'node:fs/promises';
      import { syncBuiltinESMExports } from 'node:module';
      const { readdir } = promises;
      const asYarn = (entry) =>
        typeof entry === 'string' ? entry : Object.assign(entry, { parentPath: '.' });
      promises.readdir = async (...args) => (await readdir(...args)).map(asYarn);
      syncBuiltinESMExports();`;
    const program = [
      '--import',
      `data:text/javascript,${encodeURIComponent(yarn)}`,
      join(installed, 'dist/bin/capstan.js'),
    ];
    const named = ['--kind', 'ArcticFox', '--group', 'den.acme.io', '--name', 'fox-den'];
    named.push('--capstan', `^${manifest.version}`);
    expect(await node(place, ...program, 'init', 'yarn', ...named)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(filesIn(join(place, 'yarn'))).toEqual(filesIn(project));
  });

  it('uses the given kind, group and folder in all names', () => {
    const all = filesIn(project)
      .map((path) => `${path}\n${textOf(path)}`)
      .join('\n');
    expect(all).not.toMatch(/greeting|example\.com/i);
    expect(textOf('deploy/samples/arcticfox.yaml')).toMatch(
      /^apiVersion: den\.acme\.io\/v1alpha1\nkind: ArcticFox\n/,
    );
    expect(textOf('deploy/rbac-arcticfox.yaml')).toContain('resources: [arcticfoxes/status]');
    expect(JSON.parse(textOf('package.json'))).toMatchObject({
      // npm stops an older Node, where Vitest would end without a word about Node.
      devEngines: { runtime: { name: 'node', version: manifest.engines.node, onFail: 'error' } },
      name: 'fox-den',
      type: 'module',
      capstan: { name: 'fox-den', group: 'den.acme.io' },
      dependencies: { capstan: `^${manifest.version}`, zod: `^${manifest.devDependencies.zod}` },
    });
  });

  it('writes manifests that are valid Kubernetes objects', () => {
    const kinds = [
      'namespace.yaml',
      'rbac.yaml',
      'rbac-arcticfox.yaml',
      'workload.yaml',
      'optional/network-policy.yaml',
      'optional/shards.yaml',
      'samples/arcticfox.yaml',
    ].map((path) =>
      loadAllYaml(textOf(`deploy/${path}`)).map((object: { kind: string }) => object.kind),
    );
    expect(kinds).toEqual([
      ['Namespace'],
      ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
      ['ClusterRole', 'ClusterRoleBinding'],
      ['Deployment', 'Service', 'PodDisruptionBudget'],
      ['NetworkPolicy'],
      ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'],
      ['ArcticFox'],
    ]);
  });

  it('writes the permissions that a manager with shards needs', async () => {
    const clock = new FakeClock();
    const objects = ['rbac.yaml', 'optional/shards.yaml', 'rbac-arcticfox.yaml']
      .flatMap((path) => loadAllYaml(textOf(`deploy/${path}`)) as KubeObject[])
      .filter(({ metadata }) => !metadata?.name?.endsWith('-leader'));
    await using server = fakeTransport({
      clock,
      objects,
      resources: [ArcticFox],
      authorization: 'RBAC',
    });
    const end = new AbortController();
    const managers = ['one', 'two'].map((replica) => {
      const manager = newManager({
        transport: server.as('system:serviceaccount:fox-den:fox-den'),
        clock,
        logger: silentLogger,
        shards: { id: 'fox-den', namespace: 'fox-den', replica },
      });
      newControllerManagedBy(manager)
        .for(ArcticFox)
        .named(replica)
        .complete(async () => undefined);
      return { manager, running: manager.start({ signal: end.signal }) };
    });
    await clock.run(60_000);
    expect(managers.map(({ manager }) => manager.shards?.slots.length)).toEqual([32, 32]);
    end.abort();
    await clock.run(60_000);
    await Promise.all(managers.map(({ running }) => running));
    for (const { manager } of managers)
      expect(manager.accessRecord.entries().filter(({ refused }) => refused > 0)).toEqual([]);
  });

  it('writes a workflow that runs scripts which the project has', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    const { jobs } = loadYaml<{ jobs: Record<string, { steps: { run?: string }[] }> }>(
      textOf('.github/workflows/ci.yaml'),
    );
    const run = Object.values(jobs).flatMap(({ steps }) => steps.flatMap((step) => step.run ?? []));
    const named = run.flatMap((line) => /^npm (?:run )?(\w+)/.exec(line)?.[1] ?? []);
    expect(named).toEqual(['ci', 'lint', 'typecheck', 'test', 'crd', 'bundle']);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named.slice(1)));
  });

  describe('the installed project', () => {
    beforeAll(() => linkPackages(project, installed));

    it('passes its tests', { timeout: 60_000 }, async () => {
      const { code, stdout, stderr } = await node(
        project,
        'node_modules/vitest/vitest.mjs',
        'run',
        '--no-color',
      );
      expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/Tests +8 passed \(8\)/);
    });

    it('passes its type check', { timeout: 60_000 }, async () => {
      expect(await node(project, 'node_modules/typescript/bin/tsc')).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      });
    });

    it('passes its lint', { timeout: 60_000 }, async () => {
      const { scripts } = JSON.parse(textOf('package.json')) as { scripts: { lint: string } };
      const [program, ...args] = scripts.lint.split(' ');
      expect(program).toBe('biome');
      const biome = join(project, 'node_modules/@biomejs/biome/bin/biome');
      const { code, stdout, stderr } = await node(project, biome, ...args);
      expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/Checked \d+ files/);
    });

    // The formatter changed deploy/crd.yaml too, and `npm run crd -- --check` failed after it.
    it('keeps deploy/ and its texts when it is formatted', { timeout: 60_000 }, async () => {
      const { scripts } = JSON.parse(textOf('package.json')) as { scripts: { format: string } };
      const [program, ...args] = scripts.format.split(' ');
      expect(program).toBe('biome');
      const kept = filesIn(project).filter((path) => /^deploy\/|\.md$/.test(path));
      const before = kept.map(textOf);
      const biome = join(project, 'node_modules/@biomejs/biome/bin/biome');
      expect(await node(project, biome, ...args)).toMatchObject({ code: 0, stderr: '' });
      expect(kept.map(textOf)).toEqual(before);
      expect(kept).toContain('deploy/crd.yaml');
    });

    it('contains the definition that `npm run crd` writes', async () => {
      const written = textOf('deploy/crd.yaml');
      rmSync(join(project, 'deploy/crd.yaml'));
      const { scripts } = JSON.parse(textOf('package.json')) as { scripts: { crd: string } };
      const [program, ...args] = scripts.crd.split(' ');
      expect(program).toBe('capstan');
      expect(await node(project, join(installed, 'dist/bin/capstan.js'), ...args)).toMatchObject({
        code: 0,
        stderr: '',
      });
      expect(textOf('deploy/crd.yaml')).toBe(written);
    });

    it('starts, leads, reconciles, and releases the lease at the end', {
      timeout: 60_000,
    }, async () => {
      const server = await ApiServer.start();
      const transport = server.transport();
      const client = newClient({ transport, fieldOwner: 'test' });
      const print =
        "const { ArcticFox } = await import('./src/resources/arcticfox.ts'); " +
        'console.log(JSON.stringify(ArcticFox.crd))';
      const { stdout } = await node(project, '--input-type=module', '--eval', print);
      await installCRDs(client, [JSON.parse(stdout) as CustomResourceDefinition]);
      const kubeconfig = join(place, 'kubeconfig');
      const context = { name: 'only', context: { cluster: 'only', user: 'only' } };
      writeFileSync(
        kubeconfig,
        JSON.stringify({
          'current-context': 'only',
          contexts: [context],
          clusters: [
            { name: 'only', cluster: { server: server.url, 'insecure-skip-tls-verify': true } },
          ],
          users: [{ name: 'only', user: {} }],
        }),
      );
      const nowhere = '127.0.0.1:0';
      const env = {
        KUBECONFIG: kubeconfig,
        HEALTH_ADDRESS: nowhere,
        METRICS_ADDRESS: nowhere,
        DEBUG_ADDRESS: nowhere,
      };
      const { scripts } = JSON.parse(textOf('package.json')) as { scripts: { start: string } };
      const [program, ...args] = scripts.start.split(' ');
      expect(program).toBe('node');
      const child = spawn(process.execPath, args, {
        cwd: project,
        env: { ...process.env, ...env },
      });
      try {
        let said = '';
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (chunk) => (said += chunk));
        const ended = once(child, 'exit');
        await client.create(ArcticFox, loadYaml<object>(textOf('deploy/samples/arcticfox.yaml')));
        const found = new AbortController();
        void ended.then(() => found.abort());
        let message: string | undefined;
        for await (const { object } of watch(transport, ConfigMap, {
          resourceVersion: '0',
          signal: found.signal,
        })) {
          message = object.data?.message;
          break;
        }
        expect(message, said).toBe('Hello, world');
        child.kill('SIGTERM');
        expect(await ended, said).toEqual([0, null]);
        const lease = await client.get(Lease, { namespace: 'default', name: 'fox-den' });
        expect(lease.spec).toMatchObject({
          holderIdentity: '',
          leaseTransitions: expect.any(Number),
        });
      } finally {
        child.kill('SIGKILL');
        await transport.close?.();
        await server.stop();
      }
    });
  });
});

const ConfigMap = defineResource<{ data?: Record<string, string> }>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});
const ArcticFox = defineResource<object>()({
  group: 'den.acme.io',
  version: 'v1alpha1',
  kind: 'ArcticFox',
  plural: 'arcticfoxes',
  namespaced: true,
});
const Lease = defineResource<{ spec: object }>()({
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
});
