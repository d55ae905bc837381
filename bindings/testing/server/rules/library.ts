/**
 * Loads CEL, the language of validation rules, from the optional peer `@marcbachmann/cel-js`, and
 * adds Kubernetes' functions. apiserver: pkg/cel/environment, pkg/cel/library.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { registerExtensions } from './extensions.ts';
import { registerMacros } from './macros.ts';

type Library = typeof import('@marcbachmann/cel-js');

export interface Cel {
  library: Library;
  /** The environment with all functions and no variables; each rule gets a clone. */
  base: Environment;
}

let loading: Promise<Cel | undefined> | undefined;
let loaded: Cel | undefined;

/** Loads the peer; undefined if it is not installed. */
export function loadCel(): Promise<Cel | undefined> {
  loading ??= import('@marcbachmann/cel-js')
    .then((library) => {
      const options = { enableOptionalTypes: true, homogeneousAggregateLiterals: false };
      const base = new library.Environment(options);
      registerExtensions(base, library.Optional);
      registerMacros(base, library);
      loaded = { library, base };
      return loaded;
    })
    .catch(() => undefined);
  return loading;
}

/** The result of `loadCel`; undefined if the peer is not installed or was not loaded. */
export const loadedCel = (): Cel | undefined => loaded;
