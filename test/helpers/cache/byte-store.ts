/** A store of bytes with its decoder, as an informer has them. */

import type { IndexSpec } from '../../../bindings/base/resource.ts';
import type { ByteDecoder } from '../../../bindings/cache/bytes/decoder.ts';
import type { Frame, FrameReader } from '../../../bindings/cache/decode/decoder.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';

export interface Thing {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    generation?: number;
    deletionTimestamp?: string;
  };
  spec?: unknown;
  status?: unknown;
}

export const expected = { apiVersion: 'v1', kind: 'Thing' };

const encoder = new TextEncoder();
export const bytes = (text: string): Uint8Array => encoder.encode(text);

export function thing(
  name: string,
  resourceVersion: number,
  spec: unknown = resourceVersion,
): Thing {
  const { apiVersion, kind } = expected;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace: 'n', resourceVersion: String(resourceVersion) },
    spec,
  };
}

export class ByteStore {
  readonly store: Indexer<Thing, string>;
  readonly decoder: ByteDecoder<Thing>;
  readonly frames: FrameReader<Thing>;

  /**
   * @param versions whether what comes stands for objects that are yet to be made, as in an
   * informer
   */
  constructor(indexers: Record<string, IndexSpec<Thing>> = {}, storedObjects = false) {
    this.store = new Indexer<Thing, string>(undefined, indexers, expected);
    this.decoder = this.store.decoder(expected, { storedObjects });
    this.frames = this.decoder.frames();
  }

  frame(text: string): Frame<Thing> {
    this.frames.push(bytes(text));
    const frame = this.frames.next();
    if (frame === undefined) throw new Error('not complete');
    return frame;
  }

  /** Of a watch event. */
  object(of: Thing | string): Thing {
    const text = typeof of === 'string' ? of : JSON.stringify(of);
    return (this.frame(`{"type":"MODIFIED","object":${text}}`) as { object: Thing }).object;
  }

  /** Of a list. */
  items(...of: Thing[]): Thing[] {
    const page = this.decoder.page();
    page.push(bytes(JSON.stringify({ metadata: { resourceVersion: '9' }, items: of })));
    const { items } = page.end();
    page.close();
    return items;
  }

  /** All that the store says of itself. */
  content(indices: readonly string[] = []): object {
    const { store } = this;
    const byIndex = indices.map((name) => {
      const values = store.listIndexFuncValues(name).sort();
      return values.map((value) => [value, store.indexKeys(name, value)]);
    });
    const keys = store.listKeys().sort();
    return {
      size: store.size(),
      objects: keys.map((key) => [key, JSON.stringify(store.getByKey(key))]),
      byIndex,
    };
  }
}
