/** The metrics of a manager's shards: one sample for each state and reason, in seconds. */
import { expect, it } from 'vitest';
import { shardMetrics } from '../../bindings/manager/shard-metrics.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { shardsOf } from './page-samples.ts';

it('the metrics have the values of the report', async () => {
  const served = parseText(await shardMetrics(() => shardsOf()).text());
  const values = [...served].flatMap(([name, { type, samples }]) =>
    samples.map(({ labels: { name: id, ...labels }, value }) => {
      expect(id).toBe('website-controller');
      return [type, name, ...Object.values(labels), value].join(' ');
    }),
  );
  expect(values).toEqual([
    'counter capstan_shard_moves_total assigned 64',
    'counter capstan_shard_moves_total died 31',
    'counter capstan_shard_moves_total leaving 0',
    'counter capstan_shard_moves_total rebalance 4',
    'gauge capstan_shard_owned 30',
    'gauge capstan_shard_slots draining 0',
    'gauge capstan_shard_slots idle 34',
    'gauge capstan_shard_slots open 30',
    'gauge capstan_shard_slots warm 0',
    'gauge capstan_shard_slots warming 0',
    'gauge capstan_shard_unowned_seconds 3.4',
  ]);
});
