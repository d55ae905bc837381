/** A controller on sources that the test controls, in virtual time and without a cache. */
import {
  type Cause,
  type Controller,
  type ControllerOptions,
  createController,
  type Result,
  type Source,
  type SourceStart,
} from 'capstan/controller';
import { type AddOptions, FakeClock, type Request, requestKey } from 'capstan/workqueue';
import { onTestFinished } from 'vitest';
import { FakeCluster } from './fake-cluster.ts';

export const requestOf = (name: string): Request => ({ namespace: 'default', name });

export const causeOf = (kind: Cause['kind'], at = 0, source = 'test'): Cause => ({
  kind,
  source,
  at,
});

/** A source that adds what the test tells it to. */
export class TestSource implements Source {
  readonly name: string;
  started: SourceStart | undefined;
  starts = 0;
  sync: Promise<void> | undefined = undefined;
  begin: Promise<void> = Promise.resolve();

  constructor(name = 'test') {
    this.name = name;
  }

  start(start: SourceStart): Promise<void> {
    this.started = start;
    this.starts++;
    return this.begin;
  }

  async waitForSync(): Promise<void> {
    await this.sync;
  }

  add(name: string, options: AddOptions = {}, cause: Cause = causeOf('generic')): void {
    this.started?.queue.addWithCause(options, requestOf(name), cause);
  }
}

type Reconcile = ControllerOptions<object>['reconcile'];

export interface ControllerRig {
  readonly clock: FakeClock;
  readonly source: TestSource;
  readonly controller: Controller;
  /** `name@milliseconds`, one for each reconcile. */
  readonly calls: string[];
  /** What the run rejected with. */
  readonly errors: unknown[];
  /** Resolves when pending promises have settled; `ended` resolves when the run has ended. */
  start(signal?: AbortSignal): Promise<void>;
  ended(): Promise<void>;
}

export function rig(
  reconcile: Reconcile = () => undefined,
  options: Partial<ControllerOptions<object>> = {},
): ControllerRig {
  const clock = new FakeClock();
  const source = new TestSource();
  const calls: string[] = [];
  const errors: unknown[] = [];
  const controller = createController<object>({
    ...(options.manager === undefined ? { transport: new FakeCluster() } : {}),
    name: 'test',
    clock,
    sources: [source],
    ...options,
    reconcile(request, context) {
      calls.push(`${request.name}@${clock.now()}`);
      return reconcile(request, context);
    },
  });
  let run: Promise<unknown> = Promise.resolve();
  onTestFinished(async () => {
    await controller.stop();
    await run;
  });
  return {
    clock,
    source,
    controller,
    calls,
    errors,
    async start(signal) {
      run = controller.run({ signal }).catch((error: unknown) => errors.push(error));
      await clock.settle();
    },
    ended: async () => void (await run),
  };
}

/** A reconcile function that returns the given results of each request in turn, then succeeds. */
export function reconcileResults(
  all: Record<string, (() => Result | undefined | Promise<Result | undefined>)[]>,
): Reconcile {
  return (request) => all[request.name]?.shift()?.();
}

export const fail = (): never => {
  throw new Error('not yet');
};

export { requestKey };
