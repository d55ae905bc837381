/**
 * Random exchanges: writes and reads of a few names, with stale versions and finalizers, while
 * watches are open. The choices come from the seed and from earlier responses, so the requests are
 * the same as long as the two servers agree.
 */
import { Random } from '../../helpers/random.ts';
import type { Api, Collection, JsonObject, KubeBody, RecordedAnswer } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, leases, type ResourceType, secrets, widgets } from './resources.ts';

const STEPS = 120;
const NAMES = ['a', 'b', 'c', 'd'];
const SELECTORS = ['app=x', 'app!=x', 'app in (x,y)', 'app', '!app', 'app=x,tier=1'];

export function randomExchanges(seed: number): Exchange[] {
  return [configMaps, secrets, leases, widgets].flatMap((type, index) =>
    [0, 1].map((round) => ({
      name: `${STEPS} random requests on ${type.plural}, ${round + 1}`,
      run: (api: Api) => new RandomWalk(api, type, seed + 10 * index + round).run(),
    })),
  );
}

class RandomWalk {
  readonly #things: Collection;
  readonly #type: ResourceType;
  readonly #random: Random;
  /** Every state of an object that a response has contained, by name. */
  readonly #seen = new Map<string, KubeBody[]>();

  constructor(api: Api, type: ResourceType, seed: number) {
    this.#things = api.of(type);
    this.#type = type;
    this.#random = new Random(seed);
  }

  async run(): Promise<void> {
    const { resourceVersion } = (await this.#things.list()).body.metadata;
    const watches = [
      await this.#things.watch({ resourceVersion }),
      await this.#things.watch({ resourceVersion, labelSelector: 'app=x' }),
      await this.#things.watch({ resourceVersion, fieldSelector: 'metadata.name!=a' }),
    ];
    for (let step = 0; step < STEPS; step++) await this.#step(this.#pick(NAMES));
    await this.#things.create(
      this.#things.object('the-last', { metadata: { labels: { app: 'x' } } }),
    );
    for (const watch of watches) await watch.until('the-last');
    await this.#things.list();
  }

  async #step(name: string): Promise<void> {
    const things = this.#things;
    const dice = this.#random.next();
    if (dice < 0.25) await this.#remember(things.create(this.#object(name)));
    else if (dice < 0.4) await this.#remember(things.put(name, this.#update(name)));
    else if (dice < 0.55) await this.#remember(things.patch(name, 'merge', this.#mergePatch()));
    else if (dice < 0.6) await this.#remember(things.patch(name, 'json', this.#jsonPatch()));
    else if (dice < 0.65) await this.#remember(this.#apply(name));
    else if (dice < 0.68)
      await this.#remember(things.patch(name, 'strategic', this.#strategicPatch()));
    else if (dice < 0.72) await things.get(name);
    else if (dice < 0.8) await things.list(this.#query());
    else if (dice < 0.95) await things.delete(name, this.#deleteOptions(name));
    else if (dice < 0.97) await things.deleteAll({ labelSelector: this.#pick(SELECTORS) });
    else
      await this.#remember(
        things.patch(`${name}/status`, 'merge', { status: { at: this.#number() } }),
      );
  }

  #object(name: string): JsonObject {
    return this.#things.object(name, { metadata: this.#metadata(), ...this.#fields() });
  }

  /** An object with an earlier version, mostly the last one, or without a version. */
  #update(name: string): unknown {
    const seen = this.#seen.get(name) ?? [];
    if (seen.length === 0 || this.#random.chance(0.2)) return this.#object(name);
    const base = this.#random.chance(0.7) ? seen[seen.length - 1] : this.#pick(seen);
    return { ...base, ...this.#fields(), metadata: { ...base?.metadata, ...this.#metadata() } };
  }

  #metadata(): JsonObject {
    const metadata: JsonObject = {};
    if (this.#random.chance(0.7))
      metadata.labels = { app: this.#pick(['x', 'y', 'z']), tier: this.#pick(['1', '2']) };
    if (this.#random.chance(0.2)) metadata.annotations = { note: String(this.#number()) };
    if (this.#random.chance(0.2))
      metadata.finalizers = this.#pick([['e.x/one'], ['e.x/one', 'e.x/two'], []]);
    return metadata;
  }

  #fields(): JsonObject {
    switch (this.#type) {
      case configMaps:
        return { data: { key: String(this.#number()) } };
      case secrets:
        return { stringData: { key: String(this.#number()) } };
      case leases:
        return {
          spec: { holderIdentity: String(this.#number()), leaseTransitions: this.#number() },
        };
      default:
        return {
          spec: { size: this.#number(), list: [this.#number()] },
          status: { ignored: this.#number() },
        };
    }
  }

  #mergePatch(): JsonObject {
    const metadata = this.#metadata();
    if (this.#random.chance(0.3)) metadata.finalizers = null;
    if (this.#random.chance(0.2)) metadata.labels = { app: null };
    return { ...(this.#random.chance(0.6) ? this.#fields() : {}), metadata };
  }

  #jsonPatch(): unknown[] {
    return this.#pick([
      [{ op: 'add', path: '/metadata/labels', value: { app: 'x' } }],
      [{ op: 'replace', path: '/metadata/labels/app', value: 'y' }],
      [{ op: 'remove', path: '/metadata/labels/tier' }],
      [{ op: 'remove', path: '/metadata/finalizers' }],
      [{ op: 'test', path: '/metadata/labels/app', value: 'x' }],
    ]);
  }

  /** Applies some or none of the fields as one of a few managers, with or without force. */
  #apply(name: string): Promise<RecordedAnswer> {
    const { finalizers: _, ...metadata } = this.#metadata();
    const force: Record<string, string> = this.#random.chance(0.4) ? { force: 'true' } : {};
    const fields = this.#random.chance(0.7) ? this.#fields() : {};
    return this.#things.apply(name, this.#pick(['one', 'two']), { ...fields, metadata }, force);
  }

  #strategicPatch(): JsonObject {
    return this.#pick<JsonObject>([
      { metadata: { finalizers: [this.#pick(['e.x/one', 'e.x/three'])] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['e.x/one'] } },
      { metadata: { labels: { $patch: 'replace', app: 'y' } } },
      { metadata: { annotations: { $patch: 'delete' } }, ...this.#fields() },
    ]);
  }

  #query(): Record<string, string> {
    const query: Record<string, string> = {};
    if (this.#random.chance(0.6)) query.labelSelector = this.#pick(SELECTORS);
    if (this.#random.chance(0.3)) query.limit = String(1 + this.#number());
    if (this.#random.chance(0.2))
      query.fieldSelector = `metadata.name${this.#pick(['=', '!='])}${this.#pick(NAMES)}`;
    return query;
  }

  #deleteOptions(name: string): unknown {
    const seen = this.#seen.get(name) ?? [];
    if (seen.length === 0 || this.#random.chance(0.6)) return undefined;
    const { uid, resourceVersion } = this.#pick(seen).metadata;
    return { preconditions: this.#pick([{ uid }, { resourceVersion }, { uid, resourceVersion }]) };
  }

  async #remember(call: Promise<RecordedAnswer>): Promise<void> {
    const { status, body } = await call;
    if (status !== 200 && status !== 201) return;
    const { name } = body.metadata;
    this.#seen.set(name, [...(this.#seen.get(name) ?? []), body]);
  }

  #number(): number {
    return this.#random.int(4);
  }

  #pick<T>(from: readonly T[]): T {
    return this.#random.pick(from);
  }
}
