/**
 * Decides whether the namespace and selectors of a cache select an object, as the server would, if
 * the object itself can tell.
 */

import { pathIndexFunc } from '../../base/json-path.ts';
import type { KubeObject } from '../../base/object.ts';
import { type Labels, labelMatcher } from '../../base/selectors.ts';

/** `path=value` or `path!=value`; the fields of field selectors are paths into the object. */
const TERM = /^([A-Za-z0-9_.-]+?)(!?)==?([^\\]*)$/;

/**
 * Strings whose absence servers treat as "". For other absent fields the result is unknown: to the
 * server an absent number is "0" and an absent boolean "false", and some field names are not paths
 * (`status.successful` of a Job, `source` of an Event).
 */
const EMPTY_WHERE_ABSENT = new Set([
  'metadata.name',
  'metadata.namespace',
  'spec.nodeName',
  'status.phase',
]);

/** What a cache is restricted to; "" is no restriction. */
export interface Selection {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Query parameters that a tweak added and that are not known here, such as `shardSelector`. */
  readonly others?: Readonly<Record<string, string>> | undefined;
  /**
   * There are `others`, or the list and the watch have different selectors: any object may be left
   * out.
   */
  readonly isUnknown?: boolean | undefined;
  /** Whether the ranges of the cache have an object; they may change. Absent: no ranges. */
  readonly covers?: ((object: KubeObject) => boolean) | undefined;
}

/** The function returns undefined if only the server can tell. */
export function selectionMatcher(
  selection: Selection,
): (object: KubeObject) => boolean | undefined {
  const { namespace, labelSelector, fieldSelector, isUnknown, covers } = selection;
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
    if (covers?.(object) === false) return false;
    if (byLabels !== undefined && !byLabels(metadata?.labels ?? {})) return false;
    const held = terms.map((term) => holds(term, object));
    if (held.includes(false)) return false;
    return isUnknown || unread || held.includes(undefined) ? undefined : true;
  };
}
