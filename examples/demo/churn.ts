/**
 * Simulates users: they create, change and delete Websites, and break their children. Each write is
 * repeated until the server has accepted it, so that `expected` is the state after the last write
 * in spite of lost connections.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Deployment,
  Service,
  Website,
  type WebsiteObject,
  type WebsiteSpec,
} from '../website/resources.ts';
import { type Api, isConflict, isNotFound, pathOf } from './api.ts';
import type { Random } from './random.ts';

export interface ChurnOptions {
  objects: number;
  namespaces: readonly string[];
  paused: boolean;
  /** Writes per second after the initial creation. */
  rate: number;
  /** The length of the controller's queue. */
  lag: () => number;
}

interface Site {
  readonly namespace: string;
  readonly name: string;
}

/** The most concurrent writes. */
const MAX_IN_FLIGHT = 48;
/**
 * The limits during the initial creation: concurrent writes, and the length of the controller's
 * queue.
 */
const FILL_IN_FLIGHT = 16;
const MAX_LAG = 8;
const TICK_MS = 20;
const REQUEST_TIMEOUT_MS = 15_000;

export class Churn {
  /** The specs of the existing Websites, by "namespace/name". */
  readonly expected = new Map<string, WebsiteSpec>();
  /** The keys of deleted Websites. */
  readonly deleted = new Set<string>();
  readonly counts = { creates: 0, updates: 0, deletes: 0, breakages: 0 };
  readonly #api: Api;
  readonly #options: ChurnOptions;
  readonly #random: Random;
  readonly #written: (uid: string, generation: number, sentAt: number) => void;
  readonly #busy = new Map<string, Promise<void>>();
  #serial = 0;
  #creating = 0;

  constructor(
    api: Api,
    options: ChurnOptions,
    random: Random,
    written: (uid: string, generation: number, sentAt: number) => void,
  ) {
    this.#api = api;
    this.#options = options;
    this.#random = random;
    this.#written = written;
  }

