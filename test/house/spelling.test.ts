/**
 * The spelling of the API: how objects are created, how they end, and the names of options. Each
 * exception has its reason; the lists may only become shorter.
 */
import { globSync, readFileSync } from 'node:fs';
import * as apimachinery from 'capstan/apimachinery';
import * as cache from 'capstan/cache';
import * as client from 'capstan/client';
import * as clientNode from 'capstan/client-node';
import * as controller from 'capstan/controller';
import * as leaderelection from 'capstan/leaderelection';
import * as manager from 'capstan/manager';
import * as testing from 'capstan/testing';
import * as webhook from 'capstan/webhook';
import * as workqueue from 'capstan/workqueue';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { declarations, ENTRIES, exportsOf, membersOf, optionTables } from './public-api.ts';

type Class = { name: string; prototype: object };

const modules = [
  apimachinery,
  cache,
  client,
  clientNode,
  controller,
  leaderelection,
  manager,
  testing,
  webhook,
  workqueue,
];
const values = new Map<string, unknown>(modules.flatMap((module) => Object.entries(module)));
const isClass = (value: unknown): value is Class =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
const classes = [...values.values()].filter(isClass);
const functions = [...values]
  .filter(([, value]) => typeof value === 'function' && !isClass(value))
  .map(([name]) => name);
const sources = declarations();
const published = new Set(ENTRIES.flatMap(exportsOf));

/** The words of tests of behavior, programs and pages. */
const used = new Set(
  globSync(['{test,examples,bin,bench}/**/*.{ts,mjs}', 'docs/**/*.md', 'README.md'], {
    cwd: root,
    exclude: ['test/house/**', 'test/base/names.test.ts'],
  }).flatMap((file) => readFileSync(`${root}/${file}`, 'utf8').match(/[A-Za-z_$][\w$]*/g) ?? []),
);

/** Go functions by their names here. */
const NEW = {
  newClient: 'controller-runtime client.New',
  newControllerManagedBy: 'controller-runtime builder.ControllerManagedBy',
  newDryRunClient: 'controller-runtime client.NewDryRunClient',
  newInformer: 'client-go cache.NewInformer',
  newManager: 'controller-runtime manager.New',
  newMilliQuantity: 'apimachinery resource.NewMilliQuantity',
  newNamespacedClient: 'controller-runtime client.NewNamespacedClient',
  newPredicateFuncs: 'controller-runtime predicate.NewPredicateFuncs',
  newQuantity: 'apimachinery resource.NewQuantity',
  newSharedInformerFactory: 'client-go informers.NewSharedInformerFactory',
  newStore: 'client-go cache.NewStore',
  newTTLStore: 'client-go cache.NewTTLStore',
  newWebhookManagedBy: 'controller-runtime builder.WebhookManagedBy',
};

/** What Kubernetes calls "create": a write, and the controller of the first examples. */
const CREATE = ['createController', 'createOrPatch', 'createOrUpdate'];

describe('an exported value', () => {
  it('is used by a test, a program or a page', () => {
    expect(used.size).toBeGreaterThan(5000);
    const found = [...values.keys()].filter((name) => !used.has(name));
    expect(found).toEqual([]);
  });
});

describe('a function that creates an object', () => {
  it('is found in all entries', () => {
    expect(classes.length).toBeGreaterThan(40);
    expect(functions.length).toBeGreaterThan(100);
  });

  it('is "new" for a class, and newX only where Go has NewX', () => {
    const found = functions.filter((name) => /^new[A-Z]/.test(name)).sort();
    expect(found).toEqual(Object.keys(NEW).sort());
  });

  it('is createX only where Kubernetes says create, and never makeX', () => {
    const made = functions.filter((name) => /^(create|make|start|build|get)[A-Z]/.test(name));
    // client-go: metav1.GetControllerOf. A server is started: its promise waits until it is ready.
    const others = ['getControllerOf', 'startEnvtest', 'startTestServer'];
    expect(made.sort()).toEqual([...CREATE, ...others].sort());
  });

  it('is the constructor or a function, not both', () => {
    const small = (name: string): string => name[0]?.toLowerCase() + name.slice(1);
    const twice = classes
      .map(({ name }) => name)
      .filter((name) => values.has(`new${name}`) || values.has(small(name)));
    expect(twice).toEqual([]);
  });

  it('is a description if it is called defineX: it takes no transport or client', () => {
    const defining = functions.filter((name) => /^define[A-Z]/.test(name));
    expect(defining.sort()).toEqual(['defineCustomResource', 'defineRequest', 'defineResource']);
    for (const name of defining)
      expect(String(values.get(name))).not.toMatch(/\b(transport|client)\b/);
  });
});

