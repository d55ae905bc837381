// A definition with a wrong plural or scope works on no real server, and nothing says so before it
// is deployed. capstan/kinds is written from a server's discovery; this compares it with the
// server that the tests run on.

import { kubeConfigTransport } from 'capstan/client-node';
import * as kinds from 'capstan/kinds';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import {
  type Discovered,
  kindsOf,
  servedResources,
} from '../helpers/control-plane/served-kinds.ts';
import { readKubeConfig } from './same-answers/servers.ts';

let plane: ControlPlane;
let served: Discovered[];

beforeAll(async () => {
  plane = await ControlPlane.start({ everything: true });
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  served = await servedResources(transport);
  await transport.close?.();
}, 120_000);

afterAll(() => plane?.stop());

const described = kinds as Record<string, (typeof kinds)['Pod']>;

it('has the kinds of a real server, with their groups, versions, plurals and scopes', () => {
  const expected = kindsOf(served).map(({ exported, group, version, kind, plural, namespaced }) => [
    exported,
    { group, version, kind, plural, namespaced, indexers: {} },
  ]);
  expect(expected.length).toBeGreaterThan(65);
  expect({ ...described }).toEqual(Object.fromEntries(expected));
});

it('leaves out no stable kind of the server', () => {
  const stable = served.filter(({ version }) => /^v\d+$/.test(version));
  const missing = stable.filter(
    (one) =>
      !Object.values(described).some(({ group, kind }) => group === one.group && kind === one.kind),
  );
  expect(missing).toEqual([]);
});
