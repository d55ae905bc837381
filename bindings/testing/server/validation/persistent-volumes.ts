/**
 * PersistentVolumes. kubernetes: pkg/apis/core/validation/validation.go ValidatePersistentVolume
 * and what it calls.
 */
import { isObject, type Json, sameJson, without } from '../json.ts';
import { subdomain } from '../registry/names.ts';
import { accessModes, notNegative, VOLUME_MODES } from './claims.ts';
import { amount } from './formats.ts';
import type { Place } from './place.ts';
import { nodeSelector } from './scheduling.ts';
import { PERSISTENT_SOURCE_NAMES, persistentSource } from './volumes.ts';

export function persistentVolume(object: Place): void {
  const spec = object.at('spec');
  volumeSpec(spec);
  if (!object.isUpdate) return;
  // An update checks the rules of a create twice.
  volumeSpec(spec);
  volumeChange(spec);
}

function volumeSpec(spec: Place): void {
  const modes = spec.at('accessModes');
  modes.need();
  accessModes(modes);
  const capacity = spec.at('capacity');
  capacity.need();
  const keys = Object.keys(capacity.members);
  if (keys.length !== 1 || keys[0] !== 'storage') capacity.notSupported(['storage']);
  for (const [, at] of capacity.entries) {
    notNegative(at);
    if (amount(at) <= 0n) at.invalid('must be greater than zero');
  }
  const policy = spec.at('persistentVolumeReclaimPolicy');
  if (!policy.isEmpty) policy.among(['Delete', 'Recycle', 'Retain']);
  const required = spec.in('nodeAffinity.required');
  if (required.isSet) nodeSelector(required);
  else if (spec.at('nodeAffinity').isSet)
    required.required('must specify required node constraints');
  persistentSource(spec);
  if (spec.at('local').isSet && !spec.at('nodeAffinity').isSet)
    spec.at('nodeAffinity').required('Local volume requires node affinity');
  const path = spec.in('hostPath.path').text;
  if (/^[/.]+$/.test(path) && path.startsWith('/') && policy.text === 'Recycle')
    policy.forbidden("may not be 'recycle' for a hostPath mount of '/'");
  if (!spec.at('storageClassName').isEmpty) spec.at('storageClassName').matches(subdomain);
  if (spec.at('volumeMode').isSet) spec.at('volumeMode').among(VOLUME_MODES);
  const attributes = spec.at('volumeAttributesClassName');
  if (attributes.isSet) {
    if (attributes.isEmpty) attributes.required('an empty string is disallowed');
    else attributes.matches(subdomain);
    if (!spec.at('csi').isSet)
      spec.at('csi').required('has to be specified when using volumeAttributesClassName');
  }
}

function volumeChange(spec: Place): void {
  const attributes = spec.at('volumeAttributesClassName');
  if (PERSISTENT_SOURCE_NAMES.some((name) => sourceChanged(spec.at(name))))
    spec.at('persistentvolumesource').forbidden('is immutable after creation');
  spec.at('volumeMode').as('volumeMode').immutable();
  const affinity = spec.at('nodeAffinity');
  if (affinity.was !== undefined && !isSameAffinity(affinity.value, affinity.was))
    affinity.as('nodeAffinity').immutable();
  if (attributes.was !== undefined && !attributes.isSet)
    attributes.forbidden('update from non-nil value to nil is forbidden');
}

/** betaToGALabel */
const STABLE_LABELS: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
};

/**
 * Whether an affinity is unchanged, except for beta labels that became stable ones. As in
 * getMaskNodeSelectorLabelChangeEqualities, any other key may become empty, which another rule
 * rejects.
 */
function isSameAffinity(now: Json | undefined, was: Json | undefined): boolean {
  if (Array.isArray(now) && Array.isArray(was))
    return now.length === was.length && now.every((item, i) => isSameAffinity(item, was[i]));
  if (!isObject(now) || !isObject(was)) return sameJson(now, was);
  const names = [...new Set([...Object.keys(now), ...Object.keys(was)])];
  return names.every(
    (name) =>
      isSameAffinity(now[name], was[name]) ||
      (name === 'key' && (STABLE_LABELS[String(was.key)] ?? '') === (now.key ?? '')),
  );
}

/** A CSI volume may get the Secret for its expansion. */
function sourceChanged(source: Place): boolean {
  const ref = source.at('controllerExpandSecretRef');
  const isAdded = source.was !== undefined && ref.was === undefined && ref.isSet;
  const now = isAdded ? without(source.members, 'controllerExpandSecretRef') : source.value;
  return !sameJson(now, source.was);
}
