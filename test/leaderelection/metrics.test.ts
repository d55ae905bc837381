/** The metrics of leader election with Kubernetes' names, and the times in leases. */
import { HealthzAdaptor, LeaderElectionMetrics } from 'capstan/leaderelection';
import { expect, it } from 'vitest';
import { formatMicroTime } from '../../bindings/base/times.ts';
import { RecordTimes } from '../../bindings/leaderelection/lock.ts';
import { failure } from '../helpers/leaderelection/lease-server.ts';
import { Candidate } from './candidate.ts';

it('metrics show who leads and how often a renewal had to read first', async () => {
  const metrics = new LeaderElectionMetrics();
  expect(metrics.text()).toBe('');
  const candidate = new Candidate({ metrics, name: 'web "1"' });
  expect(metrics.text()).toContain('leader_election_master_status{name="web \\"1\\""} 0');
  candidate.transport.intercept = (_request, number) =>
    number === 4 ? failure(409, 'Conflict') : undefined;
  await candidate.run(2000);
  expect(metrics.text().split('\n')).toEqual([
    '# HELP leader_election_master_status Whether this process leads: 1 if so, 0 if not.',
    '# TYPE leader_election_master_status gauge',
    'leader_election_master_status{name="web \\"1\\""} 1',
    '# HELP leader_election_slowpath_total Number of renewals that had to read the lease first.',
    '# TYPE leader_election_slowpath_total counter',
    'leader_election_slowpath_total{name="web \\"1\\""} 1',
    '',
  ]);
  await candidate.stop();
  expect(metrics.text()).toContain('leader_election_master_status{name="web \\"1\\""} 0');
});

// Electors under changing names kept two series each for ever.
it('metrics forget an elector that has ended when another one ends', async () => {
  const metrics = new LeaderElectionMetrics();
  const status = () => metrics.text().match(/^leader_election_master_status.*$/gm);
  const all = ['a', 'b', 'c'].map((name) => new Candidate({ metrics, name }));
  for (const candidate of all) {
    await candidate.run(1);
    await candidate.stop();
  }
  expect(status()).toEqual(['leader_election_master_status{name="c"} 0']);
  const [again] = all as [Candidate];
  const second = new AbortController();
  const run = again.elector.run({ signal: second.signal });
  expect(status()).toEqual([
    'leader_election_master_status{name="a"} 0',
    'leader_election_master_status{name="c"} 0',
  ]);
  second.abort();
  await run;
  expect(status()).toEqual(['leader_election_master_status{name="a"} 0']);
});

it('a health check has its name in client-go, and the last failure as cause', async () => {
  const watchDog = new HealthzAdaptor(1000);
  expect(watchDog.name()).toBe('leaderElection');
  expect(() => new HealthzAdaptor(-1)).toThrow('"timeout" expected milliseconds >= 0, got -1');
  const candidate = new Candidate({ watchDog });
  candidate.transport.intercept = (_request, number) =>
    number > 3 ? failure(500, 'InternalError') : undefined;
  await candidate.run(11_000);
  candidate.clock.step(20_000);
  expect(() => watchDog.check()).toThrow(
    expect.objectContaining({
      code: 'LEASE_EXPIRED',
      cause: expect.objectContaining({ status: 500 }),
    }),
  );
  await candidate.stop();
});

it('leases show times in UTC with six digits', () => {
  expect(formatMicroTime(Date.UTC(2000, 0, 1) * 1000)).toBe('2000-01-01T00:00:00.000000Z');
  expect(formatMicroTime(Date.UTC(2026, 10, 21, 23, 59, 59, 7) * 1000 + 12)).toBe(
    '2026-11-21T23:59:59.007012Z',
  );
  expect(formatMicroTime(-1)).toBe('1969-12-31T23:59:59.999999Z');
});

it('each time of a record differs from the last, if the clock stands still', () => {
  let wall = Date.UTC(2026, 0, 1);
  const times = new RecordTimes(() => wall);
  const next = (to: number): string => {
    wall = to;
    return times.next().slice(11);
  };
  const start = wall;
  expect([next(start), next(start), next(start)]).toEqual([
    '00:00:00.000000Z',
    '00:00:00.000001Z',
    '00:00:00.000002Z',
  ]);
  expect([next(start + 0.5), next(start + 1), next(start)]).toEqual([
    '00:00:00.000500Z',
    '00:00:00.001000Z',
    '00:00:00.001001Z',
  ]);
  expect(next(start - 3_600_000)).toBe('23:00:00.000000Z');
});
