/**
 * One process of bench/controller/causes.ts: update events of `keys` objects through a source's
 * predicates and handler, the queue, and a reconcile function that does nothing, `events` at a
 * time. Prints the CPU time of each event, user and system, the best of `rounds`. With `--causes
 * no` no causes are made and kept; all else is the same.
 */
import { Causes } from '../../bindings/controller/causes.ts';
import { createController } from '../../bindings/controller/create-controller.ts';
import { enqueueRequestForObject } from '../../bindings/controller/handlers.ts';
import type { Cause, Source } from '../../bindings/controller/source.ts';
import { EventPipe } from '../../bindings/controller/sources/event-pipe.ts';
import { flagsOrExit } from '../measure/flags.ts';

const { keys, events, rounds, causes } = flagsOrExit('node bench/controller/causes-load.ts', {
  keys: 1000,
  events: 100_000,
  rounds: 7,
  causes: ['yes', 'no'],
});

interface Thing {
  metadata: { namespace: string; name: string; resourceVersion: string };
}

const pipe = new EventPipe<Thing>({
  name: 'for Website',
  kind: 'Website',
  handler: enqueueRequestForObject(),
});
if (causes === 'no') {
  const none: Cause = { kind: 'update', source: 'none', at: 0 };
  pipe.causeOf = () => none;
  Causes.prototype.add = () => undefined;
}
const source: Source = { name: 'load', start: async (start) => pipe.open(start) };

let left = 0;
let wake = (): void => undefined;
const controller = createController({
  transport: { request: () => Promise.reject(new Error('there is no server')) },
  name: 'causes',
  sources: [source],
  reconcile() {
    if (--left === 0) wake();
  },
});
const run = controller.run();

const thing = (i: number, version: number): Thing => ({
  metadata: {
    namespace: `team-${i % 20}`,
    name: `website-with-a-name-${i}`,
    resourceVersion: String(version),
  },
});
const change = {
  generation: true,
  labels: false,
  annotations: false,
  spec: true,
  status: false,
  metadata: true,
  deletion: false,
};

/** CPU nanoseconds of an event. */
async function round(): Promise<number> {
  const before = process.cpuUsage();
  for (let version = 1; version <= events / keys; version++) {
    left = keys;
    const done = new Promise<void>((resolve) => {
      wake = resolve;
    });
    for (let i = 0; i < keys; i++)
      pipe.update({ objectOld: thing(i, version - 1), objectNew: thing(i, version), change });
    await done;
  }
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / events;
}

await new Promise((resolve) => setImmediate(resolve)); // until the source has started
for (let i = 0; i < 3; i++) await round();
let best = Number.POSITIVE_INFINITY;
for (let i = 0; i < rounds; i++) best = Math.min(best, await round());
await controller.stop();
await run;
console.log(JSON.stringify({ causes, keys, ns: best }));
