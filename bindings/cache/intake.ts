/**
 * What becomes of an object on its way into the queue of an informer: it goes once through the user's transform, and is frozen
 * after it. A transform that fails costs no object and no event: it is reported, and the object is taken as it came.
 * client-go: tools/cache/the_real_fifo.go addToItems_locked, where an event whose transform fails is dropped.
 */
import { CapstanError, invalid, show } from '../errors.ts';
import { handleError } from '../handle-error.ts';
import { versionOf } from './bytes/lazy.ts';
import { deepFreeze } from './freeze.ts';
import { type KubeObject, metaNamespaceKeyFunc } from './keys.ts';
import type { TransformFunc } from './queue.ts';

/** @param transform asked for each time, as it may be set until the informer starts */
export function intake<T extends object>(options: {
  describe: string;
  freeze: boolean;
  transform: () => TransformFunc<T> | undefined;
}): TransformFunc<T> {
  const { describe, freeze } = options;
  return (object) => {
    const transform = options.transform();
    const taken = transform === undefined ? object : transformed(object, transform, describe);
    return freeze && versionOf(taken) === undefined ? deepFreeze(taken) : taken; // objects of bytes are frozen
  };
}

function transformed<T extends object>(object: T, transform: TransformFunc<T>, describe: string): T {
  try {
    const result: unknown = transform(object);
    if (typeof (result as KubeObject | null | undefined)?.metadata?.name === 'string') return result as T;
    throw invalid('transform', 'a function that returns an object with metadata.name', result);
  } catch (cause) {
    const what = `the transform of ${describe} ${keyOf(object)} failed, and the object was kept as it came`;
    const why = cause instanceof Error ? cause.message : show(cause);
    handleError(new CapstanError('TRANSFORM', `${what}: ${why}`, { cause }), 'informer transform');
    return object;
  }
}

/** A transform that failed may have taken the name away. */
function keyOf(object: object): string {
  try {
    return metaNamespaceKeyFunc(object);
  } catch {
    return 'without a name';
  }
}
