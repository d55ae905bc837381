/**
 * The forms of an object in answers: whole or metadata only (PartialObjectMetadata), single and in
 * lists. Members come in the order of the real server, which a reader that scans bytes depends on.
 */
import { isObject, type JsonObject, memberObject, without, writeJson } from '../json.ts';
import { isConverted, servedForm } from '../registry/conversion.ts';
import { apiVersionOf, type Kind } from '../registry/kinds.ts';
import { zeroObject } from '../registry/types.ts';

/** An object and its JSON text. */
export interface EncodedObject {
  readonly object: JsonObject;
  readonly json: string;
}

export interface ListMetadata {
  version: number;
  token?: string;
  remaining?: number;
}

export interface View {
  object(encoded: EncodedObject): string;
  /** The form in an event of a watch, where it differs; then the view belongs to one watch. */
  event?(encoded: EncodedObject): string;
  list(kind: Kind, items: readonly EncodedObject[], metadata: ListMetadata): string;
  /** The object of a bookmark: the kind's type, with metadata only. */
  bookmark(kind: Kind, metadata: JsonObject): string;
  /** false: events cannot be shown in this form, so the first one ends the watch. */
  readonly watchable: boolean;
}

/** The metadata of a bookmark. A DaemonSet has an annotation with its template generation. */
export function bookmarkMetadata({ builtIn, plural }: Kind, metadata: JsonObject): JsonObject {
  if (!builtIn || plural !== 'daemonsets') return metadata;
  const never = { 'deprecated.daemonset.template.generation': '0' };
  return { ...metadata, annotations: { ...never, ...memberObject(metadata, 'annotations') } };
}

/**
 * Kinds whose bookmarks include `spec.replicas: 0`: the served type has a pointer there, but not
 * the internal type from which the real server makes bookmarks.
 */
const WITH_REPLICAS = ['Deployment', 'ReplicaSet', 'StatefulSet'];

export const wholeObjects: View = {
  object: (encoded) => encoded.json,
  list(kind, items, metadata) {
    if (!kind.builtIn) return customList(kind, items, metadata);
    // Items of a list omit kind and apiVersion for built-in kinds, but not for custom ones.
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
    const counted = kind.group === 'apps' && WITH_REPLICAS.includes(kind.kind);
    const spec = counted ? { spec: { replicas: 0, ...memberObject(empty, 'spec') } } : {};
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

/** Annotations that store fields which this version of a kind does not have. */
const CONVERSION_ANNOTATIONS =
  /^deprecated\.daemonset\.template\.generation$|^autoscaling\.alpha\.kubernetes\.io\//;

/** The metadata for PartialObjectMetadata: without the annotations that a conversion writes. */
export function partialMetadata({ kind, metadata }: JsonObject): JsonObject {
  const whole = isObject(metadata) ? metadata : {};
  if (kind !== 'DaemonSet' && kind !== 'HorizontalPodAutoscaler') return whole;
  const given = Object.entries(memberObject(whole, 'annotations'));
  const annotations = Object.fromEntries(
    given.filter(([name]) => !CONVERSION_ANNOTATIONS.test(name)),
  );
  const { annotations: _, ...rest } = whole;
  return Object.keys(annotations).length === 0 ? rest : { ...whole, annotations };
}

/**
 * @param version of meta.k8s.io: `v1` or `v1beta1`
 * @param watchable false for the form of a list: the real server begins such a watch and ends it at
 *   the first event, which is not a list
 */
function metadataAs(version: string, watchable: boolean): View {
  const apiVersion = `meta.k8s.io/${version}`;
  const object = (encoded: EncodedObject): string =>
    writeJson({
      kind: 'PartialObjectMetadata',
      apiVersion,
      metadata: partialMetadata(encoded.object),
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

/** The metadata-only views, by form and version of meta.k8s.io. */
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
  return (
    `{"kind":${JSON.stringify(kind)},"apiVersion":"${apiVersion}","metadata":${meta},` +
    `"items":${items.length === 0 ? none : `[${items.join(',')}]`}}`
  );
}

/** Members in alphabetical order, and `continue` even when it is empty. */
function customList(
  kind: Kind,
  items: readonly EncodedObject[],
  { version, token = '', remaining }: ListMetadata,
): string {
  const meta = JSON.stringify({
    continue: token,
    remainingItemCount: remaining,
    resourceVersion: String(version),
  });
  const body = items.map((item) => item.json).join(',');
  return (
    `{"apiVersion":"${apiVersionOf(kind)}","items":[${body}],` +
    `"kind":${JSON.stringify(kind.listKind)},"metadata":${meta}}`
  );
}

const converting = new WeakMap<Kind, Map<View, View>>();

/**
 * The view for a kind whose objects may be stored in another form than they are served in. There is
 * one for each kind and view, as a watch's frames are cached by view.
 */
export function viewOf(kind: Kind, view: View): View {
  if (!isConverted(kind)) return view;
  const views = converting.get(kind) ?? new Map<View, View>();
  converting.set(kind, views);
  let converted = views.get(view);
  if (converted === undefined) {
    converted = {
      object: (encoded) => view.object(servedForm(kind, encoded)),
      ...(view.event === undefined
        ? {}
        : { event: (encoded: EncodedObject) => view.event?.(servedForm(kind, encoded)) ?? '' }),
      list: (of, items, metadata) =>
        view.list(
          of,
          items.map((item) => servedForm(kind, item)),
          metadata,
        ),
      bookmark: view.bookmark,
      watchable: view.watchable,
    };
    views.set(view, converted);
  }
  return converted;
}
