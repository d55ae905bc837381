/**
 * How objects are shown to a client: whole, or their metadata alone (PartialObjectMetadata), singly and in lists, with
 * the members in the order in which the real server writes them: a reader that scans bytes meets what it will meet there.
 */
import type { JsonObject } from './json.ts';
import { apiVersionOf, type Kind } from './registry/kinds.ts';
import { metadataOf } from './registry/store.ts';

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
  list(kind: Kind, items: readonly Shown[], metadata: ListMetadata): string;
  /** The kind and apiVersion of what a bookmark carries. */
  bookmark(kind: Kind): { kind: string; apiVersion: string };
}

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
  bookmark: (kind) => ({ kind: kind.kind, apiVersion: apiVersionOf(kind) }),
};

const META = 'meta.k8s.io/v1';

export const metadataOnly: View = {
  object: ({ object }) =>
    JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: META, metadata: metadataOf(object) }),
  list: (_kind, items, metadata) => listOf('PartialObjectMetadataList', META, metadata, items.map(metadataOnly.object)),
  bookmark: () => ({ kind: 'PartialObjectMetadata', apiVersion: META }),
};

function listOf(kind: string, apiVersion: string, metadata: ListMetadata, items: readonly string[]): string {
  const { version, token, remaining } = metadata;
  const meta = JSON.stringify({ resourceVersion: String(version), continue: token, remainingItemCount: remaining });
  return `{"kind":${JSON.stringify(kind)},"apiVersion":"${apiVersion}","metadata":${meta},"items":[${items.join(',')}]}`;
}

/** Members in alphabetical order, and a token even where there is none. */
function customList(kind: Kind, items: readonly Shown[], { version, token = '', remaining }: ListMetadata): string {
  const meta = JSON.stringify({ continue: token, remainingItemCount: remaining, resourceVersion: String(version) });
  const body = items.map((item) => item.json).join(',');
  return `{"apiVersion":"${apiVersionOf(kind)}","items":[${body}],"kind":${JSON.stringify(kind.listKind)},"metadata":${meta}}`;
}
