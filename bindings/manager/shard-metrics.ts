/** The metrics of a manager with `shards`, made from the report of its replica. */
import { expositionText, labelPairs, metricFamily, type Sample } from '../base/exposition.ts';
import type { Collector } from '../controller/index.ts';
import type { ShardReport } from '../shards/overview.ts';
import { MOVE_REASONS } from '../shards/plan.ts';

const STATES = ['draining', 'idle', 'open', 'warm', 'warming'] as const;

/** @param report returns the report of the replica; called at each scrape */
export function shardMetrics(report: () => ShardReport): Collector {
  return { name: 'shards', text: () => textOf(report()) };
}

function textOf({ id, replica, slots, states, moves, unownedMs }: ShardReport): string {
  const of = (value: number, more: Readonly<Record<string, string>> = {}): Sample => [
    labelPairs({ name: id, ...more }),
    value,
  ];
  const owned = slots.filter(({ owner }) => owner === replica).length;
  const inState = (state: string): number => states.filter((one) => one === state).length;
  return expositionText([
    ...metricFamily(
      'counter',
      'capstan_shard_moves_total',
      'Number of times that this process, as the coordinator, gave a slot to another owner.',
      MOVE_REASONS.map((reason) => of(moves[reason], { reason })),
    ),
    ...metricFamily('gauge', 'capstan_shard_owned', 'Number of slots that this process owns.', [
      of(owned),
    ]),
    ...metricFamily(
      'gauge',
      'capstan_shard_slots',
      'Number of slots in each state in this process.',
      STATES.map((state) => of(inState(state), { state })),
    ),
    ...metricFamily(
      'gauge',
      'capstan_shard_unowned_seconds',
      'The longest time for which a slot has had no owner.',
      [of(unownedMs / 1000)],
    ),
  ]);
}
