/**
 * PersistentVolumeClaims and templates of them. kubernetes: pkg/apis/core/validation/validation.go
 * ValidatePersistentVolumeClaim and what it calls.
 */
import { type Json, sameJson } from '../json.ts';
import { dnsLabel, qualifiedName, subdomain } from '../registry/names.ts';
import { amount, annotationKeys, labelSelector, labels } from './formats.ts';
import type { Place } from './place.ts';
import { isNative } from './resources.ts';

export const VOLUME_MODES = ['Block', 'Filesystem'];
const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

export function accessModes(at: Place): void {
  const modes = at.items.map(({ text }) => text);
  for (const item of at.items) item.as(at.path).among(ACCESS_MODES);
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode));
  if (modes.includes('ReadWriteOncePod') && others.length > 0)
    at.forbidden('may not use ReadWriteOncePod with other access modes');
}

export function claimSpec(spec: Place): void {
  const modes = spec.at('accessModes');
  if (modes.isEmpty) modes.required('at least 1 access mode is required');
  labelSelector(spec.at('selector'));
  accessModes(modes);
  const storage = spec.in('resources.requests.storage').as(`${spec.at('resources').path}[storage]`);
  if (!storage.isSet) storage.required();
  else if (amount(storage) <= 0n) storage.invalid('must be greater than zero');
  const name = spec.at('storageClassName');
  if (!name.isEmpty) name.matches(subdomain);
  if (spec.at('volumeMode').isSet) spec.at('volumeMode').among(VOLUME_MODES);
  const [source, ref] = [spec.at('dataSource'), spec.at('dataSourceRef')];
  for (const at of [source, ref]) if (at.isSet) dataSource(at);
  const namespace = ref.at('namespace');
  if (!namespace.isEmpty) {
    namespace.matches(dnsLabel);
    if (source.isSet)
      spec.invalid('may not be specified when dataSourceRef.namespace is specified');
  } else if (source.isSet && ref.isSet) {
    const same = ['apiGroup', 'kind', 'name'].every((member) =>
      sameJson(source.at(member).value, ref.at(member).value),
    );
    if (!same) spec.invalid('must match dataSourceRef');
  }
  const attributes = spec.at('volumeAttributesClassName');
  if (!attributes.isEmpty) attributes.matches(subdomain);
}

function dataSource(at: Place): void {
  at.at('name').need();
  at.at('kind').need();
  const group = at.at('apiGroup');
  if (!group.isEmpty) group.matches(subdomain);
  else if (at.at('kind').text !== 'PersistentVolumeClaim')
    at.invalid("must be 'PersistentVolumeClaim' when referencing the default apiGroup");
}

/** A template of a claim: of its metadata only labels and annotations count. */
export function claimTemplate(template: Place): void {
  const metadata = template.at('metadata');
  annotationKeys(metadata.at('annotations'));
  labels(metadata.at('labels'));
  for (const [member, at] of metadata.entries)
    if (member !== 'annotations' && member !== 'labels' && !at.isEmpty)
      at.forbidden('cannot be set');
  claimSpec(template.at('spec'));
}

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

export function claim(object: Place): void {
  const spec = object.at('spec');
  claimSpec(spec);
  if (object.isUpdate) claimChange(object, spec);
}

function claimChange(object: Place, spec: Place): void {
  const [was, now] = [{ ...spec.before.members }, { ...spec.members }] as Record<string, Json>[];
  if (was === undefined || now === undefined) return;
  const take = (member: string): void => {
    was[member] = now[member] as Json;
  };
  // volumeName and storageClassName can be set once.
  if (!was.volumeName) take('volumeName');
  const annotation = object.in('metadata.annotations').key(CLASS_ANNOTATION);
  const chosen = was.storageClassName === undefined ? now.storageClassName : undefined;
  const isUpgrade =
    annotation.was !== undefined &&
    annotation.was === chosen &&
    (annotation.value ?? chosen) === chosen;
  if (!isUpgrade) annotation.immutable();
  if (chosen !== undefined && (annotation.was ?? chosen) === chosen) take('storageClassName');
  const size = spec.in('resources.requests.storage');
  if (object.in('status.phase').text === 'Bound') {
    take('volumeAttributesClassName');
    const resources = spec.at('resources');
    const requests = { ...resources.at('requests').members, storage: size.was };
    if (resources.at('requests').isSet) now.resources = { ...resources.members, requests } as Json;
  }
  if (!sameJson(was, now))
    spec.forbidden('spec is immutable after creation except resources.requests for bound claims');
  const isSmaller = amount(size) < amount(size.before);
  if (isSmaller && amount(size) <= amount(object.in('status.capacity.storage')))
    size.forbidden('field can not be less than status.capacity');
  spec.at('volumeMode').as('volumeMode').immutable();
}

export function claimStatus(object: Place): void {
  for (const [, at] of object.in('status.capacity').entries) notNegative(at);
  const states = object.in('status.allocatedResourceStatuses');
  for (const [key, state] of states.entries) {
    claimResource(states, key);
    if (!RESIZES.includes(state.text)) states.notSupported(RESIZES);
  }
  const allocated = object.in('status.allocatedResources');
  for (const [key, at] of allocated.entries) if (claimResource(allocated, key)) notNegative(at);
}

const RESIZES = ['InProgress', 'Infeasible'].flatMap((state) => [
  `ControllerResize${state}`,
  `NodeResize${state}`,
]);
RESIZES.push('NodeResizePending');

function claimResource(at: Place, key: string): boolean {
  const before = at.errorCount;
  at.matches(qualifiedName, key);
  if (at.errorCount === before && isNative(key) && key !== 'storage') at.notSupported(['storage']);
  return at.errorCount === before;
}

export function notNegative(at: Place): void {
  if (amount(at) < 0n) at.invalid('must be a valid resource quantity');
}
