/**
 * Runs every exchange of the table on the embedded API server and on a real one, and compares
 * status, significant headers, bodies and the order of events. normalise.ts lists what is
 * normalised, and why.
 */

import type { Transport } from 'capstan/cache';
import { ApiServer } from 'capstan/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { testSeed } from '../helpers/random.ts';
import { Api } from './same-answers/api.ts';
import { apply } from './same-answers/apply.ts';
import { definitions } from './same-answers/definitions.ts';
import { deletions } from './same-answers/deletions.ts';
import type { Exchange } from './same-answers/exchange.ts';
import { initialEvents } from './same-answers/initial-events.ts';
import { kinds } from './same-answers/kinds.ts';
import { lists } from './same-answers/lists.ts';
import { negotiation } from './same-answers/negotiation.ts';
import { normaliseTranscript } from './same-answers/normalise.ts';
import { objectExchanges } from './same-answers/objects.ts';
import { patches } from './same-answers/patches.ts';
import { randomExchanges } from './same-answers/random.ts';
import { removals } from './same-answers/removals.ts';
import { configMaps, widgets } from './same-answers/resources.ts';
import { schemas } from './same-answers/schemas.ts';
import {
  prepare,
  prepareRealServer,
  readKubeConfig,
  watchCachesFilled,
} from './same-answers/servers.ts';
import { subresources } from './same-answers/subresources.ts';
import { updates } from './same-answers/updates.ts';
import { values } from './same-answers/values.ts';
import { versions } from './same-answers/versions.ts';
import { expired, watches } from './same-answers/watches.ts';
import { zeros } from './same-answers/zeros.ts';

const seed = testSeed();
const random = randomExchanges(seed);
const groups: [name: string, exchanges: Exchange[]][] = [
  ['objects', objectExchanges],
  ['updates', updates],
  ['apply', apply],
  ['patches', patches],
  ['schemas', schemas],
  ['values', values],
  ['zero values', zeros],
  ['subresources and discovery', subresources],
  ['deletions', deletions],
  ['kinds', kinds],
  ['lists', lists],
  ['watches', watches],
  ['initial events', initialEvents],
  ['negotiation', negotiation],
  ['definitions', definitions],
  ['versions', versions],
  ['removals', removals],
  ['random', random],
];
/** Every exchange has its own namespace, with the same name on both servers. */
const namespaces = new Map<object, string>(
  [...groups.flatMap(([, exchanges]) => exchanges), ...expired].map((exchange, index) => [
    exchange,
    `exchange-${index}`,
  ]),
);

let plane: ControlPlane;
let embedded: ApiServer;
let transports: { real: Transport; embedded: Transport };

beforeAll(async () => {
  console.log(`random exchanges: CAPSTAN_SEED=${seed}`);
  plane = await ControlPlane.start();
  const real = await prepareRealServer(await readKubeConfig(plane), [...namespaces.values()]);
  embedded = await ApiServer.start();
  transports = { real, embedded: embedded.transport() };
  await prepare(transports.embedded, [...namespaces.values()]);
});

afterAll(async () => {
  await transports?.real.close?.();
  await transports?.embedded.close?.();
  await embedded?.stop();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

function apis(exchange: object): { real: Api; embedded: Api } {
  const namespace = namespaces.get(exchange) ?? '';
  return {
    real: new Api(transports.real, namespace),
    embedded: new Api(transports.embedded, namespace),
  };
}

/** Compares request by request, so that only the first difference is reported. */
function expectSame(embedded: Api, real: Api, name = 'answers'): void {
  const [got, expected] = [
    normaliseTranscript(embedded.transcript),
    normaliseTranscript(real.transcript),
  ];
  // A watch is opened early, but its events follow from later requests: compare streams last.
  const order = [...real.transcript.keys()].sort(
    (a, b) =>
      Number('events' in real.transcript[a]!) - Number('events' in real.transcript[b]!) || a - b,
  );
  for (const index of order)
    expect(got[index], `${name}: request ${index + 1}`).toEqual(expected[index]);
  expect(got).toHaveLength(expected.length);
}

for (const [group, exchanges] of groups) {
  describe(group, () => {
    test.for(exchanges.map((exchange) => [exchange.name, exchange] as const))(
      '%s',
      async ([, exchange]) => {
        const { real, embedded } = apis(exchange);
        try {
          // Also if one of them throws: the transcripts say more than the error.
          const outcomes = await Promise.allSettled([exchange.run(real), exchange.run(embedded)]);
          expectSame(embedded, real);
          for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
        } finally {
          real.close();
          embedded.close();
        }
      },
    );
  });
}

// One test, and the last one: dropping the history of the real server takes a restart.
test('requests for an expired resourceVersion are answered with 410 Expired', async () => {
  const later = await Promise.all(
    expired.map(async (exchange) => {
      const { real, embedded } = apis(exchange);
      const [askReal, askEmbedded] = await Promise.all([
        exchange.before(real),
        exchange.before(embedded),
      ]);
      return { exchange, real, embedded, askReal, askEmbedded };
    }),
  );
  await plane.expireHistory();
  await watchCachesFilled(transports.real, [configMaps, widgets]);
  embedded.expireHistory();
  for (const { exchange, real, embedded, askReal, askEmbedded } of later) {
    const outcomes = await Promise.allSettled([askReal(real), askEmbedded(embedded)]);
    expectSame(embedded, real, exchange.name);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
});
