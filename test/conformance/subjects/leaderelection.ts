/**
 * leaderelection: a LeaderElector with a LeaseLock against a server that follows the script. The
 * jitter is the recorded one: while acquiring, the elector's next random number leads to the
 * recorded time of the next request.
 */
import type { Transport, TransportRequest } from 'capstan/cache';
import { LeaderElector, LeaseLock } from 'capstan/leaderelection';
import { FakeClock } from 'capstan/workqueue';
import type { Observed, TraceStep, TraceSubject } from '../runner.ts';
import { unknownOp } from './fields.ts';

interface Scenario {
  readonly config: {
    readonly identity: string;
    readonly leaseDurationMs: number;
    readonly renewDeadlineMs: number;
    readonly retryPeriodMs: number;
    readonly releaseOnCancel: boolean;
    readonly cancelAtMs: number;
  };
  readonly script: readonly {
    readonly expect: string;
    readonly status: number;
    readonly body: unknown;
  }[];
  readonly want: { readonly requests: readonly { readonly atMs: number }[] };
}

/** The start of the recorded time. */
const START = Date.UTC(2000, 0, 1);
const CALLBACK_ORDER = ['newLeader', 'startedLeading', 'stoppedLeading'];

function sentBody(request: TransportRequest): object {
  const { metadata, spec } = JSON.parse(String(request.body)) as {
    metadata: { resourceVersion?: string };
    spec: Record<string, unknown>;
  };
  const { acquireTime, renewTime, ...rest } = spec;
  const since = (time: unknown): number => Date.parse(String(time)) - START;
  return {
    resourceVersion: metadata.resourceVersion ?? null,
    ...rest,
    acquireMs: since(acquireTime),
    renewMs: since(renewTime),
  };
}

async function replay({ config, script, want }: Scenario): Promise<object> {
  const clock = new FakeClock();
  const now = (): number => Math.round(clock.now());
  const requests: object[] = [];
  const events: { event: string; atMs: number }[] = [];
  const transport: Transport = {
    async request(request) {
      const { method, path } = request;
      const answer = script[requests.length];
      requests.push({
        method,
        path,
        ...(request.body === undefined ? {} : { body: sentBody(request) }),
        atMs: now(),
      });
      if (answer === undefined)
        throw new Error(`request ${requests.length} of a script of ${script.length}`);
      const bytes = new TextEncoder().encode(JSON.stringify(answer.body));
      return {
        status: answer.status,
        headers: new Headers({ 'content-type': 'application/json' }),
        body: (async function* () {
          yield bytes;
        })(),
      };
    },
  };
  const tell = (event: string, more: object = {}): void => {
    events.push({ event, ...more, atMs: now() });
  };
  const elector = new LeaderElector({
    lock: new LeaseLock(transport, { namespace: 'ns', name: 'lock', identity: config.identity }),
    leaseDuration: config.leaseDurationMs,
    renewDeadline: config.renewDeadlineMs,
    retryPeriod: config.retryPeriodMs,
    releaseOnCancel: config.releaseOnCancel,
    clock,
    wallNow: () => START + now(),
    random: () => {
      const next = want.requests[requests.length];
      return next === undefined ? 0.999 : ((next.atMs - now()) / config.retryPeriodMs - 1) / 1.2;
    },
    callbacks: {
      onStartedLeading: () => tell('startedLeading'),
      onStoppedLeading: () => tell('stoppedLeading'),
      onNewLeader: (identity) => tell('newLeader', { identity }),
    },
  });
  const cancel = new AbortController();
  clock.setTimer(() => cancel.abort(), config.cancelAtMs);
  let ended = false;
  const running = elector.run({ signal: cancel.signal }).then(() => {
    ended = true;
  });
  await clock.run(config.cancelAtMs + 1);
  if (!ended) throw new Error(`the elector runs on after ${config.cancelAtMs} ms`);
  await running;
  if (clock.timers() > (now() < config.cancelAtMs ? 1 : 0))
    throw new Error('the elector left a timer behind');
  const place = ({ event }: { event: string }): number => CALLBACK_ORDER.indexOf(event);
  events.sort((a, b) => a.atMs - b.atMs || place(a) - place(b));
  return { requests, events, isLeader: elector.isLeader(), leader: elector.getLeader() };
}

export const leaderelection: TraceSubject = {
  observes: ['want'],
  begin: () => ({
    async step(step: TraceStep): Promise<Observed> {
      if (step.op !== 'scenario') throw unknownOp(step);
      return { want: await replay(step as unknown as Scenario) };
    },
  }),
};
