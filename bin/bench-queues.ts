/**
 * The queues that `capstan bench` measures: Capstan's, the naive port, and one of the user's own
 * module. Each is made by a function that gets a clock, so that delays pass in virtual time too.
 */
import { pathToFileURL } from 'node:url';
import { CapstanError, type Clock, DelayingQueue, WorkQueue } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { NaivePort } from './naive-port.ts';
import { nearestWord } from './nearest.ts';

/** What a queue needs to be measured. The semantics are client-go's. */
export interface BenchQueue {
  add(key: string): void;
  /** The next key, or undefined if none is ready. */
  tryGet(): string | undefined;
  done(key: string): void;
  /** Adds the key after that many milliseconds. Needed only with --delayed. */
  addAfter?(key: string, ms: number): void;
  dispose?(): void;
}

export interface BenchPeer {
  readonly name: string;
  make(options: { clock: Clock }): BenchQueue;
}

/** @param delayed whether the workload calls `addAfter` */
export function ownPeers(delayed: boolean): BenchPeer[] {
  return [
    {
      name: 'capstan',
      make: ({ clock }) => (delayed ? new DelayingQueue({ clock }) : new WorkQueue({ clock })),
    },
    { name: 'naive port', make: ({ clock }) => new NaivePort(clock) },
  ];
}

/**
 * Loads a module whose default export, or export `makeQueue`, is a function that makes a queue or a
 * class.
 *
 * @throws CapstanError INVALID_ARGUMENT if it cannot be loaded or makes something else
 */
export async function loadPeer(path: string, name: string, delayed: boolean): Promise<BenchPeer> {
  const module = await attempt(
    `--peer ${path} could not be loaded`,
    () => import(pathToFileURL(path).href) as Promise<Record<string, unknown>>,
  );
  const maker = module.makeQueue ?? module.default;
  if (typeof maker !== 'function')
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `--peer ${path} expected a default export or an export "makeQueue" that is a function or a ` +
        `class, got ${Object.keys(module).join(', ') || 'no exports'}`,
    );
  const isClass = /^class\b/.test(Function.prototype.toString.call(maker));
  const make = (options: { clock: Clock }): BenchQueue =>
    isClass
      ? new (maker as new (options: { clock: Clock }) => BenchQueue)(options)
      : (maker as (options: { clock: Clock }) => BenchQueue)(options);
  return { name, make: (options) => checkedQueue(make(options), path, delayed) };
}

function checkedQueue(queue: unknown, path: string, delayed: boolean): BenchQueue {
  const given = (queue ?? {}) as Record<string, unknown>;
  const needed = ['add', 'tryGet', 'done', ...(delayed ? ['addAfter'] : [])];
  const missing = needed.find((method) => typeof given[method] !== 'function');
  if (missing === undefined) return queue as BenchQueue;
  const meant = nearestWord(missing, methodsOf(given));
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `--peer ${path} expected a queue with the methods ${needed.join(', ')}: ${missing} is missing` +
      `${meant === undefined ? '' : `; is it what you call "${meant}"?`}`,
  );
}

function methodsOf(given: object): string[] {
  const names = new Set<string>();
  for (
    let level: object | null = given;
    level !== null && level !== Object.prototype;
    level = Object.getPrototypeOf(level)
  )
    for (const name of Object.getOwnPropertyNames(level))
      if (name !== 'constructor') names.add(name);
  return [...names];
}
