/** Exchanges about a custom resource whose definition is deleted and created again. */
import { eventually } from '../../helpers/control-plane/conditions.ts';
import type { Api } from './api.ts';
import type { Exchange } from './exchange.ts';
import { type ResourceType, widgetDefinition } from './resources.ts';

const gadgets: ResourceType = {
  prefix: '/apis/e2e.capstan.dev/v1',
  apiVersion: 'e2e.capstan.dev/v1',
  kind: 'Gadget',
  plural: 'gadgets',
};
const NAME = 'gadgets.e2e.capstan.dev';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The real server needs some seconds for each. */
async function define(api: Api): Promise<void> {
  const { spec } = widgetDefinition;
  const names = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' };
  const quiet = api.unrecorded();
  await quiet.call('POST', CRDS, {
    body: { ...widgetDefinition, metadata: { name: NAME }, spec: { ...spec, names } },
  });
  const serves = async (query: Record<string, string>): Promise<boolean | string> => {
    const { status } = await quiet.call('GET', quiet.of(gadgets).path, { query });
    return status === 200 || `status ${status}`;
  };
  await eventually('gadgets are listed', () => serves({}));
  await eventually('gadgets are watched', () => serves({ watch: 'true', timeoutSeconds: '1' }));
}

async function undefine(api: Api): Promise<void> {
  const quiet = api.unrecorded();
  await quiet.call('DELETE', `${CRDS}/${NAME}`);
  await eventually('the definition of gadgets is gone', async () => {
    const { status } = await quiet.call('GET', `${CRDS}/${NAME}`);
    return status === 404 || `status ${status}`;
  });
  await eventually('gadgets are not served', async () => {
    const { status } = await quiet.call('GET', quiet.of(gadgets).path);
    return status === 404 || `status ${status}`;
  });
}

export const removals: Exchange[] = [
  {
    name:
      'deleting a definition deletes its objects, ends watches, and answers 404 until it ' +
      'is back',
    async run(api) {
      await define(api);
      const things = api.of(gadgets);
      for (const name of ['a', 'b']) await things.create(things.object(name));
      const before = (await things.list()).body.metadata.resourceVersion;
      const watch = await things.watch({ resourceVersion: before });
      await undefine(api);
      await watch.end();
      await things.list();
      await things.get('a');
      await things.watch();
      await things.create(things.object('c'));
      await things.delete('a');
      await define(api);
      await things.list();
      await things.create(things.object('c'));
      await things.list();
      await undefine(api);
    },
  },
];
