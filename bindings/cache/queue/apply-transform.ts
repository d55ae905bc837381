/**
 * What becomes of an object on its way into the queue of an informer: it goes once through the
 * user's transform, and is frozen after it. A transform that fails costs no object and no event: it
 * is reported, and the object is taken as the transform left it, with the name, namespace and
 * version that it came with, without which nothing could be stored any more. client-go:
 * tools/cache/the_real_fifo.go addToItems_locked, where an event whose transform fails is dropped.
 */
import { textOfError } from '../../base/error-text.ts';
import { CapstanError, invalid } from '../../base/errors.ts';
import { deepFreeze } from '../../base/freeze.ts';
import { handleError } from '../../base/handle-error.ts';
import { storedObjectOf } from '../bytes/lazy.ts';
import type { KubeObject } from '../rest/keys.ts';
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
    // objects of bytes are frozen
    return freeze && storedObjectOf(taken) === undefined ? deepFreeze(taken) : taken;
  };
}

function transformed<T extends object>(
  object: T,
  transform: TransformFunc<T>,
  describe: string,
): T {
  const { name, namespace, resourceVersion } = (object as KubeObject).metadata ?? {};
  try {
    const result: unknown = transform(object);
    const { name, namespace = '' } = (result as KubeObject | null | undefined)?.metadata ?? {};
    if (typeof name === 'string' && typeof namespace === 'string') return result as T;
    throw invalid(
      'transform',
      'a function that returns an object with a name and a namespace in its metadata',
      result,
    );
  } catch (cause) {
    const what = `the transform of ${describe} ${namespace ? `${namespace}/` : ''}${name} failed, and the object was kept as it was by then`;
    handleError(
      new CapstanError('TRANSFORM', `${what}: ${textOfError(cause)}`, { cause }),
      'informer transform',
    );
    const {
      name: _,
      namespace: __,
      resourceVersion: ___,
      ...rest
    } = Object((object as KubeObject).metadata);
    const identity = Object.entries({ name, namespace, resourceVersion }).filter(
      ([, value]) => value !== undefined,
    );
    return { ...object, metadata: { ...Object.fromEntries(identity), ...rest } };
  }
}
