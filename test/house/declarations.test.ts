/**
 * Compiles programs against the built declarations, as users do: without skipLibCheck, and the core
 * without the types of Node.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { typeErrors } from '../helpers/type-errors.ts';

const BROWSER = { lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'], types: [] };

const namesProgram = (entry: string): string =>
  `import * as all from 'capstan/${entry}';\nexport const names = Object.keys(all);\n`;

const CORE = `
import { type Resource, SharedIndexInformer, fetchTransport, ListWatch } from 'capstan/cache';
import { createController } from 'capstan/controller';
import { FakeClock, RateLimitingQueue, type Request, requestKey } from 'capstan/workqueue';

const clock = new FakeClock();
const queue = new RateLimitingQueue<Request>(undefined, { key: requestKey, clock });
queue.add({ namespace: 'default', name: 'web' });

interface Pod { metadata: { name: string }; spec: { nodeName: string } }
declare const pods: Resource<Pod, 'byNode'>;
const transport = fetchTransport('http://localhost:8001');
const informer = new SharedIndexInformer(new ListWatch(transport, pods));
export const found: Pod[] = informer.getIndexer().byIndex('byNode', 'node-1');
const reconcile = () => ({ requeueAfter: 1000 });
export const controller = createController({ transport, for: pods, reconcile });
`;

// A remark that a parameter is internal had removed the member from the declarations: `new
// Indexer(keyFunc, indexers)` was an error, and so was an Indexer in place of a store. All other
// tests compile against the sources and did not see it.
const STORE = `
import { Indexer, ListWatch, metaNamespaceKeyFunc, Reflector } from 'capstan/cache';
import type { IndexSpec, ReflectorStore, Resource } from 'capstan/cache';

interface Pod { metadata: { name: string; namespace: string }; spec: { nodeName: string } }
const indexers: Record<'byNode', IndexSpec<Pod>> = { byNode: 'spec.nodeName' };
const store = new Indexer<Pod, 'byNode'>(undefined, indexers);
store.replace([], '1');
declare const listWatch: ListWatch<Pod>;
export const reflectorStore: ReflectorStore<Pod> = store;
export const key = metaNamespaceKeyFunc({ metadata: { name: 'a' } });
export { Reflector, type Resource };
`;

/** An apply configuration may omit fields that a complete object requires. */
const APPLY = `
import type { Resource } from 'capstan/cache';
import type { Client } from 'capstan/client';

interface PodSpec { containers: { name: string; image: string }[] }
interface Deployment {
  metadata: { name: string; labels?: Record<string, string> };
  spec: { replicas: number; selector: object; template: { spec: PodSpec } };
}
declare const client: Client;
declare const deployments: Resource<Deployment, never>;
const metadata = { name: 'a' };
const three = { metadata, spec: { replicas: 3 } };
export const replicas = client.apply(deployments, three, { fieldOwner: 'me' });
const template = { spec: { containers: [{ name: 'a', image: 'b' }] } };
export const image = client.apply(deployments, { metadata, spec: { template } });
// @ts-expect-error a member that there is not
export const wrong = client.apply(deployments, { metadata, spec: { replica: 3 } });
// @ts-expect-error a value that is none
export const text = client.apply(deployments, { metadata, spec: { replicas: '3' } });
`;

/**
 * Zod types an optional member as possibly undefined, which `exactOptionalPropertyTypes`
 * distinguishes from an omitted one.
 */
const CONDITIONS = `
import { findStatusCondition, isStatusConditionTrue, setStatusCondition } from 'capstan/client';
import type { Condition, ObjectMeta } from 'capstan/client';
import { z } from 'zod';

const Status = z.object({
  conditions: z.array(z.object({
    type: z.string(),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string().optional(),
    message: z.string().optional(),
    lastTransitionTime: z.string(),
    observedGeneration: z.number().optional(),
  })).optional(),
});
declare const status: z.infer<typeof Status>;
declare const metadata: ObjectMeta;
const observedGeneration = metadata.generation;
const ready = {
  type: 'Ready', status: 'True', reason: 'Done', message: '', observedGeneration,
} as const;
const conditions = setStatusCondition(status.conditions, ready);
export const next: z.infer<typeof Status> = { conditions };
const undated = { ...ready, lastTransitionTime: undefined };
export const first: Condition[] = setStatusCondition(undefined, undated);
export const isReady = isStatusConditionTrue(status.conditions, 'Ready');
export const reason = findStatusCondition(status.conditions, 'Ready')?.reason;
// @ts-expect-error a status that there is not
export const wrong = setStatusCondition(status.conditions, { ...ready, status: 'Yes' });
`;

/**
 * An option may be undefined: under `exactOptionalPropertyTypes` only `...(signal && { signal })`
 * compiled, and the project of `capstan init` did not.
 */
