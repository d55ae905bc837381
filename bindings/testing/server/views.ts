/**
 * How objects are shown to a client: whole, or their metadata alone (PartialObjectMetadata), singly
 * and in lists, with the members in the order in which the real server writes them: a reader that
 * scans bytes meets what it will meet there.
 */
import { isObject, type JsonObject, objectAt, without, writeJson } from './json.ts';
import { isView, shownAs } from './registry/forms.ts';
import { apiVersionOf, type Kind } from './registry/kinds.ts';
import { zeroObject } from './registry/types.ts';

/** An object and its text. */
export interface Shown {
  readonly object: JsonObject;
  readonly json: string;
}

export interface ListMetadata {
  version: number;
  token?: string;
  remaining?: number;
}

export interface View {
  object(shown: Shown): string;
  /** As an event of a watch shows it, where that differs; such a view is one watch's alone. */
  event?(shown: Shown): string;
  list(kind: Kind, items: readonly Shown[], metadata: ListMetadata): string;
  /** What a bookmark carries: no object, but the members of one. */
  bookmark(kind: Kind, metadata: JsonObject): string;
  /**
   * false: the first event cannot be shown in this form, so a watch that was begun in it ends
   * there.
   */
  readonly watchable: boolean;
}

/** The metadata of a bookmark: that of a DaemonSet has a template which was never set. */
export function bookmarkMetadata({ builtIn, plural }: Kind, metadata: JsonObject): JsonObject {
  if (!builtIn || plural !== 'daemonsets') return metadata;
  const never = { 'deprecated.daemonset.template.generation': '0' };
  return { ...metadata, annotations: { ...never, ...objectAt(metadata, 'annotations') } };
}

/**
 * Kinds that have their replicas behind a pointer, but not in the form from which the real server
 * makes its bookmarks.
 */
const COUNTED = ['Deployment', 'ReplicaSet', 'StatefulSet'];

export const wholeObjects: View = {
  object: (shown) => shown.json,
  list(kind, items, metadata) {
    if (!kind.builtIn) return customList(kind, items, metadata);
    // Built-in kinds leave kind and apiVersion out of a list's items, custom ones do not.
    const head = `{"kind":"${kind.kind}","apiVersion":"${apiVersionOf(kind)}",`.length;
    return listOf(
      kind.listKind,
      apiVersionOf(kind),
      metadata,
      items.map((item) => `{${item.json.slice(head)}`),
    );
  },
  bookmark(kind, metadata) {
    const apiVersion = apiVersionOf(kind);
    const empty = zeroObject(kind);
    const counted = kind.group === 'apps' && COUNTED.includes(kind.kind);
    const spec = counted ? { spec: { replicas: 0, ...objectAt(empty, 'spec') } } : {};
    return JSON.stringify({
      kind: kind.kind,
      apiVersion,
      metadata: bookmarkMetadata(kind, metadata),
      ...without(empty, 'metadata'),
      ...spec,
    });
  },
  watchable: true,
};

/** Annotations in which the real server writes what this version of a kind has no member for. */
const WRITTEN =
  /^deprecated\.daemonset\.template\.generation$|^autoscaling\.alpha\.kubernetes\.io\//;

/** The metadata where it is shown alone: it has not been through what writes those annotations. */
export function partialMetadata({ kind, metadata }: JsonObject): JsonObject {
  const whole = isObject(metadata) ? metadata : {};
  if (kind !== 'DaemonSet' && kind !== 'HorizontalPodAutoscaler') return whole;
  const given = Object.entries(objectAt(whole, 'annotations'));
  const annotations = Object.fromEntries(given.filter(([name]) => !WRITTEN.test(name)));
  const { annotations: _, ...rest } = whole;
  return Object.keys(annotations).length === 0 ? rest : { ...whole, annotations };
}

/**
 * @param version of meta.k8s.io: `v1` or `v1beta1`
 * @param watchable for the form of a list the real server begins a watch and then finds that an
 *   event is no list
 */
function metadataAs(version: string, watchable: boolean): View {
  const apiVersion = `meta.k8s.io/${version}`;
  const object = (shown: Shown): string =>
    writeJson({
      kind: 'PartialObjectMetadata',
      apiVersion,
      metadata: partialMetadata(shown.object),
    });
  return {
    object,
    list: (_kind, items, metadata) =>
      listOf('PartialObjectMetadataList', apiVersion, metadata, items.map(object), 'null'),
    bookmark: (_kind, metadata) =>
      JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion, metadata }),
    watchable,
  };
}

/** The views of objects' metadata alone, by what is asked for and in what version. */
export const metadataViews: ReadonlyMap<string, View> = new Map(
  ['v1', 'v1beta1'].flatMap((version) => [
    [`PartialObjectMetadata ${version}`, metadataAs(version, true)],
    [`PartialObjectMetadataList ${version}`, metadataAs(version, false)],
  ]),
);

function listOf(
  kind: string,
  apiVersion: string,
  metadata: ListMetadata,
  items: readonly string[],
  none = '[]',
): string {
  const { version, token, remaining } = metadata;
  const meta = JSON.stringify({
    resourceVersion: String(version),
    continue: token,
    remainingItemCount: remaining,
  });
  return `{"kind":${JSON.stringify(kind)},"apiVersion":"${apiVersion}","metadata":${meta},"items":${items.length === 0 ? none : `[${items.join(',')}]`}}`;
}

/** Members in alphabetical order, and a token even where there is none. */
function customList(
  kind: Kind,
  items: readonly Shown[],
  { version, token = '', remaining }: ListMetadata,
): string {
  const meta = JSON.stringify({
    continue: token,
    remainingItemCount: remaining,
    resourceVersion: String(version),
  });
  const body = items.map((item) => item.json).join(',');
  return `{"apiVersion":"${apiVersionOf(kind)}","items":[${body}],"kind":${JSON.stringify(kind.listKind)},"metadata":${meta}}`;
}

const converting = new WeakMap<Kind, Map<View, View>>();

/**
 * The view for a kind whose objects may lie in another form than it shows. One for each kind and
 * view, as frames are kept by view.
 */
export function viewOf(kind: Kind, view: View): View {
  if (!isView(kind)) return view;
  const views = converting.get(kind) ?? new Map<View, View>();
  converting.set(kind, views);
  let made = views.get(view);
  if (made === undefined) {
    made = {
      object: (shown) => view.object(shownAs(kind, shown)),
      ...(view.event === undefined
        ? {}
        : { event: (shown: Shown) => view.event?.(shownAs(kind, shown)) ?? '' }),
      list: (of, items, metadata) =>
        view.list(
          of,
          items.map((item) => shownAs(kind, item)),
          metadata,
        ),
      bookmark: view.bookmark,
      watchable: view.watchable,
    };
    views.set(view, made);
  }
  return made;
}
