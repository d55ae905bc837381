/**
 * Whether an object is one that a cache is meant to hold, by what the cache is restricted to. It answers as the server would where that can be
 * told from the object; in doubt the object belongs.
 */
import { type Labels, labelMatcher } from '../selectors.ts';
import { pathIndexFunc } from './json-path.ts';
import type { KubeObject } from './keys.ts';

/** `path=value` or `path!=value`; the fields by which servers select are paths into the object. */
const TERM = /^([A-Za-z0-9_.-]+?)(!?)==?([^\\]*)$/;

/** Each "" where there is no restriction. */
export interface Selection {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

export function selectionMatcher(selection: Selection): (object: KubeObject) => boolean {
  const { namespace, labelSelector, fieldSelector } = selection;
  const byLabels = labelSelector === '' ? undefined : labelMatcher(labelSelector);
  const terms = fieldSelector.split(',').flatMap((term) => {
    const [, path = '', not, value] = TERM.exec(term.trim()) ?? [];
    return path === '' ? [] : [{ valuesOf: pathIndexFunc(path), not: not === '!', value }];
  });
  return (object) => {
    const metadata: (KubeObject['metadata'] & { labels?: Labels }) | undefined = object.metadata;
    if (namespace !== '' && metadata?.namespace !== namespace) return false;
    if (byLabels !== undefined && !byLabels(metadata?.labels ?? {})) return false;
    return terms.every(({ valuesOf, not, value }) => ((valuesOf(object)[0] ?? '') === value) !== not);
  };
}