const PASSED_ON = `
import { ListWatch, newSharedInformerFactory, SharedIndexInformer, watch } from 'capstan/cache';
import type { Resource, Transport } from 'capstan/cache';
import { type Client, type ObjectMeta } from 'capstan/client';
import { createController } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { WorkQueue } from 'capstan/workqueue';

interface Pod { metadata: ObjectMeta }
declare const pods: Resource<Pod, never>;
declare const transport: Transport;
declare const client: Client;
interface Given { signal?: AbortSignal; namespace?: string; limit?: number }
export function all(object: Pod, { signal, namespace, limit }: Given) {
  const { name, generation } = object.metadata;
  const listWatch = new ListWatch(transport, pods, { namespace });
  const informer = new SharedIndexInformer(listWatch, { resyncPeriod: limit });
  void informer.run({ signal });
  void client.list(pods, { namespace, limit, signal });
  newSharedInformerFactory(transport, { maxBytes: limit, whenFull: undefined });
  void client.create(pods, { metadata: { name, generation } }, { signal });
  void client.get(pods, { namespace, name: 'a' }, { signal });
  void new WorkQueue<string>({ name: namespace }).shutDownWithDrain({ signal });
  const reconcile = () => ({ requeueAfter: limit });
  void newManager({ transport, gracefulShutdownTimeout: limit }).start({ signal });
  const options = { transport, for: pods, maxConcurrentReconciles: limit, reconcile };
  void createController(options).run({ signal });
  return watch(transport, pods, { namespace, signal });
}
`;

/**
 * The declarations of a library that uses the package must name our types: TS2883 if no entry
 * exports a type. In this folder tsc names its file instead.
 */
const LIBRARY = `
import { Indexer, type ListWatch } from 'capstan/cache';
import type { newControllerManagedBy } from 'capstan/controller';

declare const listWatch: ListWatch<object>;
// @ts-expect-error for the package alone, as are the types of what it takes
export const page = listWatch.list;
export const seen = { ...listWatch };
type Arguments = ConstructorParameters<typeof Indexer>;
export const indexerArguments = (...[keyFunc, indexers, bytes]: Arguments) =>
  ({ keyFunc, indexers, bytes });
export const { withOptions } = null as unknown as ReturnType<typeof newControllerManagedBy>;
`;

/**
 * An entry exports the types of what it makes: a file that imported only that entry could not be
 * compiled with declarations, as project references need.
 */
const MADE = {
  'client-node': `
import { httpTransport } from 'capstan/client-node';
export const transport = httpTransport('http://localhost:8001');
`,
  manager: `
import type { ControllerManager } from 'capstan/manager';
export const parts = ({ cache, client, transport }: ControllerManager) =>
  ({ cache, client, transport });
`,
  testing: `
import type { ApiServer } from 'capstan/testing';
export const transportTo = (server: ApiServer) => server.transport();
`,
};

/**
 * Helpers for any type: a type parameter without a constraint is enough where the package does not
 * need an object. `Spoke` and the `T` of a builder had to be objects.
 */
const HELPERS = `
import { ListWatch, SharedIndexInformer } from 'capstan/cache';
import type { Resource, ResourceEventHandler, Transport } from 'capstan/cache';
import { RateLimitingQueue } from 'capstan/workqueue';
import type { Got, Metric, MetricsProvider, QueueOptions, QueueOrder, RateLimiter }
  from 'capstan/workqueue';
import type { Conversion, Validator, WebhookBuilder } from 'capstan/webhook';

export class Stack<T> implements QueueOrder<T> {
  readonly #items: T[] = [];
  touch(): void {}
  push(item: T): void { this.#items.push(item); }
  len(): number { return this.#items.length; }
  pop(): T { return this.#items.pop() as T; }
}
export class Counting<T> extends RateLimitingQueue<T> {
  adds = 0;
  constructor(limiter?: RateLimiter<T>, options?: QueueOptions<T>) { super(limiter, options); }
  override add(item: T): void { this.adds++; super.add(item); }
  override get(options?: { signal?: AbortSignal }): Promise<Got<T>> { return super.get(options); }
}
export const listWatchOf = <T>(transport: Transport, resource: Resource<T>) =>
  new ListWatch(transport, resource);
export function informerOf<T extends object, I extends string>(
  listWatch: ListWatch<T, I>,
  handler: ResourceEventHandler<T>,
): SharedIndexInformer<T, I> {
  const informer = new SharedIndexInformer(listWatch);
  informer.addEventHandler(handler);
  return informer;
}
export function webhooks<T, S>(
  builder: WebhookBuilder<T>,
  validator: Validator<T>,
  conversion: Conversion<S, T>,
): WebhookBuilder<T> {
  return builder.withValidator(validator).withConversion(conversion);
}
export const same = (builder: WebhookBuilder<{ metadata?: object }>) =>
  builder.withConversion({ version: 'v0', toHub: (old) => old, fromHub: (now) => now });
const metric: Metric = { inc() {}, dec() {}, set() {}, observe() {} };
export const depth: ReturnType<MetricsProvider['newDepthMetric']> = metric;
`;

const TEMPLATE = `export * from '../../bin/template/src/main.ts';`;

