/** The content of an object as text: equal for the same state from a list, a watch or the log. */
import type { KubeObject } from 'capstan/cache';
import type { State, Write } from './history.ts';
import { Truth } from './truth.ts';

export interface View {
  /** Objects without spec, status and data. */
  readonly metadataOnly?: boolean;
  /** What a selector lets through. */
  readonly matches?: (object: KubeObject) => boolean;
}

/**
 * JSON with the members in one order, without what differs by the way it came: items of a list have
 * no kind, only some answers have managedFields, and the version is told apart.
 */
export function contentOf(object: KubeObject, view: View = {}): string {
  const {
    apiVersion: _,
    kind: __,
    metadata,
    ...rest
  } = object as KubeObject & { metadata?: Record<string, unknown> };
  const { resourceVersion: ___, managedFields: ____, ...kept } = metadata ?? {};
  return JSON.stringify(
    inOrder(view.metadataOnly ? { metadata: kept } : { ...rest, metadata: kept }),
  );
}

export function objectState(object: KubeObject, view: View = {}): State {
  return { key: keyOf(object), version: objectVersion(object), content: contentOf(object, view) };
}

export function objectVersion(object: KubeObject): bigint {
  return BigInt(object.metadata?.resourceVersion ?? '-1');
}

export function keyOf({ metadata }: KubeObject): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : String(metadata?.name);
}

/** A line of the server's log. Without an object: it was removed. */
export interface ServerLogEntry {
  readonly key: string;
  readonly version: bigint;
  readonly object: KubeObject | undefined;
}

/**
 * The log as a watch with this view sees it: what leaves a selector's scope is removed, what never
 * was in it is not there.
 */
export function truthOf(log: readonly ServerLogEntry[], view: View = {}): Truth {
  const visible = new Set<string>();
  const writes: Write[] = [];
  for (const { key, version, object } of log) {
    const now = object !== undefined && (view.matches?.(object) ?? true);
    if (now) writes.push({ key, version, content: contentOf(object, view) });
    else if (visible.has(key)) writes.push({ key, version, content: undefined });
    if (now) visible.add(key);
    else visible.delete(key);
  }
  return new Truth(writes);
}

function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // as pairs: names like integers would change places
  return members.map(([name, member]) => [name, inOrder(member)]);
}
