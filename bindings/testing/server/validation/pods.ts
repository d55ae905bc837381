/**
 * Pods: at create, what an update may change, and their status. kubernetes:
 * pkg/apis/core/validation/validation.go ValidatePodCreate, ValidatePodUpdate,
 * ValidatePodStatusUpdate.
 */

import { isObject, type Json, type JsonObject, sameJson } from '../json.ts';
import { qualifiedName, subdomain } from '../registry/names.ts';
import { trimmedImage } from './containers.ts';
import { address, isIPv6Family } from './formats.ts';
import type { Place } from './place.ts';
import { podAnnotationChange, podAnnotations, podSpec } from './pod-spec.ts';
import { onlyAddedTolerations } from './scheduling.ts';

export function pod(object: Place): void {
  const spec = object.at('spec');
  const annotations = object.in('metadata.annotations');
  podAnnotations(annotations, spec);
  podSpec(spec, object.in('metadata.name').text);
  if (spec.at('serviceAccountName').isEmpty)
    for (const volume of spec.at('volumes').items)
      for (const source of volume.in('projected.sources').items)
        if (source.at('serviceAccountToken').isSet)
          source
            .at('serviceAccountToken')
            .forbidden('must not be specified when serviceAccountName is not set');
  for (const list of ['containers', 'initContainers']) spec.at(list).items.forEach(trimmedImage);
  if (object.isUpdate) {
    podAnnotationChange(annotations);
    podAnnotations(annotations, spec);
    podChange(spec);
    return;
  }
  if (!spec.at('ephemeralContainers').isEmpty)
    spec.at('ephemeralContainers').forbidden('cannot be set on create');
  if (!spec.at('nodeName').isEmpty && !spec.at('schedulingGates').isEmpty)
    spec.at('nodeName').forbidden('cannot be set until all schedulingGates have been cleared');
}

function podChange(spec: Place): void {
  for (const list of [spec.at('containers'), spec.at('initContainers')]) {
    if (list.items.length !== list.before.items.length) {
      list.forbidden('pod updates may not add or remove containers');
      return;
    }
    for (const container of list.items) {
      container.at('image').need();
      trimmedImage(container);
    }
  }
  const deadline = spec.at('activeDeadlineSeconds');
  if (deadline.isSet) {
    const before = deadline.errorCount;
    deadline.between(0, 2 ** 31 - 1);
    if (
      deadline.errorCount === before &&
      deadline.was !== undefined &&
      deadline.number > Number(deadline.was)
    )
      deadline.invalid('must be less than or equal to previous value');
    if (deadline.errorCount > before) return;
  } else if (deadline.was !== undefined)
    deadline.invalid('must not update from a positive integer to nil value');
  onlyAddedTolerations(spec.at('tolerations'));
  const gates = new Set(
    spec.at('schedulingGates').before.items.map((gate) => gate.at('name').text),
  );
  for (const gate of spec.at('schedulingGates').items)
    if (!gates.has(gate.at('name').text))
      gate.at('name').forbidden('only deletion is allowed, but found new scheduling gate');
  if (
    !sameJson(
      unchangeable(spec.members, spec.before),
      unchangeable(spec.before.members, spec.before),
    )
  )
    spec.forbidden(`pod updates may not change fields other than ${CHANGEABLE}`);
}

const CHANGEABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join();

/** The spec without the members that an update may change. */
function unchangeable(spec: JsonObject, before: Place): JsonObject {
  const withoutImages = (list: Json | undefined): Json | undefined =>
    Array.isArray(list)
      ? list.map((item) => (isObject(item) ? { ...item, image: '' } : item))
      : list;
  const grace = Number(before.at('terminationGracePeriodSeconds').value);
  const made: Record<string, Json | undefined> = {
    ...spec,
    containers: withoutImages(spec.containers),
    initContainers: withoutImages(spec.initContainers),
    activeDeadlineSeconds: undefined,
    schedulingGates: undefined,
    tolerations: undefined,
  };
  if (grace < 0 && spec.terminationGracePeriodSeconds === 1)
    made.terminationGracePeriodSeconds = grace;
  return made as JsonObject;
}

const SYSTEM_CONDITIONS = ['PodScheduled', 'Ready', 'Initialized'];

export function podStatus(object: Place): void {
  const [spec, status] = [object.at('spec'), object.at('status')];
  const annotations = object.in('metadata.annotations');
  podAnnotationChange(annotations);
  podAnnotations(annotations, spec);
  for (const item of status.at('conditions').items) {
    item.at('observedGeneration').atLeast(0);
    if (!SYSTEM_CONDITIONS.includes(item.at('type').text))
      item.at('type').as(item.at('Type').path).matches(qualifiedName);
  }
  const nominated = status.at('nominatedNodeName');
  if (nominated.isChanged && !nominated.isEmpty) {
    nominated.matches(subdomain);
    if (!spec.at('nodeName').isEmpty)
      nominated.forbidden('may not be set on pods that are already bound to a node');
  }
  status.at('observedGeneration').atLeast(0);
  status.at('qosClass').immutable();
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])
    transitions(status.at(list), spec);
  podIps(status.at('podIPs'));
  const [hosts, host] = [status.at('hostIPs'), status.at('hostIP')];
  const first = hosts.items[0]?.at('ip');
  if (first !== undefined && first.text !== host.text) first.invalid('must be equal to `hostIP`');
  podIps(hosts);
}

/** A container that has ended and is not restarted must stay terminated. */
function transitions(at: Place, spec: Place): void {
  const policies = new Map(
    [...spec.at('containers').items, ...spec.at('initContainers').items].map((container) => [
      container.at('name').text,
      container.at('restartPolicy').text || spec.at('restartPolicy').text,
    ]),
  );
  for (const old of at.before.items) {
    const name = old.at('name').text;
    const ended = old.in('state.terminated');
    const now = at.items.find((item) => item.at('name').text === name);
    if (!ended.isSet || now === undefined || now.in('state.terminated').isSet) continue;
    const policy = policies.get(name);
    const starts =
      policy === 'Always' || (policy === 'OnFailure' && ended.at('exitCode').number !== 0);
    if (!starts || at.path.includes('ephemeral'))
      old.at('state').forbidden('may not be transitioned to non-terminated state');
  }
}

function podIps(at: Place): void {
  const had = at.before.items.map((item) => item.at('ip').text);
  for (const item of at.items)
    if (!had.includes(item.at('ip').text)) item.matches(address, item.at('ip').text);
  const families = at.items.map((item) => isIPv6Family(item.at('ip').text));
  if (families.length > 2 || (families.length === 2 && families[0] === families[1]))
    at.invalid('may specify no more than one IP for each IP family');
}