/** The classes that functions return. */
const transport = testing.fakeTransport();
const pods = cache.defineResource()({
  ...{ group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
});
const behind = [
  transport,
  cache.fetchTransport('http://127.0.0.1:1'),
  cache.newSharedInformerFactory(transport),
  client.newClient({ transport }),
  clientNode.httpTransport('http://127.0.0.1:1'),
  controller.createController({ transport, for: pods, reconcile: () => ({}) }),
  manager.newManager({ transport }),
].map((value) => Object.getPrototypeOf(value).constructor as Class);

/**
 * Names of methods that end an object, with the classes that may have them; any class may have
 * `close`.
 */
const ENDS: Readonly<Record<string, readonly string[] | 'all'>> = {
  close: 'all',
  stop: ['ApiServer', 'ReconcileLoop', 'SharedIndexInformer'],
  // As client-go's queues; the factory's is client-go's Shutdown.
  shutDown: ['DelayingQueue', 'PriorityQueue', 'RateLimitingQueue', 'WorkQueue'],
  shutdown: ['SharedInformerFactory'],
  // Gives memory of the core back.
  dispose: [
    'DelayingQueue',
    'ItemExponentialFailureRateLimiter',
    'ItemFastSlowRateLimiter',
    'PriorityQueue',
    'RateLimitingQueue',
    'WorkQueue',
  ],
  destroy: [],
  disconnect: [],
  end: [],
  release: [],
  terminate: [],
};

/** A queue has shutDown and dispose: the symbol is for dispose. */
const endsOf = ({ prototype }: Class): string[] => {
  const all = Object.keys(ENDS).filter((name) => name in prototype);
  return all.includes('dispose') ? ['dispose'] : all;
};

const symbolsOf = (value: object): symbol[] =>
  [Symbol.dispose, Symbol.asyncDispose].filter((symbol) => symbol in value);

/** Whether a method of a class returns a promise, by the sources. */
const isAsync = (name: string, method: string): boolean =>
  new RegExp(`^ {2}(?:async )?${method}\\(.*\\): Promise<`, 'm').test(
    sources.get(name)?.body ?? '',
  );

describe('a method that ends an object', () => {
  const all = [...classes, ...behind.filter((one) => !classes.includes(one))];
  const ending = all.filter((one) => endsOf(one).length > 0);

  it('is found by this test', () => {
    expect(ending.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['WorkQueue', 'RealFIFO', 'SharedIndexInformer', 'EventRecorder']),
    );
  });

  it.each(Object.entries(ENDS))('has the name %s only in the listed classes', (method, allowed) => {
    const having = all.filter(({ prototype }) => method in prototype).map(({ name }) => name);
    if (allowed === 'all') expect(having.length).toBeGreaterThan(0);
    else expect(having.sort()).toEqual([...allowed].sort());
  });

  it('is one method of a class', () => {
    expect(ending.filter((one) => endsOf(one).length > 1).map(({ name }) => name)).toEqual([]);
  });

  it('has its symbol: dispose if it is synchronous, asyncDispose otherwise', () => {
    const wrong = ending
      .filter((one) => {
        const [method = ''] = endsOf(one);
        const wanted = isAsync(one.name, method) ? Symbol.asyncDispose : Symbol.dispose;
        const symbols = symbolsOf(one.prototype);
        return symbols.length !== 1 || symbols[0] !== wanted;
      })
      .map(({ name }) => name);
    expect(wrong).toEqual([]);
  });

  it('is what the symbol calls', () => {
    for (const one of ending) {
      const called: string[] = [];
      const self = new Proxy(
        {},
        {
          get: (_, name) => () => {
            called.push(String(name));
            return Promise.resolve();
          },
        },
      );
      for (const symbol of symbolsOf(one.prototype)) {
        (one.prototype as Record<symbol, () => unknown>)[symbol]?.call(self);
        expect([one.name, ...called]).toEqual([one.name, ...endsOf(one)]);
      }
    }
  });
});

