/**
 * Shows that no object is lost between the two versions of a kind, by random objects of both
 * schemas, and what the test says of a conversion that loses something: `node
 * examples/versions/main.ts`. It needs the package `fast-check`.
 */
import { roundTrips } from 'capstan/testing';
import { fromBeta, V1, V1beta1 } from './resources.ts';

await roundTrips(fromBeta, [V1beta1, V1]);
console.log('v1beta1 and v1: 200 objects of each came back as they were');

const forgetful: typeof fromBeta = {
  ...fromBeta,
  fromHub: ({ metadata, spec: { host } }) => ({ metadata, spec: { address: host } }),
};
try {
  await roundTrips(forgetful, V1, { seed: 1 });
} catch (error) {
  console.log((error as Error).message);
}
