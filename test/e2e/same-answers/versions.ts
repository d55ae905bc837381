/** Exchanges about a custom resource with several versions. */
import { eventually } from '../../helpers/control-plane/conditions.ts';
import type { Api, JsonObject } from './api.ts';
import type { Exchange } from './exchange.ts';
import type { ResourceType } from './resources.ts';

const GROUP = 'e2e.capstan.dev';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const text = { type: 'string' };

/** The fields of each version, beside `both`. */
const FIELDS: Record<string, JsonObject> = {
  v1: { one: { ...text, default: 'first' } },
  v2: { two: text, deflt: { ...text, default: 'second' }, both: { ...text, maxLength: 3 } },
};

function version(name: string, more: JsonObject = {}): JsonObject {
  const spec = { type: 'object', properties: { both: text, ...FIELDS[name] } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  return { name, served: true, storage: name === 'v1', schema, ...more };
}

/** A resource of one exchange whose definition changes. */
class Versioned {
  readonly crd: string;
  readonly #names: Record<string, string>;
  readonly #api: Api;
  readonly #quiet: Api;

  constructor(api: Api, kind: string) {
    const singular = kind.toLowerCase();
    this.#names = { plural: `${singular}s`, singular, kind, listKind: `${kind}List` };
    this.crd = `${CRDS}/${this.#names.plural}.${GROUP}`;
    this.#api = api;
    this.#quiet = api.unrecorded();
  }

  type(version: string): ResourceType {
    const { kind = '', plural = '' } = this.#names;
    return { prefix: `/apis/${GROUP}/${version}`, apiVersion: `${GROUP}/${version}`, kind, plural };
  }

  async create(versions: readonly JsonObject[]): Promise<void> {
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${this.#names.plural}.${GROUP}` },
      spec: { group: GROUP, scope: 'Namespaced', names: this.#names, versions },
    };
    await this.#quiet.call('POST', CRDS, { body });
    await this.#settled(versions);
  }

  async change(versions: readonly JsonObject[]): Promise<void> {
    const body = { spec: { versions } };
    await this.#quiet.call('PATCH', this.crd, {
      body,
      contentType: 'application/merge-patch+json',
    });
    await this.#settled(versions);
  }

  async refuse(versions: readonly JsonObject[]): Promise<void> {
    const body = { spec: { versions } };
    await this.#api.call('PATCH', this.crd, { body, contentType: 'application/merge-patch+json' });
  }

  async remove(): Promise<void> {
    await this.#quiet.call('DELETE', this.crd);
  }

  /** The real server needs a second or two. */
  async #settled(versions: readonly JsonObject[]): Promise<void> {
    for (const { name, served } of versions) {
      await eventually(
        `${this.#names.plural} of ${String(name)}, served: ${String(served)}`,
        async () => {
          const query = { watch: 'true', timeoutSeconds: '1' };
          const { status } = await this.#quiet.call(
            'GET',
            this.#quiet.of(this.type(String(name))).path,
            { query },
          );
          return status === (served === true ? 200 : 404);
        },
      );
    }
  }
}

export const versions: Exchange[] = [
  {
    name: 'an object is served in all versions, each with the fields of its schema',
    async run(api) {
      const resource = new Versioned(api, 'Layer');
      await resource.create([version('v1'), version('v2')]);
      const [one, two] = [api.of(resource.type('v1')), api.of(resource.type('v2'))];
      const from = (await two.list()).body.metadata.resourceVersion;
      const watches = [
        await one.watch({ resourceVersion: from }),
        await two.watch({ resourceVersion: from }),
      ];
      await one.create(one.object('a', { spec: { both: 'b', one: '1' } }));
      await two.get('a');
      await two.create(two.object('a'));
      await two.create(two.object('b', { spec: { both: 'b', two: '2' } }));
      await two.create(two.object('c', { spec: { both: 'long' } }));
      await one.get('b');
      await one.list();
      await two.list();
      await two.list({ fieldSelector: 'metadata.name=a' });
      const { body } = await two.get('a');
      await two.put('a', { ...body, spec: { both: 'x' } });
      await two.put('a', { ...body, metadata: { ...body.metadata, resourceVersion: '' } });
      await two.put('a', one.object('a'));
      await two.patch('a', 'merge', { spec: { both: 'y' } });
      await two.patch('a', 'merge', { spec: { both: 'y' } });
      await one.patch('a', 'merge', { metadata: { labels: { app: 'a' } } });
      await two.delete('a');
      await one.deleteAll();
      for (const watch of watches) await watch.take(7);
      await resource.remove();
    },
  },
  {
    name:
      'managedFields keep the version of the write, and an apply in another version ' +
      'keeps its entry',
    async run(api) {
      const resource = new Versioned(api, 'Manner');
      await resource.create([version('v1'), version('v2')]);
      const [one, two] = [api.of(resource.type('v1')), api.of(resource.type('v2'))];
      await one.create(one.object('a', { spec: { both: 'b' } }), { fieldManager: 'u' });
      await two.patch('a', 'merge', { spec: { both: 'c' } }, { fieldManager: 'w' });
      await two.patch('a', 'merge', { metadata: { labels: { app: 'a' } } }, { fieldManager: 'u' });
      await one.apply('a', 'x', { spec: { both: 'd' } });
      await one.apply('a', 'x', { spec: { both: 'd' } }, { force: 'true' });
      await two.apply('a', 'y', { spec: { both: 'd' } });
      await two.apply('a', 'y', { spec: { both: 'e' } });
      await two.apply('a', 'y', { spec: { both: 'd', two: '2' } });
      await two.apply('a', 'z', { spec: { both: 'd', two: '2' } });
      await two.apply('a', 'x', { metadata: { annotations: { a: '1' } } });
      await two.apply('a', 'y', {});
      await one.get('a');
      await resource.remove();
    },
  },
  {
    name:
      'objects stay stored in the version of the write, and removing a version ends its ' +
      'watches',
    async run(api) {
      const resource = new Versioned(api, 'Story');
      await resource.create([version('v1'), version('v2')]);
      const [one, two] = [api.of(resource.type('v1')), api.of(resource.type('v2'))];
      await one.create(one.object('a', { spec: { both: 'b' } }));
      const watch = await one.watch({
        resourceVersion: (await one.list()).body.metadata.resourceVersion,
      });
      await resource.change([version('v1', { served: false }), version('v2')]);
      await watch.end();
      await one.list();
      await one.get('a');
      await one.create(one.object('b'));
      await two.get('a');
      await resource.change([version('v1', { storage: false }), version('v2', { storage: true })]);
      await resource.refuse([version('v2', { storage: true })]);
      const { body } = await two.get('a');
      await one.get('a');
      await two.put('a', body);
      await one.get('a');
      await two.put('a', body);
      await two.patch('a', 'merge', {});
      await one.create(one.object('c', { spec: { one: '1' } }));
      await two.get('c');
      await resource.remove();
    },
  },
];