/** Option names with a unit, each with its reason. */
const WITH_UNIT = {
  // One name with its meaning in all programs that use it.
  'PriorityQueueOptions.everyMs': 'aging: { everyMs }',
  'ControllerSettings.debounceMs': 'the oldest option of a controller',
  'ControllerSettings.debounceMaxMs': 'the bound of debounceMs',
  // Members of Kubernetes' own options, in seconds.
  'DeleteOptions.gracePeriodSeconds': 'metav1.DeleteOptions',
  'WatchOptions.timeoutSeconds': 'metav1.ListOptions',
};

/** Names with different types but one meaning. */
const MANY_TYPES = {
  filter: 'what passes: a text in names of requests, or a function of HTTP requests',
  resyncPeriod: 'milliseconds, or a function that returns them',
};

/** Options whose former name programs use: `queue` of a work queue for `order`. */
const FORMER = ['QueueOptions'];

/** The types that distinguish two meanings. Others may be two names of one type. */
const kindsOf = (type: string): string[] => {
  const kind = type.includes('=>') ? 'function' : type;
  return ['boolean', 'function', 'number', 'string'].includes(kind) ? [kind] : [];
};

describe('options', () => {
  const tables = optionTables();
  const interfaces = [...published].flatMap((name) => {
    const found = sources.get(name);
    return found !== undefined && /(Options|Settings|Defaults|Limits|Selection)$/.test(name)
      ? [found]
      : [];
  });

  it('are found in the tables of their names', () => {
    expect(tables.length).toBeGreaterThan(100);
    expect(tables.find(({ of }) => of === 'TimerSourceOptions')?.names).toContain('period');
    expect(interfaces.length).toBeGreaterThan(60);
  });

  it('are used by a test, a program or a page', () => {
    const found = tables.flatMap(({ of, names }) =>
      names.filter((name) => !used.has(name)).map((name) => `${of}.${name}`),
    );
    expect(found).toEqual([]);
  });

  it('are milliseconds without a unit in their names if they are durations', () => {
    const found = tables.flatMap(({ of, names }) =>
      names
        .filter((name) => /(Ms|Millis|Milliseconds|Secs|Seconds|Minutes)$/.test(name))
        .map((name) => `${of.replace(/.*<(\w+).*/, '$1')}.${name}`),
    );
    expect([...new Set(found)].sort()).toEqual(Object.keys(WITH_UNIT).sort());
  });

  it('have documentation that says milliseconds if they are durations', () => {
    const duration = /(timeout|period|interval|duration|deadline|delay|ttl|cap)$/i;
    const silent = interfaces.flatMap((one) =>
      membersOf(one)
        .filter(({ name, type }) => type === 'number' && duration.test(name))
        .filter(({ doc }) => !/milliseconds|\bms\b/i.test(doc + one.doc))
        .map(({ name }) => `${one.name}.${name}`),
    );
    expect(silent).toEqual([]);
  });

  it('have one meaning per name', () => {
    const kinds = new Map<string, Set<string>>();
    for (const one of interfaces)
      for (const { name, type } of membersOf(one))
        kinds.set(name, new Set([...(kinds.get(name) ?? []), ...kindsOf(type)]));
    const many = [...kinds].filter(([, found]) => found.size > 1).map(([name]) => name);
    expect(many.sort()).toEqual(Object.keys(MANY_TYPES).sort());
  });

  it('have no former names', () => {
    const former = [...sources.values()]
      .filter(({ body, doc }) => /@deprecated/.test(body + doc))
      .map(({ name }) => name)
      .filter((name) => !FORMER.includes(name));
    expect(former).toEqual([]);
  });
});
