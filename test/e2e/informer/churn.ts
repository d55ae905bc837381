/**
 * Random creates, patches and deletes on a fixed set of names, repeated until the server accepts
 * them: a write whose response was lost may have happened, so every operation can be repeated.
 */
import type { Transport } from 'capstan/cache';
import { eventually, pauseUntil } from '../../helpers/control-plane/conditions.ts';
import { Random } from '../../helpers/random.ts';
import type { ResourceType } from '../same-answers/resources.ts';

const WRITERS = 4;
const SHARDS = 5;
const FIELDS: Readonly<Record<string, object>> = {
  Widget: { spec: { text: 'é\u2028"😀' } },
  Lease: { spec: { holderIdentity: 'nobody', leaseDurationSeconds: 15 } },
};

export class Churn {
  readonly #transport: Transport;
  readonly #path: string;
  readonly #type: ResourceType;
  readonly #random: Random;
  readonly #perSecond: number;
  readonly #waiting: { at: number; resolve: () => void }[] = [];
  #done = 0;

  /** @param perSecond the maximum rate; undefined: as fast as the server allows */
  constructor(
    transport: Transport,
    type: ResourceType,
    namespace: string,
    seed: number,
    perSecond = Number.POSITIVE_INFINITY,
  ) {
    this.#transport = transport;
    this.#type = type;
    this.#path = `${type.prefix}/namespaces/${namespace}/${type.plural}`;
    this.#random = new Random(seed);
    this.#perSecond = perSecond;
  }

  /**
   * Resolves after `operations`. Each writer has its own names, so that it knows which objects
   * exist.
   */
  async run(operations: number, names: number): Promise<void> {
    let left = operations;
    const write = async (writer: number): Promise<void> => {
      const live = new Set<string>();
      const everyMs = (1000 * WRITERS) / this.#perSecond;
      let due = performance.now();
      while (left-- > 0) {
        await pauseUntil(due);
        // time that a server was down is not caught up
        due = Math.max(due, performance.now()) + everyMs;
        const name = `n${Math.floor((this.#random.next() * names) / WRITERS) * WRITERS + writer}`;
        await this.#change(name, live);
        this.#count();
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  }

  /** Resolves when `count` operations were done in all. */
  reached(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ at: count, resolve });
      this.#count(0);
    });
  }

  create(name: string): Promise<void> {
    const labels = { shard: `s${this.#random.int(SHARDS)}` };
    const fields = FIELDS[this.#type.kind] ?? { data: { key: 'dmFsdWU=' } };
    const body = {
      apiVersion: this.#type.apiVersion,
      kind: this.#type.kind,
      metadata: { name, labels },
      ...fields,
    };
    return this.#send('POST', '', body, [201, 409]);
  }

  patch(name: string): Promise<void> {
    const labels = { shard: `s${this.#random.int(SHARDS)}`, n: String(this.#random.int(1e9)) };
    return this.#send('PATCH', `/${name}`, { metadata: { labels } }, [200]);
  }

  delete(name: string): Promise<void> {
    return this.#send('DELETE', `/${name}`, undefined, [200, 404]);
  }

  async #change(name: string, live: Set<string>): Promise<void> {
    if (!live.has(name)) {
      await this.create(name);
      live.add(name);
    } else if (this.#random.chance(0.25)) {
      await this.delete(name);
      live.delete(name);
    } else {
      await this.patch(name);
    }
  }

  #count(by = 1): void {
    this.#done += by;
    for (const waiter of this.#waiting) if (this.#done >= waiter.at) waiter.resolve();
  }

  async #send(
    method: string,
    suffix: string,
    body: unknown,
    expected: readonly number[],
  ): Promise<void> {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    await eventually(`${method} ${this.#path}${suffix}`, async () => {
      const response = await this.#transport.request({
        method,
        path: this.#path + suffix,
        headers: { 'content-type': contentType },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      return expected.includes(response.status) || `${response.status} ${Buffer.concat(chunks)}`;
    });
  }
}
