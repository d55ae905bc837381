/**
 * The objects of the protocol in the API server: the Leases of replicas, with their state in an
 * annotation; the Lease of the coordinator; and the ConfigMap of the map.
 */
import { isJsonObject } from '../base/json-value.ts';
import type { Resource } from '../base/resource.ts';
import type { LeaseSpec } from '../leaderelection/lock.ts';
import type { LeaseView, MapView, MemberState } from './cluster-view.ts';
import type { LeaseContent } from './machine.ts';
import { dataOfMap, mapOfData, type ShardMap } from './shard-map.ts';
import { slotsOfText, slotsText } from './slots.ts';

/** The label of the replicas' Leases. Its value is the `id` of the shards. */
export const GROUP_LABEL = 'capstan.dev/shards';
/** The annotation with the state of a replica, on its Lease. */
export const STATE_ANNOTATION = 'capstan.dev/shard-state';

/** The parts of a Lease or a ConfigMap that are used here. */
export interface ShardObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec?: LeaseSpec;
  data?: Record<string, string>;
}

export const SHARD_LEASES: Resource<ShardObject> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  indexers: {},
};

export const SHARD_MAPS: Resource<ShardObject> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  indexers: {},
};

/** The resourceVersion as a number; 0 if it is not a number. */
export const versionNumber = (text: string | undefined): number => Number(text) || 0;

export function leaseViewOf(object: ShardObject): LeaseView {
  const { metadata, spec } = object;
  const { name, uid = '', resourceVersion, annotations } = metadata;
  return {
    name,
    uid,
    version: versionNumber(resourceVersion),
    holder: spec?.holderIdentity ?? '',
    duration: (spec?.leaseDurationSeconds ?? 0) * 1000,
    state: stateOfText(annotations?.[STATE_ANNOTATION]),
    raw: object,
  };
}

export function mapViewOf(object: ShardObject): MapView {
  const { uid = '', resourceVersion } = object.metadata;
  const map = mapOfData(object.data);
  return { uid, version: versionNumber(resourceVersion), map, raw: object };
}

/** The namespace and name of a Lease, and the value of its label. */
export interface LeasePlace {
  readonly namespace: string;
  readonly name: string;
  /** The `id` of the shards. */
  readonly group: string;
}

/**
 * The Lease to write: the base with new content.
 *
 * @param time the `renewTime`; each write needs another one
 */
export function leaseToWrite(
  base: LeaseView | undefined,
  { holder, duration, state }: LeaseContent,
  { namespace, name, group }: LeasePlace,
  time: string,
): ShardObject {
  const old = base?.raw as ShardObject | undefined;
  const isNewHolder = holder !== '' && old?.spec?.holderIdentity !== holder;
  const metadata = old?.metadata ?? { namespace, name };
  return {
    ...(old ?? { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }),
    metadata: {
      ...metadata,
      ...(state !== undefined && {
        labels: { ...metadata.labels, [GROUP_LABEL]: group },
        annotations: { ...metadata.annotations, [STATE_ANNOTATION]: textOfState(state) },
      }),
    },
    spec: {
      ...old?.spec,
      holderIdentity: holder,
      leaseDurationSeconds: Math.floor(duration / 1000),
      renewTime: time,
      ...(isNewHolder && {
        acquireTime: time,
        leaseTransitions: old === undefined ? 0 : (old.spec?.leaseTransitions ?? 0) + 1,
      }),
    },
  };
}

/** The ConfigMap to write: the base with a new map. */
export function mapToWrite(
  base: MapView | undefined,
  map: ShardMap,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): ShardObject {
  const old = base?.raw as ShardObject | undefined;
  const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } };
  return { ...(old ?? made), data: { ...old?.data, ...dataOfMap(map) } };
}

function textOfState({ epoch, warm, holding, leaving, weights }: MemberState): string {
  const parts = { epoch, warm: slotsText(warm), holding: slotsText(holding), leaving, weights };
  return JSON.stringify(parts);
}

/** `undefined` for a text that no replica has written. */
function stateOfText(text: string | undefined): MemberState | undefined {
  if (text === undefined) return undefined;
  let state: unknown;
  try {
    state = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(state)) return undefined;
  const { epoch, warm, holding, leaving, weights } = state;
  const warmSlots = typeof warm === 'string' ? slotsOfText(warm) : undefined;
  const heldSlots = typeof holding === 'string' ? slotsOfText(holding) : undefined;
  if (typeof epoch !== 'number' || typeof leaving !== 'boolean' || !Array.isArray(weights))
    return undefined;
  if (warmSlots === undefined || heldSlots === undefined) return undefined;
  return { epoch, warm: warmSlots, holding: heldSlots, leaving, weights: weights.map(Number) };
}
