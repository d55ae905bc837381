/**
 * The core of the caches: `cache.wasm`, compiled from assembly/cache.ts. Each cache has an instance
 * of its own, so that it has the full 4 GiB and goes when the cache goes.
 */
import { compileCache } from '#cache-module';
import { requireNames } from '../base/names.ts';
import { type CacheExports, cacheExports } from '../generated/cache-exports.ts';
import { guardWith } from './guard.ts';
import { CoreModule, Instance, MODULE_NAMES } from './instance.ts';
import type { WasmModule } from './web-assembly.ts';

const cacheModule = new CoreModule<CacheExports>(
  'capstan/cache.wasm',
  'objectsNew',
  compileCache,
  (exports, trapped) => cacheExports(exports as unknown as CacheExports, guardWith(trapped)),
);

/**
 * Gives the core of the caches a compiled module, as `initCore` of `capstan/workqueue` does for
 * queues. Before the first cache.
 *
 * @example
 * import module from 'capstan/cache.wasm'; // in a bundler or host that compiles .wasm imports
 * initCacheCore({ module });
 */
export function initCacheCore(options: { module?: WasmModule | undefined } = {}): void {
  requireNames('options', options, 'option of initCacheCore()', MODULE_NAMES);
  if (options.module === undefined) cacheModule.load();
  else cacheModule.use(options.module, 'initCacheCore');
}

export class CacheCore extends Instance<CacheExports> {
  constructor() {
    super(cacheModule);
  }
}
