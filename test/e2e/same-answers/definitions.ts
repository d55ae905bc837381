/** Exchanges about a custom resource whose definition changes, and whose names it restricts. */
import { eventually } from '../../helpers/control-plane/conditions.ts';
import type { Api, JsonObject } from './api.ts';
import type { Exchange } from './exchange.ts';
import type { ResourceType } from './resources.ts';

const uppers: ResourceType = {
  prefix: '/apis/e2e.capstan.dev/v1',
  apiVersion: 'e2e.capstan.dev/v1',
  kind: 'Upper',
  plural: 'uppers',
};
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CRD = `${CRDS}/uppers.e2e.capstan.dev`;
const names = { plural: 'uppers', singular: 'upper', kind: 'Upper', listKind: 'UpperList' };

const text = { type: 'string' };
const version = (spec: JsonObject): JsonObject => {
  const metadata = {
    type: 'object',
    properties: { name: { ...text, maxLength: 4 }, generateName: { maxLength: 2, ...text } },
  };
  const properties = { metadata, spec: { type: 'object', properties: spec } };
  return {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties } },
  };
};

/** The real server needs a second or two for each change. */
async function settled(
  api: Api,
  what: string,
  holds: (quiet: Api) => Promise<boolean>,
): Promise<void> {
  await eventually(`the definition of uppers: ${what}`, () => holds(api.unrecorded()));
}

const watched = async (quiet: Api): Promise<boolean> => {
  const query = { watch: 'true', timeoutSeconds: '1' };
  return (await quiet.call('GET', quiet.of(uppers).path, { query })).status === 200;
};

export const definitions: Exchange[] = [
  {
    name: 'a changed definition applies to stored objects, ends watches, and restricts names',
    async run(api) {
      const quiet = api.unrecorded();
      const things = api.of(uppers);
      const maybe = { ...text, nullable: true };
      const rows = (of: JsonObject): JsonObject => ({
        type: 'array',
        items: { type: 'object', properties: of },
      });
      const spec = { a: text, old: text, maybe, rows: rows({ q: text, r: text }) };
      const body = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'uppers.e2e.capstan.dev' },
        spec: { group: 'e2e.capstan.dev', scope: 'Namespaced', names, versions: [version(spec)] },
      };
      await quiet.call('POST', CRDS, { body });
      await settled(api, 'served', watched);
      await things.create(
        things.object('one', {
          spec: { a: 'x', old: 'o', maybe: null, rows: [{ q: 'q', r: 'r' }] },
        }),
      );
      await things.create(things.object('two', { spec: { old: 'o' } }));
      await things.create(things.object('three'));
      await things.create(things.object('four', { metadata: { generateName: 'pre' } }));
      await things.apply('three', 'm', { spec: { a: 'x' } });
      const before = (await things.list()).body.metadata.resourceVersion;
      const watch = await things.watch({ resourceVersion: before });

      const next = {
        a: text,
        n: { type: 'integer', default: 7 },
        maybe: text,
        rows: rows({ q: text, d: { ...text, default: 'D' } }),
      };
      const changed = { spec: { versions: [version(next)], names: { shortNames: ['up'] } } };
      await quiet.call('PATCH', CRD, {
        body: changed,
        contentType: 'application/merge-patch+json',
      });
      await watch.end();
      await settled(api, 'names', async () => {
        const { status } = (await quiet.call('GET', CRD)).body as {
          status?: { acceptedNames: JsonObject };
        };
        return JSON.stringify(status?.acceptedNames.shortNames) === '["up"]';
      });
      await settled(api, 'watched anew', watched);
      await things.get('one');
      await things.list();
      await (await things.watch({ resourceVersion: before })).end();
      await things.patch('one', 'merge', { metadata: { labels: { app: 'a' } } });
      await things.patch('two', 'merge', { spec: { n: 8 } });
      await quiet.call('DELETE', CRD);
    },
  },
  {
    name: 'a definition in a group of Kubernetes needs an approval annotation',
    async run(api) {
      const approval = 'api-approved.kubernetes.io';
      const define = (group: string, annotations: JsonObject = {}): Promise<unknown> => {
        const body = {
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          metadata: { name: `uppers.${group}`, annotations },
          spec: { group, scope: 'Namespaced', names, versions: [version({ a: text })] },
        };
        return api.call('POST', CRDS, { body, query: { dryRun: 'All' } });
      };
      for (const group of ['k8s.io', 'e2e.k8s.io', 'kubernetes.io', 'e2e.kubernetes.io'])
        await define(group);
      for (const value of [
        '',
        'me',
        'https://',
        'example.com/1',
        'approved: https://example.com/1',
      ])
        await define('e2e.k8s.io', { [approval]: value });
      const quiet = api.unrecorded();
      const path = `${CRDS}/uppers.e2e.k8s.io`;
      const annotate = (by: Api, value: string | null): Promise<unknown> =>
        by.call('PATCH', path, {
          body: { metadata: { annotations: { [approval]: value } } },
          contentType: 'application/merge-patch+json',
        });
      const body = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'uppers.e2e.k8s.io', annotations: { [approval]: 'unapproved, a test' } },
        spec: { group: 'e2e.k8s.io', scope: 'Namespaced', names, versions: [version({ a: text })] },
      };
      await quiet.call('POST', CRDS, { body });
      await annotate(api, null);
      await annotate(api, 'me');
      await annotate(quiet, 'https://example.com/1');
      await annotate(api, null);
      await quiet.call('DELETE', path);
    },
  },
];
