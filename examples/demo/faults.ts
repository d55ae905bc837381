/**
 * The schedule of faults during the churn. The embedded server has all of them; on a real server
 * only connections are cut. All faults end with the churn, so that the controller can then
 * converge.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from 'capstan/testing';
import { Deployment, Service } from '../website/resources.ts';
import type { Cluster } from './cluster.ts';
import type { Random } from './random.ts';

interface Event {
  /** Milliseconds after the start of the churn. */
  at: number;
  name: string;
  run(): void;
}

/**
 * A reflector treats a watch that ends sooner without an event as a broken server, and backs off.
 */
const DISCONNECT_EVERY_MS = 1700;
const REQUEST_FAULTS_EVERY_MS = 700;
/** How long connections are refused. */
const RESTART_MS = 250;

/** What a run does to the connection, a line each, for the reader. */
export function faultLines(embedded: boolean): string[] {
  const cuts = `all connections of the controller are cut every ${DISCONNECT_EVERY_MS / 1000} s`;
  if (!embedded) return [cuts];
  return [
    cuts,
    `every ${REQUEST_FAULTS_EVERY_MS / 1000} s the next 2 to 6 requests of a verb fail, with ` +
      '409, 429, 500, 503,',
    '  a reset, an answer that is lost, or 100 ms of delay',
    'once each: a watch gets 500, a watch gets garbage, the history expires, and the server',
    `  restarts and refuses connections for ${RESTART_MS} ms`,
  ];
}

export class Faults {
  readonly counts = new Map<string, number>();
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #takeBack = new Set<() => void>();

  constructor(cluster: Cluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
  }

  async run(ms: number, signal: AbortSignal): Promise<void> {
    const start = performance.now();
    for (const event of this.#plan(ms)) {
      await sleep(Math.max(start + event.at - performance.now(), 0), undefined, { signal }).catch(
        () => undefined,
      );
      if (signal.aborted) break;
      this.counts.set(event.name, (this.counts.get(event.name) ?? 0) + 1);
      event.run();
    }
  }

  /** Ends all faults. */
  end(): void {
    for (const takeBack of this.#takeBack) takeBack();
    this.#takeBack.clear();
  }

  #plan(ms: number): Event[] {
    const { server } = this.#cluster;
    const plan: Event[] = [];
    for (let at = 500; at < ms; at += DISCONNECT_EVERY_MS) {
      plan.push({ at, name: 'all connections cut', run: () => this.#cluster.disconnect() });
    }
    if (server !== undefined) {
      for (let at = 300; at < ms; at += REQUEST_FAULTS_EVERY_MS) plan.push(this.#requestFault(at));
      const each = [
        { name: 'history expired', run: () => server.expireHistory() },
        {
          name: 'watch answered 500',
          run: () => this.#onWatch(Deployment.plural, { do: 'status', status: 500 }),
        },
        {
          name: 'watch sent garbage',
          run: () =>
            this.#onWatch(Service.plural, { do: 'garbage', bytes: '{"type":"MODIFIED",oops' }),
        },
        { name: 'server restarted', run: () => this.#restart() },
      ];
      each.forEach(({ name, run }, i) => {
        const at = (ms * (2 * i + 1)) / (2 * each.length + 1);
        const both = (): void => {
          run();
          this.#cluster.disconnect(); // so that the fault takes effect at once
        };
        plan.push({ at, name, run: both });
      });
    }
    return plan.sort((a, b) => a.at - b.at);
  }

  /** One informer at a time gets it: the back-off doubles with each failure, so they take turns. */
  #onWatch(plural: string, fault: Fault): void {
    this.#inject({ ...fault, verb: 'watch', path: `/${plural}`, times: 1 });
  }

  #restart(): void {
    const takeBack = this.#inject({ do: 'refuse' });
    setTimeout(() => {
      takeBack();
      this.#takeBack.delete(takeBack);
    }, RESTART_MS);
  }

  #requestFault(at: number): Event {
    const verb = this.#random.pick(['get', 'create', 'patch', 'delete'] as const);
    const times = this.#random.integer(2, 6);
    const [name, fault] = this.#random.pick<[string, Fault]>([
      ['requests answered 500', { do: 'status', status: 500 }],
      ['requests answered 503', { do: 'status', status: 503 }],
      ['requests answered 409', { do: 'status', status: 409 }],
      ['requests throttled with 429', { do: 'status', status: 429, retryAfter: 1 }],
      ['requests reset', { do: 'reset' }],
      ['answers cut, the work done', { do: 'drop', afterBytes: 10 }],
      ['requests delayed', { do: 'delay', ms: 100 }],
    ]);
    return { at, name, run: () => this.#inject({ ...fault, verb, times }) };
  }

  #inject(fault: Fault): () => void {
    const takeBack = this.#cluster.server?.inject(fault) ?? (() => undefined);
    this.#takeBack.add(takeBack);
    return takeBack;
  }
}
