/**
 * The worker. It runs Capstan (the built package) or the naive port in a heap of its own, so that
 * the garbage and the type feedback of one do not slow the other. Errors go to the page with their
 * code.
 */
import type { Order, Report, WorkerFacts } from './protocol.ts';
import { steadyLoad } from './steady.ts';
import { prepareWork, type Round } from './time-work.ts';

/** The part of DedicatedWorkerGlobalScope that is used; the DOM's types call `self` a window. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<Order>) => void) | null;
  postMessage(report: Report): void;
}
const scope = self as unknown as WorkerScope;

/**
 * Steps of the clock that are looked at; the smallest is its resolution unless the machine was
 * slower than that.
 */
const STEPS = 12;

function clockResolution(): number {
  let smallest = Number.POSITIVE_INFINITY;
  let last = performance.now();
  for (let seen = 0; seen < STEPS; ) {
    const now = performance.now();
    if (now === last) continue;
    smallest = Math.min(smallest, now - last);
    last = now;
    seen++;
  }
  return smallest;
}

function facts(): WorkerFacts {
  return {
    keyTable: 'js',
    resolutionMs: clockResolution(),
    isolated: globalThis.crossOriginIsolated === true,
  };
}

function errorReport(error: unknown): Report {
  if (!(error instanceof Error))
    return { type: 'error', name: 'Error', code: undefined, message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { type: 'error', name: error.name, code, message: error.message };
}

let round: (() => Round) | undefined;

async function obey(order: Order): Promise<Report> {
  switch (order.type) {
    case 'prepare':
      round = prepareWork(order.peer, order.work, order.n);
      return { type: 'prepared', facts: facts() };
    case 'round':
      if (round === undefined) throw new Error('expected the order "prepare" before "round"');
      return { type: 'round', ...round() };
    case 'steady':
      await steadyLoad(order.peer, order.shape, (slice, warm) =>
        scope.postMessage({ type: 'slice', slice, warm }),
      );
      return { type: 'steady-done', facts: facts() };
  }
}

scope.onmessage = ({ data }) => {
  obey(data).then(
    (report) => scope.postMessage(report),
    (error) => scope.postMessage(errorReport(error)),
  );
};
