/**
 * Objects as rows of a Table, which kubectl asks for to print them. apiserver:
 * endpoints/handlers/response.go asTable.
 */

import {
  bookmarkMetadata,
  type EncodedObject,
  type ListMetadata,
  partialMetadata,
  type View,
} from '../answers/views.ts';
import type { JsonObject } from '../json.ts';
import { apiVersionOf, type Kind } from '../registry/kinds.ts';
import { metadataOf } from '../registry/store.ts';
import { zeroObject } from '../registry/types.ts';
import { badRequest } from '../status.ts';
import { printerOf } from './columns.ts';

/** The part of the object that a row includes. */
const INCLUDED = ['', 'None', 'Metadata', 'Object'];

/**
 * @param included the query parameter includeObject; throws 400 for an unknown value
 * @param now milliseconds since 1970
 */
export function tableView(kind: Kind, version: string, included: string, now: () => number): View {
  if (!INCLUDED.includes(included))
    throw badRequest(`unrecognized includeObject value: ${JSON.stringify(included)}`);
  const apiVersion = `meta.k8s.io/${version}`;
  const { columns, cells } = printerOf(kind);
  const row = ({ object }: EncodedObject): object => ({
    cells: cells(object, now()),
    object: includedOf(object),
  });
  const includedOf = (object: JsonObject): object | null => {
    if (included === 'None') return null;
    return included === 'Object' ? object : partial(object);
  };
  const partial = (object: JsonObject): object => ({
    kind: 'PartialObjectMetadata',
    apiVersion,
    metadata: partialMetadata(object),
  });
  const table = (metadata: object, rows: readonly object[], withColumns = true): string =>
    JSON.stringify({
      kind: 'Table',
      apiVersion,
      metadata,
      columnDefinitions: withColumns ? columns : null,
      rows,
    });
  let began = false;
  const one = (encoded: EncodedObject): string => {
    const { resourceVersion } = metadataOf(encoded.object);
    return table({ resourceVersion }, [row(encoded)]);
  };
  return {
    object: one,
    // Only the first event of a stream has the columns.
    event(encoded) {
      const { resourceVersion } = metadataOf(encoded.object);
      const text = table({ resourceVersion }, [row(encoded)], !began);
      began = true;
      return text;
    },
    list: (_kind, items, { version, token, remaining }: ListMetadata) =>
      table(
        { resourceVersion: String(version), continue: token, remainingItemCount: remaining },
        items.map(row),
      ),
    // The row of an empty object.
    bookmark: (of, metadata) => {
      const { resourceVersion } = metadata;
      const head = { kind: of.kind, apiVersion: apiVersionOf(of) };
      const object = { ...head, ...(of.builtIn ? zeroObject(of) : {}), metadata };
      const whole =
        included === 'Object'
          ? { ...object, metadata: bookmarkMetadata(of, metadata) }
          : partial(object);
      const row = { cells: cells(object, now()), object: whole };
      return table({ resourceVersion }, [row], !began);
    },
    watchable: true,
  };
}
