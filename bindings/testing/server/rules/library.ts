/**
 * CEL, in which definitions have rules for their objects, by the optional peer
 * `@marcbachmann/cel-js`, with the functions that Kubernetes adds. apiserver: pkg/cel/environment,
 * pkg/cel/library.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { registerExtensions } from './extensions.ts';

type Library = typeof import('@marcbachmann/cel-js');

export interface Cel {
  library: Library;
  /** Knows all functions and no variables; a rule has a clone of it. */
  base: Environment;
}

let loading: Promise<Cel | undefined> | undefined;
let loaded: Cel | undefined;

/** Loads the peer; undefined where it is not installed. */
export function loadCel(): Promise<Cel | undefined> {
  loading ??= import('@marcbachmann/cel-js')
    .then((library) => {
      const options = { enableOptionalTypes: true, homogeneousAggregateLiterals: false };
      const base = new library.Environment(options);
      registerExtensions(base, library.Optional);
      loaded = { library, base };
      return loaded;
    })
    .catch(() => undefined);
  return loading;
}

/** What `loadCel` found; undefined: nothing, or it was never called. */
export const loadedCel = (): Cel | undefined => loaded;
