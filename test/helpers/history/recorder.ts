/**
 * Writes an informer's history down: a transport that keeps what passes through it, and a handler
 * that keeps what it is told. Neither changes anything. A frame or a list counts as received when
 * its last byte has been handed to the client; frames are told apart by code of its own, not by
 * that under test.
 */
import {
  DeletedFinalStateUnknown,
  type KubeObject,
  type ResourceEventHandler,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from 'capstan/cache';
import { objectState, objectVersion, type View } from './content.ts';
import type {
  Frame,
  HandlerRecord,
  ListRecord,
  RequestRecord,
  Told,
  WatchRecord,
} from './history.ts';

interface ListBody {
  metadata?: { resourceVersion?: string; continue?: string };
  items?: KubeObject[] | null;
}

interface EventBody {
  type: Frame['type'];
  object: KubeObject & { code?: number; metadata?: { annotations?: Record<string, string> } };
}

export class RecordingTransport implements Transport {
  readonly requests: RequestRecord[] = [];
  readonly #inner: Transport;
  readonly #view: View;

  constructor(inner: Transport, view: View = {}) {
    this.#inner = inner;
    this.#view = view;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const record = this.#begin(request.query ?? {});
    const response = await this.#inner.request(request);
    record.status = response.status;
    if (response.status !== 200) return response;
    const body =
      record.type === 'list'
        ? this.#list(record, response.body)
        : this.#watch(record, response.body);
    return { ...response, body };
  }

  async close(): Promise<void> {
    await this.#inner.close?.();
  }

  #begin(query: Record<string, string>): RequestRecord {
    const version = query.resourceVersion ?? '';
    if (query.watch === 'true') {
      const initial = query.sendInitialEvents === 'true';
      const watch: WatchRecord = {
        type: 'watch',
        from: version,
        initial,
        status: undefined,
        frames: [],
      };
      this.requests.push(watch);
      return watch;
    }
    const last = this.requests.at(-1);
    if (query.continue !== undefined && last?.type === 'list') return last;
    const list: ListRecord = {
      type: 'list',
      asked: version,
      status: undefined,
      version: undefined,
      items: [],
      complete: false,
    };
    this.requests.push(list);
    return list;
  }

  async *#list(record: ListRecord, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const decoder = new TextDecoder();
    let text = '';
    let failed = false;
    try {
      for await (const chunk of body) {
        text += decoder.decode(chunk, { stream: true });
        yield chunk;
      }
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      const page = failed ? undefined : parsed<ListBody>(text + decoder.decode());
      if (page !== undefined) this.#addPage(record, page);
    }
  }

  #addPage(record: ListRecord, { metadata, items }: ListBody): void {
    record.version ??= BigInt(metadata?.resourceVersion ?? '-1');
    record.items.push(...(items ?? []).map((item) => objectState(item, this.#view)));
    record.complete = !metadata?.continue;
  }

  async *#watch(record: WatchRecord, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const values = new Values();
    let readable = true;
    for await (const chunk of body) {
      for (const text of values.push(chunk)) {
        const event = parsed<EventBody>(text);
        readable &&= event !== undefined; // what comes after garbage is lost to any client
        if (readable && event !== undefined) record.frames.push(this.#frame(event));
      }
      yield chunk;
    }
  }

  #frame({ type, object }: EventBody): Frame {
    if (type === 'ERROR') return { type, code: object.code ?? 0 };
    if (type !== 'BOOKMARK') return { type, ...objectState(object, this.#view) };
    const initialEventsEnd = object.metadata?.annotations?.['k8s.io/initial-events-end'] === 'true';
    return { type, version: objectVersion(object), initialEventsEnd };
  }
}

/** A handler that is told everything and keeps it. */
export class RecordingHandler implements ResourceEventHandler<KubeObject> {
  readonly told: Told[] = [];
  readonly record: HandlerRecord;
  readonly #view: View;

  constructor(name: string, options: { late?: boolean; resync?: boolean; view?: View } = {}) {
    const { late = false, resync = false, view = {} } = options;
    this.record = { name, late, resync, told: this.told };
    this.#view = view;
  }

  onAdd(object: KubeObject, initial: boolean): void {
    this.told.push({ type: 'add', initial, ...objectState(object, this.#view) });
  }

  onUpdate(old: KubeObject, now: KubeObject): void {
    this.told.push({ type: 'update', old: objectVersion(old), ...objectState(now, this.#view) });
  }

  onDelete(object: KubeObject | DeletedFinalStateUnknown<KubeObject>): void {
    if (!(object instanceof DeletedFinalStateUnknown)) {
      this.told.push({ type: 'delete', ...objectState(object, this.#view) });
    } else if (object.obj !== undefined) {
      this.told.push({
        type: 'tombstone',
        ...objectState(object.obj, this.#view),
        key: object.key,
      });
    } else {
      this.told.push({ type: 'tombstone', key: object.key, version: -1n, content: '' });
    }
  }

  /** Key and version of what it has been told is there. */
  picture(): Map<string, bigint> {
    const picture = new Map<string, bigint>();
    for (const { type, key, version } of this.told) {
      if (type === 'delete' || type === 'tombstone') picture.delete(key);
      else picture.set(key, version);
    }
    return picture;
  }
}

/**
 * The texts of JSON objects in a stream, by counting braces, one character after the other: slow
 * and simple.
 */
class Values {
  readonly #decoder = new TextDecoder();
  #text = '';
  #depth = 0;
  #inString = false;
  #escaped = false;

  push(chunk: Uint8Array): string[] {
    const values: string[] = [];
    for (const character of this.#decoder.decode(chunk, { stream: true })) {
      this.#text += character;
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString && character === '\\') this.#escaped = true;
      else if (character === '"') this.#inString = !this.#inString;
      else if (!this.#inString && (character === '{' || character === '[')) this.#depth++;
      else if (!this.#inString && (character === '}' || character === ']')) this.#depth--;
      // What stands between values and is not space belongs to the next one, which is then none.
      if (this.#depth > 0 || this.#inString || character !== '}') continue;
      values.push(this.#text);
      this.#text = '';
    }
    return values;
  }
}

function parsed<T extends object>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
