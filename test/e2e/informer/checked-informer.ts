/** An informer under test with recording handlers, which are compared with a fresh list. */
import {
  defineResource,
  type KubeObject,
  ListWatch,
  SharedIndexInformer,
  type Transport,
  waitForCacheSync,
} from 'capstan/cache';
import { expect } from 'vitest';
import { eventually, within } from '../../helpers/control-plane/conditions.ts';
import type { ResourceType } from '../same-answers/resources.ts';
import { Journal, pictureOf } from './journal.ts';

const SYNC_MS = 30_000;
const STOP_MS = 10_000;

/** The selection that an informer follows. */
export interface Scope {
  labelSelector?: string;
  metadataOnly?: boolean;
}

interface Labelled extends KubeObject {
  metadata?: KubeObject['metadata'] & { labels?: Record<string, string> };
}

export class CheckedInformer {
  readonly journal: Journal;
  /** The errors that made the informer list again. */
  readonly errors: unknown[] = [];
  readonly #journals: Journal[] = [];
  readonly #informer: SharedIndexInformer<Labelled, 'shard'>;
  readonly #type: ResourceType;
  readonly #namespace: string;
  readonly #scope: Scope;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  constructor(transport: Transport, type: ResourceType, namespace: string, scope: Scope = {}) {
    this.#type = type;
    this.#namespace = namespace;
    this.#scope = scope;
    this.#informer = new SharedIndexInformer(
      new ListWatch(transport, resourceOf(type), { namespace, ...scope }),
      {
        random: () => 0, // no jitter: the back-off that doubles is slow enough
        watchErrorHandler: (error) => this.errors.push(error),
      },
    );
    this.journal = this.addJournal();
  }

  /** Adds a handler, at any time. */
  addJournal(): Journal {
    const journal = new Journal();
    this.#journals.push(journal);
    this.#informer.addEventHandler(journal);
    return journal;
  }

  async start(): Promise<void> {
    this.#running = this.#informer.run({ signal: this.#abort.signal });
    const signal = AbortSignal.timeout(SYNC_MS);
    expect(await waitForCacheSync({ signal }, this.#informer), `${this.#type.plural} synced`).toBe(
      true,
    );
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await within(
      STOP_MS,
      `the informer of ${this.#type.plural} stops`,
      Promise.resolve(this.#running),
    );
  }

  /**
   * Waits until cache and handlers have caught up, then compares all objects with a list through
   * `direct`.
   */
  async expectFresh(direct: Transport): Promise<void> {
    const { plural } = this.#type;
    const indexer = this.#informer.getIndexer();
    const fresh = await this.#freshList(direct);
    const picture = sorted(pictureOf(fresh));
    await eventually(`the cache of ${plural} equals a fresh list`, () =>
      same(pictureOf(indexer.list()), picture),
    );
    for (const [index, journal] of this.#journals.entries()) {
      await eventually(`handler ${index} of ${plural} has been told`, () =>
        same(journal.picture(), picture),
      );
      expect(journal.violations, `handler ${index} of ${plural}`).toEqual([]);
    }
    for (const object of fresh) {
      const cached = indexer.getByKey(`${this.#namespace}/${object.metadata?.name}`);
      expect(cached && this.#comparable(cached)).toEqual(this.#comparable(object));
      if (this.#scope.metadataOnly)
        expect(Object.keys(cached ?? {}).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
    }
    expect(sorted(pictureOf(indexer.byIndex('namespace', this.#namespace)))).toEqual(picture);
    for (const shard of new Set(fresh.map((object) => object.metadata?.labels?.shard ?? ''))) {
      const expected = fresh.filter((object) => object.metadata?.labels?.shard === shard);
      expect(sorted(pictureOf(indexer.byIndex('shard', shard))), `shard ${shard}`).toEqual(
        sorted(pictureOf(expected)),
      );
    }
  }

  /** Lists from etcd, page by page. */
  async #freshList(direct: Transport): Promise<Labelled[]> {
    const objects: Labelled[] = [];
    const path = `${this.#type.prefix}/namespaces/${this.#namespace}/${this.#type.plural}`;
    let next = '';
    do {
      const query: Record<string, string> = {
        limit: '100',
        labelSelector: this.#scope.labelSelector ?? '',
      };
      if (next !== '') query.continue = next;
      const { status, body } = await direct.request({ method: 'GET', path, query });
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString('utf8');
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
      const list = JSON.parse(text) as { metadata: { continue?: string }; items: Labelled[] };
      objects.push(...list.items);
      next = list.metadata.continue ?? '';
    } while (next !== '');
    return objects;
  }

  /** Without kind, which items of built-in lists do not have, and without managedFields. */
  #comparable(object: Labelled): unknown {
    const {
      apiVersion: _,
      kind: __,
      metadata,
      ...rest
    } = object as Labelled & { metadata: object };
    return {
      ...(this.#scope.metadataOnly ? {} : rest),
      metadata: { ...metadata, managedFields: undefined },
    };
  }
}

export function resourceOf({ prefix, apiVersion, kind, plural }: ResourceType) {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  expect(prefix, 'the path follows from apiVersion').toBe(
    group === '' ? `/api/${version}` : `/apis/${apiVersion}`,
  );
  return defineResource<Labelled>()({
    group,
    version,
    kind,
    plural,
    namespaced: true,
    indexers: { shard: 'metadata.labels.shard' },
  });
}

function sorted(picture: Map<string, string>): [string, string][] {
  return [...picture].sort(([a], [b]) => (a < b ? -1 : 1));
}

function same(picture: Map<string, string>, expected: [string, string][]): boolean | string {
  const missing = expected.filter(([key, version]) => picture.get(key) !== version);
  if (missing.length === 0 && picture.size === expected.length) return true;
  return (
    `${picture.size} of ${expected.length} objects, ${missing.length} missing or of ` +
    'another version'
  );
}
