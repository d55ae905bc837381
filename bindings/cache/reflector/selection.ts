/**
 * Whether an object is one that a cache is meant to hold, by what the cache is restricted to. It
 * answers as the server would where that can be told from the object.
 */

import { pathIndexFunc } from '../../base/json-path.ts';
import { type Labels, labelMatcher } from '../../base/selectors.ts';
import type { KubeObject } from '../rest/keys.ts';

/** `path=value` or `path!=value`; the fields by which servers select are paths into the object. */
const TERM = /^([A-Za-z0-9_.-]+?)(!?)==?([^\\]*)$/;

/**
 * Texts that servers take for empty where they are absent. Of others nothing can be told then: an
 * absent number is "0" to them, an absent boolean "false", and some names are no paths
 * (`status.successful` of a Job, `source` of an Event).
 */
const EMPTY_WHERE_ABSENT = new Set([
  'metadata.name',
  'metadata.namespace',
  'spec.nodeName',
  'status.phase',
]);

/** Each "" where there is no restriction. */
export interface Selection {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /**
   * Parameters of the requests that are not known here, such as `shardSelector`, as a tweak may add
   * them.
   */
  readonly others?: Readonly<Record<string, string>> | undefined;
  /** There are others, or lists and watches are not restricted alike: anything may be left out. */
  readonly isUnknown?: boolean | undefined;
}

/** Gives undefined where it cannot be told, and the server would have to be asked. */
export function selectionMatcher(
  selection: Selection,
): (object: KubeObject) => boolean | undefined {
  const { namespace, labelSelector, fieldSelector, isUnknown } = selection;
  const byLabels = labelSelector === '' ? undefined : labelMatcher(labelSelector);
  let unread = false;
  const terms = fieldSelector.split(',').flatMap((term) => {
    const [, path = '', not, value] = TERM.exec(term.trim()) ?? [];
    if (path === '' && term.trim() !== '') unread = true;
    return path === '' ? [] : [{ path, valuesOf: pathIndexFunc(path), not: not === '!', value }];
  });
  const holds = (
    { path, valuesOf, not, value }: (typeof terms)[number],
    object: KubeObject,
  ): boolean | undefined => {
    const found = valuesOf(object)[0] ?? (EMPTY_WHERE_ABSENT.has(path) ? '' : undefined);
    return found === undefined ? undefined : (found === value) !== not;
  };
  return (object) => {
    const metadata: (KubeObject['metadata'] & { labels?: Labels }) | undefined = object.metadata;
    if (namespace !== '' && metadata?.namespace !== namespace) return false;
    if (byLabels !== undefined && !byLabels(metadata?.labels ?? {})) return false;
    const held = terms.map((term) => holds(term, object));
    if (held.includes(false)) return false;
    return isUnknown || unread || held.includes(undefined) ? undefined : true;
  };
}