  /** Creates Websites up to the number in the options, at the speed of the controller. */
  async fill(signal: AbortSignal): Promise<void> {
    for (
      let missing = this.#options.objects - this.expected.size;
      missing > 0 && !signal.aborted;
      missing--
    ) {
      while (this.#options.lag() > MAX_LAG && !signal.aborted) await sleep(TICK_MS / 4);
      if (this.#busy.size >= FILL_IN_FLIGHT) await Promise.race(this.#busy.values());
      this.#begin(this.#newSite(), (site) => this.#create(site, signal));
    }
    await this.rest();
  }

  /** Writes for `ms` milliseconds at the rate in the options, with random bursts. */
  async run(ms: number, signal: AbortSignal): Promise<void> {
    const start = performance.now();
    let begun = 0;
    let nextBurst = start + 2000;
    let bursts = 0;
    for (let now = start; now - start < ms && !signal.aborted; now = performance.now()) {
      if (now >= nextBurst) {
        bursts += Math.ceil(this.#options.objects / 10);
        nextBurst = now + 3000;
      }
      const due = ((now - start) / 1000) * this.#options.rate + bursts;
      while (begun < due && this.#busy.size < MAX_IN_FLIGHT) {
        this.#step(signal);
        begun++;
      }
      await sleep(TICK_MS);
    }
  }

  /** Waits until no write is pending. */
  async rest(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy.values());
  }

  /** Deletes all Websites, and waits until their finalizers are removed or the signal fires. */
  async removeAll(signal: AbortSignal): Promise<void> {
    await this.rest();
    for (const key of [...this.expected.keys()]) {
      if (signal.aborted) return;
      if (this.#busy.size >= MAX_IN_FLIGHT) await Promise.race(this.#busy.values());
      const [namespace = '', name = ''] = key.split('/');
      this.#begin({ namespace, name }, (site) => this.#delete(site, signal));
    }
    await this.rest();
    for (const namespace of this.#options.namespaces) {
      const left = () => this.#api.list(pathOf(Website, namespace), signal);
      while (!signal.aborted && ((await this.#persist(signal, left))?.length ?? 0) > 0)
        await sleep(TICK_MS * 10);
    }
  }

  #step(signal: AbortSignal): void {
    const roll = this.#random.next();
    const missing = this.#options.objects - this.expected.size - this.#creating;
    if (missing > 0 && roll < 0.3) {
      // Half of them reuse the name of a deleted Website.
      const again = this.#random.chance(0.5) ? this.#anyOf(this.deleted) : undefined;
      this.#begin(again ?? this.#newSite(), (site) => this.#create(site, signal));
      return;
    }
    const site = this.#anyOf(this.expected.keys());
    if (site === undefined) return;
    if (roll < 0.42) this.#begin(site, () => this.#delete(site, signal));
    else if (roll < 0.5) this.#begin(site, () => this.#break(site, signal));
    else this.#begin(site, () => this.#update(site, signal));
  }

  /** Starts a write. An object has one pending write at most, so that their order is known. */
  #begin(site: Site, write: (site: Site) => Promise<void>): void {
    const key = keyOf(site);
    const done = write(site).finally(() => this.#busy.delete(key));
    this.#busy.set(key, done);
  }

  async #create(site: Site, signal: AbortSignal): Promise<void> {
    const spec = this.#newSpec();
    const object = { ...identity, metadata: { namespace: site.namespace, name: site.name }, spec };
    const sentAt = performance.now();
    this.#creating++;
    const created = await this.#persist(signal, async (attempt) => {
      try {
        return await this.#api.create<WebsiteObject>(
          pathOf(Website, site.namespace),
          object,
          attempt,
        );
      } catch (error) {
        if (!isConflict(error)) throw error;
        // Either created by an earlier try whose answer was lost, or the deleted one, which still
        // has finalizers.
        const found = await this.#api.get<WebsiteObject>(
          pathOf(Website, site.namespace, site.name),
          attempt,
        );
        if (found === undefined || found.metadata.deletionTimestamp !== undefined) throw error;
        return found;
      }
    }).finally(() => this.#creating--);
    if (created === undefined) return;
    this.expected.set(keyOf(site), spec);
    this.deleted.delete(keyOf(site));
    this.counts.creates++;
    this.#written(created.metadata.uid ?? '', created.metadata.generation ?? 1, sentAt);
  }

  async #update(site: Site, signal: AbortSignal): Promise<void> {
    const spec = this.#newSpec();
    const sentAt = performance.now();
    const path = pathOf(Website, site.namespace, site.name);
    const updated = await this.#persist(signal, (attempt) =>
      this.#api.patch<WebsiteObject>(path, { spec }, attempt),
    );
    if (updated === undefined) return;
    this.expected.set(keyOf(site), spec);
    this.counts.updates++;
    this.#written(updated.metadata.uid ?? '', updated.metadata.generation ?? 0, sentAt);
  }

  async #delete(site: Site, signal: AbortSignal): Promise<void> {
    const path = pathOf(Website, site.namespace, site.name);
    const done = await this.#persist(signal, async (attempt) => {
      await this.#api.delete(path, attempt);
      return true;
    });
    if (done === undefined) return;
    this.expected.delete(keyOf(site));
    this.deleted.add(keyOf(site));
    this.counts.deletes++;
  }

  /** Changes or deletes a child of a Website. */
  async #break(site: Site, signal: AbortSignal): Promise<void> {
    const deployment = pathOf(Deployment, site.namespace, site.name);
    const service = pathOf(Service, site.namespace, site.name);
    const how = this.#random.integer(0, 2);
    await this.#persist(signal, async (attempt) => {
      try {
        if (how === 0) await this.#api.delete(deployment, attempt);
        else if (how === 1) await this.#api.delete(service, attempt);
        else await this.#api.patch(deployment, { spec: { replicas: 99 } }, attempt);
      } catch (error) {
        if (!isNotFound(error)) throw error; // not created yet
      }
      return true;
    });
    this.counts.breakages++;
  }

  /** Repeats a call until it succeeds; `undefined` if the signal fires first. */
  async #persist<T>(
    signal: AbortSignal,
    write: (attempt: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    for (let pause = 20; !signal.aborted; pause = Math.min(pause * 2, 500)) {
      try {
        return await write(AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]));
      } catch {
        await sleep(pause, undefined, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  #newSite(): Site {
    const name = `site-${String(this.#serial++).padStart(5, '0')}`;
    return { namespace: this.#random.pick(this.#options.namespaces), name };
  }

  /**
   * A random object without a pending write. Five picks nearly always find one; with `undefined`
   * the caller skips the step.
   */
  #anyOf(keys: Iterable<string>): Site | undefined {
    const list = [...keys];
    for (let i = 0; i < 5 && list.length > 0; i++) {
      const key = this.#random.pick(list);
      const [namespace = '', name = ''] = key.split('/');
      if (!this.#busy.has(key)) return { namespace, name };
    }
    return undefined;
  }

  #newSpec(): WebsiteSpec {
    const spec: WebsiteSpec = {
      image: `registry.example/site:${this.#random.integer(1, 500)}`,
      replicas: this.#random.integer(1, 5),
      port: this.#random.integer(8000, 8999),
    };
    if (this.#options.paused) spec.paused = true;
    return spec;
  }
}

const identity = { apiVersion: `${Website.group}/${Website.version}`, kind: Website.kind };

const keyOf = ({ namespace, name }: Site): string => `${namespace}/${name}`;
