/**
 * `node bench/controller/causes.ts [--keys 1000] [--events 100000] [--rounds 5]`, after a build:
 * what the causes of a request (why it is reconciled) cost an event. The same controller with and
 * without causes in turn (A B A B), each in a process of its own; medians.
 */
import { layout, median } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { inTurn, runOnce } from '../measure/rounds.ts';

const { keys, events, rounds } = flagsOrExit('node bench/controller/causes.ts', {
  keys: 1000,
  events: 100_000,
  rounds: 5,
});
const runs = await inTurn(['yes', 'no'], rounds, (causes) =>
  runOnce<{ ns: number }>(
    'controller/causes-load.ts',
    ['--causes', causes, '--keys', String(keys), '--events', String(events)],
    600_000,
  ),
);
const ns = (causes: string): number => median((runs.get(causes) ?? []).map((one) => one.ns));
console.log(
  `\nCPU nanoseconds of an update event, ${keys} objects, median of ${rounds}, Node ` +
    `${process.version}\n`,
);
console.log(
  layout([
    ['', 'ns'],
    ['with causes', ns('yes').toFixed(0)],
    ['without', ns('no').toFixed(0)],
    ['difference', (ns('yes') - ns('no')).toFixed(0)],
  ]),
);
