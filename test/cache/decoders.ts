/** The decoders there are, for tests that hold for every one of them. */
import { type Decoder, jsonDecoder } from '../../bindings/cache/decoder.ts';
import type { KubeObject } from '../../bindings/cache/keys.ts';

export interface TestedDecoder {
  name: string;
  make(): Decoder<KubeObject>;
  /** Its objects refuse every write. Plain ones are frozen by the mutation detector alone. */
  readOnly: boolean;
}

export const decoders: readonly TestedDecoder[] = [
  { name: 'JSON', make: () => jsonDecoder<KubeObject>({ apiVersion: 'v1', kind: 'ConfigMap' }), readOnly: false },
];
