/**
 * Applies the user's transform to an object, once, before an informer queues it, and freezes the
 * result. If the transform throws, no event is lost: the error is reported, and the object is
 * queued as the transform left it, with its original name, namespace and version, which the store
 * needs. client-go drops such an event: tools/cache/the_real_fifo.go addToItems_locked.
 */
import { textOfError } from '../../base/error-text.ts';
import { CapstanError, invalid } from '../../base/errors.ts';
import { deepFreeze } from '../../base/freeze.ts';
import { handleError } from '../../base/handle-error.ts';
import type { KubeObject } from '../../base/object.ts';
import { storedObjectOf } from '../bytes/lazy.ts';
import type { TransformFunc } from './queue.ts';

/**
 * Makes the transformer of a FIFO.
 *
 * @param options.transform called for each object, because the transform may be set until the
 *   informer starts
 */
export function newTransformer<T extends object>(options: {
  describe: string;
  freeze: boolean;
  transform: () => TransformFunc<T> | undefined;
}): TransformFunc<T> {
  const { describe, freeze } = options;
  return (object) => {
    const transform = options.transform();
    const result = transform === undefined ? object : transformed(object, transform, describe);
    // objects that are kept as bytes are read-only already
    return freeze && storedObjectOf(result) === undefined ? deepFreeze(result) : result;
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
    const key = `${namespace ? `${namespace}/` : ''}${name}`;
    const of = `the transform of ${describe} ${key}`;
    const what = `${of} failed, and the object was kept as it was by then`;
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
