/** What a sample of a kind says of it beside the object, and how such samples are written. */
import type { JsonObject } from '../same-answers/api.ts';

export interface SampleKind {
  apiVersion: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  /** Everything but apiVersion, kind and the name. */
  sample: JsonObject;
  /** The kind has a status subresource. */
  status?: JsonObject;
  scale?: true;
  /**
   * A controller in the real server changes its objects: they are asked about by dry runs alone.
   */
  controlled?: true;
}

export const meta = (
  apiVersion: string,
  kind: string,
  plural: string,
  sample: JsonObject,
): SampleKind => ({
  apiVersion,
  kind,
  plural,
  namespaced: true,
  sample,
});
export const cluster = (
  apiVersion: string,
  kind: string,
  plural: string,
  sample: JsonObject,
): SampleKind => ({ ...meta(apiVersion, kind, plural, sample), namespaced: false });
