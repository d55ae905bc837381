/** Exchanges about what single kinds do differently from others. */
import type { Exchange } from './exchange.ts';
import { deployments, endpointSlices } from './resources.ts';
import { deploymentSpec } from './templates.ts';

export const kinds: Exchange[] = [
  {
    name: 'a Deployment counts its annotations as a generation, an EndpointSlice its labels',
    async run(api) {
      const slice = {
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.0.0.1'], conditions: {} }],
        ports: [{ name: 'a', port: 1, protocol: 'TCP' }],
      };
      for (const [type, fields] of [
        [deployments, { spec: deploymentSpec() }],
        [endpointSlices, slice],
      ] as const) {
        const things = api.of(type);
        await things.create(things.object('one', fields));
        for (const metadata of [{ annotations: { a: '1' } }, { labels: { a: '1' } }, { finalizers: ['e.x/a'] }]) {
          await things.patch('one', 'merge', { metadata });
        }
        await things.apply('one', 'other', { metadata: { annotations: { b: '1' }, labels: { b: '1' } } });
        await things.patch('one', 'merge', { metadata: { annotations: null, labels: null } });
      }
      await api.of(deployments).patch('one/status', 'merge', { metadata: { annotations: { a: '2' } } });
    },
  },
];