describe('the declarations of the package', () => {
  it.each(Object.entries({ options: PASSED_ON, template: TEMPLATE }))(
    'accept options that may be undefined: %s',
    (name, program) => {
      const options = { types: ['node'], allowImportingTsExtensions: true, skipLibCheck: true };
      expect(typeErrors(`undefined-${name}`, program, options)).toBe('');
    },
  );

  it('accept helpers for any type', () => {
    expect(typeErrors('helpers', HELPERS, { types: ['node'] })).toBe('');
  });

  it('accept some of the fields of an object in an apply', () => {
    expect(typeErrors('apply', APPLY, BROWSER)).toBe('');
  });

  it('accept the conditions of a schema library', () => {
    expect(typeErrors('conditions', CONDITIONS, { ...BROWSER, skipLibCheck: true })).toBe('');
  });

  it('use no type that a library cannot name', () => {
    expect(
      typeErrors('library', LIBRARY, {
        ...BROWSER,
        declaration: true,
        noEmit: false,
        outDir: 'out',
      }),
    ).toBe('');
    expect(readFileSync(`${root}/build/consumer-library/out/program.d.ts`, 'utf8')).not.toContain(
      'dist/',
    );
  });

  it.each(Object.entries(MADE))(
    'export from capstan/%s the types of what it makes',
    (name, program) => {
      const options = {
        types: ['node'],
        skipLibCheck: true,
        declaration: true,
        noEmit: false,
        outDir: 'out',
      };
      expect(typeErrors(`made-${name}`, program, options)).toBe('');
      expect(
        readFileSync(`${root}/build/consumer-made-${name}/out/program.d.ts`, 'utf8'),
      ).not.toContain('dist/');
    },
  );

  it('have the constructor and all methods of the store', () => {
    expect(typeErrors('store', STORE, BROWSER)).toBe('');
  });

  it.each(['apimachinery', 'cache', 'client', 'controller', 'leaderelection', 'workqueue'])(
    'compile alone: capstan/%s',
    (entry) => {
      const program = namesProgram(entry);
      expect(typeErrors(`alone-${entry}`, program, BROWSER)).toBe('');
    },
  );

  // Node's types declare no WebAssembly: programs without the DOM's types or skipLibCheck did not
  // compile.
  it.each([
    'apimachinery',
    'cache',
    'cache.wasm',
    'client',
    'controller',
    'core.wasm',
    'leaderelection',
    'manager',
    'testing',
    'webhook',
    'workqueue',
  ])('compile on Node without the types of the DOM: capstan/%s', (entry) => {
    const program = namesProgram(entry);
    expect(typeErrors(`node-${entry}`, program, { types: ['node'] })).toBe('');
  });

  // client-node is an optional peer: users of httpTransport alone had to install it for its types.
  // capstan/kinds is for those who have it.
  it('need no other package, apart from capstan/kinds', () => {
    const { exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as {
      exports: Record<string, { types?: string }>;
    };
    const files = Object.entries(exports).flatMap(([entry, { types }]) =>
      types && entry !== './kinds' ? [join(root, types)] : [],
    );
    const named = new Set<string>();
    for (const file of files) {
      const code = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
      for (const [, name = ''] of code.matchAll(/(?:from |import\()["']([^"']+)["']/g)) {
        if (!name.startsWith('.')) named.add(name);
        const next = join(dirname(file), name.replace(/\.[jt]s$/, '.d.ts'));
        if (name.startsWith('.') && !files.includes(next)) files.push(next);
      }
    }
    expect(files.length).toBeGreaterThan(150);
    expect([...named].filter((name) => !/^(?:node:|capstan)/.test(name))).toEqual([]);
  });

  it('accept a compiled module if there are types of one', () => {
    const program = `
import { initCore } from 'capstan/workqueue';
initCore({ module: new WebAssembly.Module(new Uint8Array()) });
`;
    expect(typeErrors('module', program, BROWSER)).toBe('');
  });

  it('compile without the types of Node', () => {
    expect(typeErrors('core', CORE, BROWSER)).toBe('');
  });

  it('know the names of the indices, and the types of the items', () => {
    const wrong = CORE.replace("byIndex('byNode'", "byIndex('byNodes'").replace(
      "name: 'web' }",
      'name: 1 }',
    );
    const errors = typeErrors('wrong', wrong, BROWSER).split('\n');
    expect(errors.filter((line) => line.includes('error TS'))).toEqual([
      expect.stringContaining("Type 'number' is not assignable to type 'string'"),
      expect.stringContaining('\'"byNodes"\' is not assignable'),
    ]);
  });

  it('compile on Node', () => {
    const program = `
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { ApiServer } from 'capstan/testing';
import { KubeConfig } from '@kubernetes/client-node';
export const transports = [
  kubeConfigTransport(new KubeConfig()), httpTransport('http://localhost:8001'),
];
export const server: Promise<ApiServer> = ApiServer.start({ port: 0 });
`;
    expect(typeErrors('node', program, { types: ['node'], skipLibCheck: true })).toBe('');
  });
});
