/** Every decoder, for tests that each of them must pass. */

import type { KubeObject } from '../../../bindings/base/object.ts';
import { ByteDecoder } from '../../../bindings/cache/bytes/decoder.ts';
import { StoredObjects } from '../../../bindings/cache/bytes/stored-objects.ts';
import {
  type Decoder,
  type ExpectedKind,
  jsonDecoder,
} from '../../../bindings/cache/decode/decoder.ts';
import { CacheCore } from '../../../bindings/wasm/cache-core.ts';

export interface TestedDecoder {
  name: string;
  /** @param of ConfigMaps by default */
  make(of?: ExpectedKind): Decoder<KubeObject>;
  /** Its objects refuse every write. Plain ones are frozen by the mutation detector alone. */
  readOnly: boolean;
}

export const expectedKind = { apiVersion: 'v1', kind: 'ConfigMap' };

export const decoders: readonly TestedDecoder[] = [
  {
    name: 'of JSON',
    make: (of = expectedKind) => jsonDecoder<KubeObject>({ ...of }),
    readOnly: false,
  },
  { name: 'of bytes', make: onBytes, readOnly: true },
];

let core: CacheCore | undefined;
let versions: StoredObjects | undefined;

/** All in one core, as in an informer, whose streams follow each other. */
function onBytes(of = expectedKind): Decoder<KubeObject> {
  if (of !== expectedKind) {
    const other = new CacheCore();
    return new ByteDecoder<KubeObject>(
      other,
      new StoredObjects(other, other.exports.keysNew(), of),
      of,
    );
  }
  core ??= new CacheCore();
  versions ??= new StoredObjects(core, core.exports.keysNew(), expectedKind);
  return new ByteDecoder<KubeObject>(core, versions, { ...expectedKind });
}
