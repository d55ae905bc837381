/**
 * `describe`, `test` and hooks, and the run of the registered tests. Nothing is lost: every
 * registered test has one result, a hook that fails fails the test, a test that hangs times out,
 * and one that is registered twice runs twice.
 */
import { showValue } from './show.ts';

type Work = (...args: never[]) => unknown;
export type Hook = () => unknown;

export interface Result {
  /** The titles from the outermost `describe` to the test. */
  readonly path: readonly string[];
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Why it failed. */
  readonly message?: string;
  readonly ms: number;
}

interface Options {
  readonly timeout?: number;
}

interface Group {
  readonly title: string;
  readonly parent: Group | undefined;
  readonly skipped: boolean;
  readonly children: (Group | Test)[];
  readonly before: Hook[];
  readonly after: Hook[];
  readonly beforeEach: Hook[];
  readonly afterEach: Hook[];
}

interface Test {
  readonly title: string;
  readonly skipped: boolean;
  readonly timeout: number;
  readonly work: Hook;
}

/** Milliseconds for one test or hook. */
const PATIENCE = 30_000;

/** Replaces `%s` and others by the arguments in turn, `$name` by the fields of the first. */
export function titleOf(template: string, args: readonly unknown[], index: number): string {
  let next = 0;
  const text = (value: unknown): string => (typeof value === 'string' ? value : showValue(value));
  return template
    .replace(/%([sdifjo#%])/g, (mark, kind: string) => {
      if (kind === '%') return '%';
      if (kind === '#') return String(index);
      if (next >= args.length) return mark;
      const value = args[next++];
      return kind === 'j' ? JSON.stringify(value) : text(value);
    })
    .replace(/\$(\w+)/g, (mark, name: string) => {
      const [first] = args;
      return typeof first === 'object' && first !== null && name in first
        ? text(Reflect.get(first, name))
        : mark;
    });
}

/** Rows that are lists are spread over the parameters. */
const argumentsOf = (row: unknown): readonly unknown[] => (Array.isArray(row) ? row : [row]);

export class Registry {
  #group: Group;
  readonly #top: Group;
  /** Called when a test begins; if a runtime hangs, it shows where. */
  onBegin: (path: readonly string[]) => void = () => {};

  constructor() {
    this.#top = this.#newGroup('', undefined, false);
    this.#group = this.#top;
  }

  readonly describe = Object.assign(
    (title: string, body: () => void): void => this.#describe(title, body, false),
    {
      skip: (title: string, body: () => void): void => this.#describe(title, body, true),
      each:
        (rows: readonly unknown[]) =>
        (title: string, body: Work): void => {
          rows.forEach((row, i) => {
            const args = argumentsOf(row);
            this.#describe(titleOf(title, args, i), () => body(...(args as never[])), false);
          });
        },
    },
  );

  readonly test = Object.assign(
    (title: string, a: Work | Options, b?: Work | number): void =>
      this.#test(title, [], a, b, false),
    {
      skip: (title: string, a?: Work | Options, b?: Work | number): void =>
        this.#test(title, [], a ?? {}, b, true),
      skipIf: (condition: unknown) => (title: string, a: Work | Options, b?: Work | number) =>
        this.#test(title, [], a, b, Boolean(condition)),
      runIf: (condition: unknown) => (title: string, a: Work | Options, b?: Work | number) =>
        this.#test(title, [], a, b, !condition),
      each:
        (rows: readonly unknown[]) =>
        (title: string, a: Work | Options, b?: Work | number): void => {
          rows.forEach((row, i) => {
            const args = argumentsOf(row);
            this.#test(titleOf(title, args, i), args, a, b, false);
          });
        },
    },
  );

  readonly beforeAll = (hook: Hook): void => void this.#group.before.push(hook);
  readonly afterAll = (hook: Hook): void => void this.#group.after.push(hook);
  readonly beforeEach = (hook: Hook): void => void this.#group.beforeEach.push(hook);
  readonly afterEach = (hook: Hook): void => void this.#group.afterEach.push(hook);

  /** Runs everything, in the order of registration, one at a time. */
  async run(): Promise<Result[]> {
    const results: Result[] = [];
    await this.#runGroup(this.#top, [], results, undefined);
    return results;
  }

  #newGroup(title: string, parent: Group | undefined, skipped: boolean): Group {
    return {
      title,
      parent,
      skipped,
      children: [],
      before: [],
      after: [],
      beforeEach: [],
      afterEach: [],
    };
  }

  #describe(title: string, body: () => void, skipped: boolean): void {
    const outer = this.#group;
    const group = this.#newGroup(title, outer, skipped || outer.skipped);
    outer.children.push(group);
    this.#group = group;
    try {
      const answer: unknown = body();
      if (answer instanceof Promise)
        throw new TypeError(`describe ${showValue(title)}: expected a synchronous function`);
    } finally {
      this.#group = outer;
    }
  }

  #test(
    title: string,
    args: readonly unknown[],
    a: Work | Options,
    b: Work | number | undefined,
    skipped: boolean,
  ): void {
    const work = typeof a === 'function' ? a : b;
    const timeout = typeof a === 'object' ? a.timeout : typeof b === 'number' ? b : undefined;
    if (typeof work !== 'function' && !skipped)
      throw new TypeError(`test ${showValue(title)}: expected a function`);
    const group = this.#group;
    group.children.push({
      title,
      skipped: skipped || group.skipped,
      timeout: timeout ?? PATIENCE,
      work: () => (work as Work)(...(args as never[])),
    });
  }

  async #runGroup(
    group: Group,
    path: readonly string[],
    results: Result[],
    broken: Failure | undefined,
  ): Promise<void> {
    let problem = broken;
    for (const hook of group.skipped ? [] : group.before)
      problem ??= await failureOf(hook, PATIENCE);
    for (const child of group.children) {
      const inner = [...path, child.title];
      if ('children' in child) await this.#runGroup(child, inner, results, problem);
      else results.push(await this.#runTest(child, group, inner, problem));
    }
    const at = results.length;
    for (const hook of group.skipped ? [] : group.after) {
      const failure = await failureOf(hook, PATIENCE);
      if (failure === undefined) continue;
      results.splice(at, 0, {
        path: [...path, 'afterAll'],
        state: 'failed',
        message: describeError(failure.error),
        ms: 0,
      });
    }
  }

  async #runTest(
    test: Test,
    group: Group,
    path: readonly string[],
    broken: Failure | undefined,
  ): Promise<Result> {
    if (test.skipped) return { path, state: 'skipped', ms: 0 };
    this.onBegin(path);
    const start = performance.now();
    const groups: Group[] = [];
    for (let one: Group | undefined = group; one !== undefined; one = one.parent)
      groups.unshift(one);
    let problem = broken;
    for (const hook of groups.flatMap((one) => one.beforeEach))
      problem ??= await failureOf(hook, PATIENCE);
    problem ??= await failureOf(test.work, test.timeout);
    for (const hook of groups.toReversed().flatMap((one) => one.afterEach)) {
      const failure = await failureOf(hook, PATIENCE);
      problem ??= failure;
    }
    const ms = performance.now() - start;
    if (problem === undefined) return { path, state: 'passed', ms };
    return { path, state: 'failed', message: describeError(problem.error), ms };
  }
}

/** Boxed: any value may be thrown, also undefined. */
interface Failure {
  readonly error: unknown;
}

async function failureOf(work: Hook, ms: number): Promise<Failure | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms} ms`)), ms);
  });
  try {
    await Promise.race([work(), late]);
    return undefined;
  } catch (error) {
    return { error };
  } finally {
    clearTimeout(timer);
  }
}

/** An error with its stack and its causes. Not every engine has the message in the stack. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${showValue(error)}`;
  const head = `${error.name}: ${error.message}`;
  const stack = error.stack ?? '';
  const text = stack.includes(error.message) ? stack : `${head}\n${stack}`;
  return error.cause === undefined ? text : `${text}\ncaused by ${describeError(error.cause)}`;
}
