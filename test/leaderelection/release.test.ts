/** How a lease is released: what is retried and when, and what may be written meanwhile. */
import type { LogFields } from 'capstan/controller';
import { silentLogger } from 'capstan/controller';
import { describe, expect, it } from 'vitest';
import { failure } from '../helpers/leaderelection/lease-server.ts';
import { Candidate } from './candidate.ts';

describe('a release', () => {
  it('that conflicts is retried at once, then each retry period', async () => {
    const candidate = new Candidate({ releaseOnCancel: true });
    await candidate.run();
    const times: number[] = [];
    candidate.transport.intercept = ({ method }) => {
      if (method !== 'PUT') return undefined;
      times.push(candidate.clock.now());
      return failure(409, 'Conflict');
    };
    await candidate.stop();
    await candidate.run(9999);
    expect([times, candidate.ended]).toEqual([[0, 0, 2000, 4000, 6000, 8000], false]);
    await candidate.run(1);
    expect([candidate.ended, candidate.holder(), candidate.clock.timers()]).toEqual([
      true,
      'baz',
      0,
    ]);
  });

  it('that fails otherwise is not retried, and is logged', async () => {
    const logged: [string, LogFields | undefined][] = [];
    const logger = {
      ...silentLogger,
      warn: (text: string, fields?: LogFields) => void logged.push([text, fields]),
    };
    const candidate = new Candidate({ releaseOnCancel: true, logger });
    await candidate.run();
    const before = candidate.transport.methods.length;
    candidate.transport.intercept = ({ method }) =>
      method === 'PUT' ? failure(500, 'InternalError') : undefined;
    await candidate.stop();
    await candidate.run(20_000);
    expect(candidate.transport.methods.slice(before)).toEqual(['GET', 'PUT']);
    expect(logged).toMatchObject([
      ['leader election could not release the lease', { error: { status: 500 } }],
    ]);
    expect(candidate.ended).toBe(true);
  });

  // Another candidate may take it and begin before the response is here.
  it('ends all writes before it is sent, even if the lease was valid for longer', async () => {
    const times = {
      leaseDuration: 15_000,
      renewDeadline: 2000,
      retryPeriod: 1000,
      maxClockSkewRatio: 1.5,
    };
    const candidate = new Candidate({ releaseOnCancel: true, stepDown: 'lapse', ...times });
    const lapsed: boolean[] = [];
    candidate.transport.intercept = (_request, number) => {
      if (number > 3) lapsed.push(candidate.elector.endIfLapsed());
      return number > 3 && candidate.clock.now() < 3000 ? failure(500, 'InternalError') : undefined;
    };
    await candidate.run(2999);
    expect(new Set(lapsed.splice(0))).toEqual(new Set([false]));
    await candidate.run(1);
    expect([lapsed, candidate.holder()]).toEqual([[true, true], '']);
  });
});
