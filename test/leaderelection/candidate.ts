/** A candidate for tests: an elector on a fake clock that records its callbacks. */
import {
  LeaderElector,
  type LeaderElectorOptions,
  LeaseLock,
  type LeaseLockOptions,
} from 'capstan/leaderelection';
import { FakeClock } from 'capstan/workqueue';
import { LeaseServer, LeaseTransport } from '../helpers/leaderelection/lease-server.ts';

export const START = Date.UTC(2026, 0, 2, 3, 4, 5);

export interface CandidateOptions
  extends Partial<Omit<LeaderElectorOptions, 'lock' | 'callbacks'>> {
  readonly lock?: Partial<LeaseLockOptions>;
  readonly server?: LeaseServer;
  readonly clock?: FakeClock;
  readonly onStartedLeading?: (signal: AbortSignal) => void | Promise<void>;
  readonly onNewLeader?: (identity: string) => void;
}

export class Candidate {
  readonly clock: FakeClock;
  readonly server: LeaseServer;
  readonly transport: LeaseTransport;
  readonly lock: LeaseLock;
  readonly elector: LeaderElector;
  /** `baz leads`, `started`, `stopped`, each with the time. */
  readonly told: string[] = [];
  /** The signal of the last term. */
  leading: AbortSignal | undefined;
  readonly cancel = new AbortController();
  ended = false;
  #running: Promise<void> | undefined;

  constructor(options: CandidateOptions = {}) {
    const {
      lock,
      server = new LeaseServer(),
      clock = new FakeClock(),
      onStartedLeading,
      onNewLeader,
      ...rest
    } = options;
    this.clock = clock;
    this.server = server;
    this.transport = new LeaseTransport(server);
    this.lock = new LeaseLock(this.transport, {
      namespace: 'ns',
      name: 'lock',
      identity: 'baz',
      ...lock,
    });
    const tell = (what: string): void => {
      this.told.push(`${clock.now()} ${what}`);
    };
    this.elector = new LeaderElector({
      lock: this.lock,
      clock,
      wallNow: () => START + clock.now(),
      random: () => 0,
      callbacks: {
        onStartedLeading: (signal) => {
          tell('started');
          this.leading = signal;
          return onStartedLeading?.(signal);
        },
        onStoppedLeading: () => tell('stopped'),
        onNewLeader: (identity) => {
          tell(`${identity} leads`);
          onNewLeader?.(identity);
        },
      },
      ...rest,
    });
  }

  /** Runs it and advances the clock by `ms`. */
  async run(ms = 0): Promise<void> {
    this.#running ??= this.elector.run({ signal: this.cancel.signal }).then(() => {
      this.ended = true;
    });
    await this.clock.run(ms);
  }

  /** Fires its signal and lets pending promises settle. */
  async stop(): Promise<void> {
    this.cancel.abort();
    await this.clock.settle();
  }

  holder(): string | undefined {
    return this.server.lease?.spec.holderIdentity;
  }
}
