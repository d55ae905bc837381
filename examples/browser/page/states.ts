/** The state of a Pod or node in one word, from phase, readiness and deletion. */
import type { NodeObject, PodObject } from '../resources.ts';

/** In the order of the legend. */
export const STATES = [
  'running',
  'starting',
  'waiting',
  'failing',
  'failed',
  'unknown',
  'done',
  'leaving',
] as const;
export type State = (typeof STATES)[number];

export function stateOf({ metadata, spec, status }: PodObject): State {
  if (metadata.deletionTimestamp !== undefined) return 'leaving';
  if (status?.phase === 'Succeeded') return 'done';
  if (status?.phase === 'Failed') return 'failed';
  if (status?.phase === 'Unknown') return 'unknown'; // its node does not report
  const containers = status?.containerStatuses ?? [];
  if (
    containers.some(
      ({ ready, state }) => ready === false && /BackOff|Err/.test(state?.waiting?.reason ?? ''),
    )
  )
    return 'failing';
  if (status?.phase === 'Running')
    return containers.some(({ ready }) => ready === false) ? 'starting' : 'running';
  return spec?.nodeName === undefined ? 'waiting' : 'starting';
}

/** The reason or phase in the Pod's status. */
export function reasonOf({ status }: PodObject): string {
  const waiting = status?.containerStatuses?.find(({ state }) => state?.waiting?.reason)?.state
    ?.waiting?.reason;
  return waiting ?? status?.reason ?? status?.phase ?? 'Pending';
}

export function isReady({ status }: NodeObject): boolean {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}
