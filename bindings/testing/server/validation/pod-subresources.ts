/**
 * What a write to `/ephemeralcontainers` or `/resize` of a Pod may change. kubernetes:
 * pkg/apis/core/validation/validation.go ValidatePodEphemeralContainersUpdate, ValidatePodResize.
 */
import { isObject, type JsonObject, memberObject, sameJson } from '../json.ts';
import { qosClass } from '../registry/admission.ts';
import type { Place } from './place.ts';
import { podSpec } from './pod-spec.ts';

/** Ephemeral containers can be added, but not changed or removed. */
export function ephemeralContainersChange(pod: Place): void {
  const spec = pod.at('spec');
  podSpec(spec, pod.in('metadata.name').text);
  const at = spec.at('ephemeralContainers');
  for (const old of at.before.items) {
    const name = old.at('name').text;
    const now = at.items.find((item) => item.at('name').text === name);
    if (now !== undefined && sameJson(now.value, old.value)) continue;
    const done = now === undefined ? 'removed' : 'changed';
    at.forbidden(`existing ephemeral containers ${JSON.stringify(name)} may not be ${done}\n`);
  }
}

/** CPU and memory of containers can change, but not the QoS class of the Pod. */
export function podResize(pod: Place): void {
  const spec = pod.at('spec');
  podSpec(spec, pod.in('metadata.name').text);
  const was = spec.before;
  if (qosClass(spec.members) !== qosClass(was.members))
    spec.invalid(
      'Pod QOS Class may not change as a result of resizing',
      pod.in('status.qosClass').text,
    );
  const running = pod
    .in('status.containerStatuses')
    .items.find((each) => each.in('state.running').isSet);
  if (running !== undefined && !running.at('resources').isSet)
    spec.forbidden('Pod running on node without support for resize');
  for (const list of ['containers', 'initContainers']) {
    const containers = spec.at(list);
    if (containers.items.length !== was.at(list).items.length) {
      containers.forbidden(`${list} may not be added or removed on resize`);
      return;
    }
    for (const container of containers.items) {
      const name = container.at('name');
      if (name.isChanged) {
        name.forbidden('containers may not be renamed or reordered on resize');
        return;
      }
      const resources = container.at('resources');
      for (const member of ['requests', 'limits']) {
        const amounts = resources.at(member);
        const gone = Object.keys(amounts.before.members).some(
          (resource) => !Object.hasOwn(amounts.members, resource),
        );
        if (gone) amounts.forbidden(`resource ${member} cannot be removed`);
      }
    }
  }
  if (!sameJson(unresizable(spec.members), unresizable(was.members)))
    spec.forbidden('only cpu and memory resources are mutable');
}

/** The spec without what a resize may change. */
function unresizable(spec: JsonObject): JsonObject {
  const of = (member: string): JsonObject[] => {
    const list = spec[member];
    return (Array.isArray(list) ? list.filter(isObject) : []).map((container) => {
      const resources = memberObject(container, 'resources');
      const rest = (name: string): JsonObject => {
        const { cpu: _, memory: __, ...others } = memberObject(resources, name);
        return others;
      };
      return {
        ...container,
        resources: { ...resources, requests: rest('requests'), limits: rest('limits') },
      };
    });
  };
  return { ...spec, containers: of('containers'), initContainers: of('initContainers') };
}
