/** The description of a sample: its kind and object. */
import type { JsonObject } from '../same-answers/api.ts';

export interface SampleKind {
  apiVersion: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  /** Everything but apiVersion, kind and the name. */
  sample: JsonObject;
  /** The kind has a status subresource, whose sample this is. */
  status?: JsonObject;
  scale?: true;
  /** A controller in the real server changes its objects, so cases use dry runs only. */
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
