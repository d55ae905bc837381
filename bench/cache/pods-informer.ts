/** Our informer of the Pods of pods-server.ts. The package is loaded at the call, not before. */
import type { SharedIndexInformer } from 'capstan/cache';

export async function podsInformer<T extends object>(
  url: string,
  indices: Record<string, string> = {},
): Promise<{ informer: SharedIndexInformer<T>; synced: () => Promise<unknown> }> {
  const { defineResource, ListWatch, SharedIndexInformer, waitForCacheSync } = await import(
    'capstan/cache'
  );
  const { httpTransport } = await import('capstan/client-node');
  const pods = defineResource<T>()({
    group: '',
    version: 'v1',
    kind: 'Pod',
    plural: 'pods',
    namespaced: true,
  });
  const listWatch = new ListWatch(httpTransport(url), pods);
  const informer = new SharedIndexInformer(listWatch, { watchList: false });
  informer.addIndexers(indices);
  return { informer, synced: () => waitForCacheSync({}, informer) };
}
