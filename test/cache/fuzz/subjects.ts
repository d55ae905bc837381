/** The decoders that are fuzzed. */
import { ByteDecoder } from '../../../bindings/cache/bytes/decoder.ts';
import { StoredObjects } from '../../../bindings/cache/bytes/stored-objects.ts';
import { jsonDecoder } from '../../../bindings/cache/decode/decoder.ts';
import { CacheCore } from '../../../bindings/wasm/cache-core.ts';
import { EXPECTED } from './documents.ts';
import type { Subject } from './fuzz.ts';

function byteDecoder(keepManagedFields: boolean): ByteDecoder<object> {
  const core = new CacheCore();
  const versions = new StoredObjects(core, core.exports.keysNew(), EXPECTED);
  const decoder = new ByteDecoder<object>(core, versions, EXPECTED, { keepManagedFields });
  versions.pack(true, 0); // from the first object on
  return decoder;
}

export const subjects: readonly Subject[] = [
  { name: 'JSON.parse', decoder: () => jsonDecoder<object>(EXPECTED), cut: false },
  { name: 'bytes', decoder: () => byteDecoder(false), cut: true },
  { name: 'bytes with managedFields', decoder: () => byteDecoder(true), cut: false },
];
