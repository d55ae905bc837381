/** The rules of storage.k8s.io. kubernetes: pkg/apis/storage/validation/validation.go. */
import { isObject, type JsonObject, sameJson, without } from '../json.ts';
import { qualifiedName, subdomain } from '../registry/names.ts';
import { notNegative } from './claims.ts';
import { labelSelector } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { driverName, wasValid } from './shared.ts';

const GROUP = 'storage.k8s.io';
const MOST_PARAMETERS = 512;
/** In bytes, keys and values. */
const MOST_MAP = 256 * 1024;

function storageClass(object: Place): void {
  const mode = object.at('volumeBindingMode');
  provisioner(object.at('provisioner'));
  parameters(object.at('parameters'));
  const policy = object.at('reclaimPolicy');
  if (!policy.isEmpty) policy.among(['Delete', 'Retain']);
  if (!mode.isSet) mode.required();
  else mode.among(['Immediate', 'WaitForFirstConsumer']);
  topologies(object.at('allowedTopologies'));
  for (const name of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'])
    object.at(name).immutable();
}

function provisioner(at: Place): void {
  if (at.need()) at.matches(qualifiedName, at.text.toLowerCase());
}

const sizeOf = (at: Place): number =>
  at.entries.reduce(
    (size, [key, value]) => size + Buffer.byteLength(key) + Buffer.byteLength(value.text),
    0,
  );

function parameters(at: Place): void {
  if (at.entries.length > MOST_PARAMETERS) {
    at.tooLong(MOST_PARAMETERS);
    return;
  }
  if (Object.hasOwn(at.members, '')) at.invalid('field can not be empty.');
  if (sizeOf(at) > MOST_MAP) at.tooLong(MOST_MAP);
}

function topologies(list: Place): void {
  const terms: string[] = [];
  for (const term of list.items) {
    const expressions = term.at('matchLabelExpressions');
    const keys = new Map<string, string[]>();
    for (const item of expressions.items) {
      const [key, values] = [item.at('key'), item.at('values')];
      values.need();
      values.distinct();
      key.matches(qualifiedName);
      if (keys.has(key.text)) key.duplicate();
      keys.set(key.text, [...new Set(values.items.map(({ text }) => text))].sort());
    }
    const same = JSON.stringify([...keys].sort());
    for (const other of terms) if (other === same) expressions.duplicate();
    // For an empty term the real server reports a duplicate once per term of the list.
    if (keys.size === 0) for (const _ of list.items) expressions.duplicate();
    terms.push(same);
  }
}

function volumeAttachment(object: Place): void {
  const spec = object.at('spec');
  driverName(spec.at('attacher'));
  const source = spec.at('source');
  const [inline, name] = [source.at('inlineVolumeSpec'), source.at('persistentVolumeName')];
  const why = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  if (!inline.isSet && !name.isSet) source.required(why);
  else if (inline.isSet && name.isSet) source.forbidden(why);
  else if (name.isSet) name.need('must specify non empty persistentVolumeName');
  spec.at('nodeName').matches(subdomain);
  const status = object.at('status');
  const metadata = status.at('attachmentMetadata');
  if (sizeOf(metadata) > MOST_MAP) metadata.tooLong(MOST_MAP);
  for (const member of ['attachError', 'detachError']) {
    const error = status.at(member);
    if (error.at('message').text.length > 1024) error.at('message').tooLong(MOST_MAP);
    error.at('errorCode').atLeast(0);
  }
  if (name.isSet) name.matches(subdomain);
  spec.immutable();
}

const MOST_NODE_ID = 256;

function csiNode(object: Place): void {
  const drivers = object.in('spec.drivers');
  const names = new Set<string>();
  for (const driver of drivers.items) {
    const [name, id] = [driver.at('name'), driver.at('nodeID')];
    driverName(name);
    id.need();
    if (id.text.length > MOST_NODE_ID) id.invalid(`must be ${MOST_NODE_ID} characters or less`);
    driver.in('allocatable.count').atLeast(0);
    if (names.has(name.text)) name.duplicate();
    names.add(name.text);
    const keys = new Set<string>();
    for (const { text } of driver.at('topologyKeys').items) {
      if (text === '') driver.required();
      if (keys.has(text)) driver.duplicate();
      keys.add(text);
      driver.matches(qualifiedName, text);
    }
  }
  const before = Array.isArray(drivers.was) ? drivers.was.filter(isObject) : [];
  const fixed = (driver: JsonObject): JsonObject => without(driver, 'allocatable');
  for (const old of before)
    for (const { members } of drivers.items)
      if (members.name === old.name && !sameJson(fixed(members), fixed(old)))
        drivers.invalid('field is immutable');
}

const LEAST_TOKEN = 600;

function csiDriver(object: Place): void {
  const spec = object.at('spec');
  // The real server reports this member under a wrong name.
  const attach = spec.at('attachRequired').as('spec.attachedRequired');
  if (!attach.isSet) attach.required();
  for (const name of ['podInfoOnMount', 'storageCapacity'])
    if (!spec.at(name).isSet) spec.at(name).required();
  const policy = spec.at('fsGroupPolicy');
  if (policy.isSet) policy.among(['File', 'None', 'ReadWriteOnceWithFSType']);
  const audiences = new Set<string>();
  for (const item of spec.at('tokenRequests').items) {
    const [audience, seconds] = [item.at('audience'), item.at('expirationSeconds')];
    if (audiences.has(audience.text)) {
      audience.duplicate();
      continue;
    }
    audiences.add(audience.text);
    seconds.between(LEAST_TOKEN, 2 ** 32);
  }
  const modes = spec.at('volumeLifecycleModes');
  for (const mode of modes.items) mode.as(modes.path).among(['Persistent', 'Ephemeral']);
  if (!spec.at('seLinuxMount').isSet) spec.at('seLinuxMount').required();
  spec.at('nodeAllocatableUpdatePeriodSeconds').atLeast(10);
  const inSecrets = spec.at('serviceAccountTokenInSecrets');
  if (inSecrets.isSet && spec.at('tokenRequests').isEmpty)
    inSecrets.invalid('serviceAccountTokenInSecrets is set but no tokenRequests are specified');
  attach.immutable();
  modes.immutable();
}

function storageCapacity(object: Place): void {
  const [topology, name] = [object.at('nodeTopology'), object.at('storageClassName')];
  labelSelector(topology, !wasValid(topology, labelSelector));
  name.matches(subdomain);
  if (object.at('capacity').isSet) notNegative(object.at('capacity'));
  topology.immutable();
  name.immutable();
}

function attributesClass(object: Place): void {
  for (const name of ['driverName', 'parameters'])
    if (object.at(name).isChanged) object.at(name).forbidden(`updates to ${name} are forbidden.`);
  provisioner(object.at('driverName'));
  parameters(object.at('parameters'));
  object.at('parameters').need('must contain at least one key/value pair');
}

export const storage: RuleTable = {
  [`${GROUP}/storageclasses`]: { object: storageClass },
  [`${GROUP}/volumeattachments`]: { object: volumeAttachment, status: volumeAttachment },
  [`${GROUP}/csinodes`]: { object: csiNode },
  [`${GROUP}/csidrivers`]: { object: csiDriver },
  [`${GROUP}/csistoragecapacities`]: { object: storageCapacity },
  [`${GROUP}/volumeattributesclasses`]: { object: attributesClass },
};
