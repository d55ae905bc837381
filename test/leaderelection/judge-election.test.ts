/** The judge finds each violation: one history for each. */
import { expect, it } from 'vitest';
import {
  type ElectionLogEntry,
  judgeElection,
  type ProcessLog,
} from '../helpers/leaderelection/judge-election.ts';

const write = (sentAt: number, version: number, holder: string): ElectionLogEntry => ({
  kind: 'write',
  at: sentAt + 5,
  sentAt,
  version: String(version),
  holder,
  seconds: 3,
});
const run = (number: number, begin: number, end: number, aborted = false): ElectionLogEntry[] => [
  { kind: 'begin', at: begin, run: number },
  { kind: 'end', at: end, run: number, aborted },
];
const history = (
  identity: string,
  entries: ElectionLogEntry[],
  more: Partial<ProcessLog> = {},
): ProcessLog => ({
  identity,
  entries,
  stops: [],
  killed: false,
  ...more,
});
const a = (entries: ElectionLogEntry[], more?: Partial<ProcessLog>) =>
  history('a', [{ kind: 'leads', at: 6 }, ...entries], more);
const b = (entries: ElectionLogEntry[]) => history('b', entries);

it('accepts leaders that follow one another', () => {
  const verdict = judgeElection([
    a([write(0, 9, 'a'), ...run(1, 10, 100), ...run(2, 2900, 2999, true)]),
    b([write(3100, 10, 'b'), ...run(1, 3200, 3300)]),
  ]);
  expect(verdict).toEqual({ violations: [], runs: 3, terms: 1, overlaps: 0, aborted: 0 });
});

it('accepts a process that was stalled during its work, and a killed one', () => {
  const other = b([write(3100, 10, 'b'), ...run(1, 3200, 3300)]);
  const stops = [{ from: 150, to: 5000 }];
  const stopped = a([write(0, 9, 'a'), ...run(1, 100, 5400, true)], { stops });
  expect(judgeElection([stopped, other])).toMatchObject({
    violations: [],
    overlaps: 1,
    aborted: 1,
  });
  const killed = a([write(0, 9, 'a'), { kind: 'begin', at: 100, run: 1 }], { killed: true });
  expect(judgeElection([killed, other])).toMatchObject({ violations: [], overlaps: 0 });
});

it.each<[string, ProcessLog[]]>([
  ['a begins work at 10.0 without a lease', [a(run(1, 10, 20))]],
  ['a begins work at 4.0 without a lease', [a([write(0, 9, 'a'), ...run(1, 4, 20)])]],
  ['a begins work at 10.0 without a lease', [a(run(1, 10, 20)), b([write(0, 9, 'a')])]],
  [
    'a begins work at 3000.0, 0.0 ms after its lease ran out',
    [a([write(0, 9, 'a'), ...run(1, 3000, 3001)])],
  ],
  [
    'a begins work at 2000.0 after the lease went to b at 1999.0',
    [a([write(0, 9, 'a'), ...run(1, 2000, 2001)]), b([write(1999, 10, 'b')])],
  ],
  [
    'a begins work at 2000.0 after the lease went to nobody at 1000.0',
    [a([write(0, 9, 'a'), write(1000, 10, ''), ...run(1, 2000, 2001)])],
  ],
  [
    'a works from 100.0 on while b begins at 3200.0, and stops only 1100.0 ms after it could',
    [a([write(0, 9, 'a'), ...run(1, 100, 4300)]), b([write(3100, 10, 'b'), ...run(1, 3200, 3300)])],
  ],
  [
    'a works from 100.0 on while b begins at 3200.0, and never ends',
    [
      a([write(0, 9, 'a'), { kind: 'begin', at: 100, run: 1 }]),
      b([write(3100, 10, 'b'), ...run(1, 3200, 3300)]),
    ],
  ],
])('condemns: %s', (what, histories) => {
  expect(judgeElection(histories).violations).toEqual([what]);
});
