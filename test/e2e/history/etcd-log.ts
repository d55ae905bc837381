/**
 * All events of etcd in their order, from a watch on etcd itself, without an API server between. It
 * starts before the first write, so that a compaction removes nothing from it. An object's
 * resourceVersion is the revision of its last write, that of its DELETED event is the revision of
 * its removal.
 */
import type { KubeObject } from 'capstan/cache';
import { eventually } from '../../helpers/control-plane/conditions.ts';
import type { ServerLogEntry } from '../../helpers/history/content.ts';
import type { ResourceType } from '../same-answers/resources.ts';

interface EtcdEvent {
  /** Omitted for a put. */
  type?: 'DELETE';
  kv: { key: string; mod_revision: string; value?: string };
}

interface Line {
  result?: { created?: boolean; canceled?: boolean; events?: EtcdEvent[] };
  error?: unknown;
}

interface Entry {
  key: string;
  version: bigint;
  value: string | undefined;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const END = '/capstan-e2e/end-';

export class EtcdLog {
  readonly #url: string;
  readonly #entries: Entry[] = [];
  readonly #abort = new AbortController();
  #created = false;
  #failure: unknown;
  #ends = 0;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Resolves when etcd has confirmed the watch. */
  static async open(url: string): Promise<EtcdLog> {
    const log = new EtcdLog(url);
    log.#read().catch((error: unknown) => {
      log.#failure ??= error;
    });
    await eventually('etcd tells of its writes', () => log.#running() && log.#created);
    return log;
  }

  /** All writes so far to the objects of one type in a namespace. */
  async of(type: ResourceType, namespace: string): Promise<ServerLogEntry[]> {
    await this.#caughtUp();
    const group = type.prefix.split('/')[2] ?? '';
    // keys of built-in types have no group
    const folder = group.endsWith('.dev') ? `${group}/${type.plural}` : type.plural;
    const prefix = `/registry/${folder}/${namespace}/`;
    const entries = this.#entries.filter(({ key }) => key.startsWith(prefix));
    return entries.map(({ key, version, value }) => ({
      key: `${namespace}/${key.slice(prefix.length)}`,
      version,
      object: value === undefined ? undefined : (JSON.parse(value) as KubeObject),
    }));
  }

  close(): void {
    this.#abort.abort();
  }

  /** Resolves when all earlier writes have arrived: writes a key and waits for its event. */
  async #caughtUp(): Promise<void> {
    const key = `${END}${++this.#ends}`;
    const response = await fetch(`${this.#url}/v3/kv/put`, {
      method: 'POST',
      body: JSON.stringify({ key: base64(key), value: base64('end') }),
    });
    if (!response.ok) throw new Error(`etcd put: ${response.status} ${await response.text()}`);
    await eventually(
      'the log has come to its end',
      () => this.#running() && this.#entries.at(-1)?.key === key,
    );
  }

  #running(): boolean {
    if (this.#failure !== undefined)
      throw new Error('the watch on etcd has ended', { cause: this.#failure });
    return true;
  }

  async #read(): Promise<void> {
    // '0' follows '/': every key that begins with a slash
    const range = { key: base64('/'), range_end: base64('0') };
    const response = await fetch(`${this.#url}/v3/watch`, {
      method: 'POST',
      body: JSON.stringify({ create_request: range }),
      signal: this.#abort.signal,
    });
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) if (line !== '') this.#take(JSON.parse(line) as Line, line);
    }
    throw new Error('etcd closed it');
  }

  #take({ result, error }: Line, line: string): void {
    if (error !== undefined || result?.canceled) throw new Error(line);
    if (result?.created) this.#created = true;
    for (const { type, kv } of result?.events ?? []) {
      const decoded = (value: string): string => Buffer.from(value, 'base64').toString('utf8');
      const value = type === 'DELETE' ? undefined : decoded(kv.value ?? '');
      this.#entries.push({ key: decoded(kv.key), version: BigInt(kv.mod_revision), value });
    }
  }
}
