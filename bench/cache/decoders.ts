/**
 * Pairs of a decoder (bindings/cache/decode/decoder.ts) and a store, which bytes-load.ts measures
 * without an informer. Imported from the sources, because the package exports neither. A new
 * decoder needs a line here, and its name in SEAMS of peers.ts.
 */
import {
  type Decoder,
  type ExpectedKind,
  jsonDecoder,
} from '../../bindings/cache/decode/decoder.ts';
import { metaNamespaceIndexFunc, namespaceIndex } from '../../bindings/cache/store/indices.ts';
import { Indexer } from '../../bindings/cache/store/store.ts';
import type { Pod } from './parsed-cache.ts';
import type { SeamName } from './peers.ts';

export interface Seam {
  decoder: Decoder<Pod>;
  store: Indexer<Pod>;
}

const POD: ExpectedKind = { apiVersion: 'v1', kind: 'Pod' };

/** The indices that each informer has. */
const indexers = { [namespaceIndex]: metaNamespaceIndexFunc };

export const seams: Record<SeamName, () => Seam> = {
  bytes: () => {
    const store = new Indexer<Pod>(undefined, indexers, POD);
    return { decoder: store.decoder(POD, { storedObjects: true }), store };
  },
  json: () => ({ decoder: jsonDecoder<Pod>(POD), store: new Indexer<Pod>(undefined, indexers) }),
};
