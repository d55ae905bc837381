/**
 * The volume sources of Pods and PersistentVolumes. kubernetes:
 * pkg/apis/core/validation/validation.go ValidateVolumes and what it calls.
 */
import { dnsLabel, qualifiedName, subdomain } from '../registry/names.ts';
import { claimTemplate } from './claims.ts';
import { amount, labelSelector } from './formats.ts';
import { type Choice, oneOf, type Place, type Rule } from './place.ts';

/** Requires each of the members. */
const needs =
  (...members: string[]): Rule =>
  (at) => {
    for (const member of members) at.at(member).need();
  };

/** Requires these members of a reference, if it is set. */
const refNeeds = (ref: string, ...members: string[]): Rule => {
  const check = needs(...members);
  return (at) => {
    if (at.at(ref).isSet) check(at.at(ref));
  };
};

const both =
  (...rules: Rule[]): Rule =>
  (at) => {
    for (const rule of rules) rule(at);
  };

export function noBacksteps(at: Place): void {
  if (at.text.split('/').includes('..')) at.invalid("must not contain '..'");
}

export function descendingPath(at: Place): void {
  if (at.text.startsWith('/')) at.invalid('must be a relative path');
  noBacksteps(at);
}

/** A path within the volume that does not start like the names that the kubelet reserves. */
function localPath(at: Place): void {
  descendingPath(at);
  if (at.text.startsWith('..') && !at.text.startsWith('../'))
    at.invalid("must not start with '..'");
}

function fileMode(at: Place): void {
  if (at.number > 0o777 || at.number < 0)
    at.invalid('must be a number between 0 and 0777 (octal), both inclusive');
}

const HOST_PATHS = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

function hostPath(at: Place): void {
  if (!at.at('path').need()) return;
  noBacksteps(at.at('path'));
  if (at.at('type').isSet) at.at('type').among(HOST_PATHS);
}

const partition: Rule = (at) => at.at('partition').between(0, 255);

function keyToPath(item: Place): void {
  needs('key', 'path')(item);
  localPath(item.at('path'));
  fileMode(item.at('mode'));
}

const files =
  (name: string): Rule =>
  (at) => {
    at.at(name).need();
    fileMode(at.at('defaultMode'));
    at.at('items').items.forEach(keyToPath);
  };

function nfs(at: Place): void {
  needs('server', 'path')(at);
  if (!at.at('path').text.startsWith('/')) at.at('path').invalid('must be an absolute path');
}

const IQN = /^iqn\.\d{4}-\d{2}\.([a-z0-9\-.]+)(:[^,;*&$|\s]+)$/;
const EUI = /^eui\.[a-z0-9A-Z]{16}$/;
const NAA = /^naa\.[a-z0-9A-Z]{32}$/;

function initiator(at: Place): void {
  const { text } = at;
  const known = [IQN, EUI, NAA].find((_, which) =>
    text.startsWith(['iqn', 'eui', 'naa'][which] as string),
  );
  if (known === undefined) at.invalid('must be valid format starting with iqn, eui, or naa');
  else if (!known.test(text)) at.invalid('must be valid format');
}

function iscsi(at: Place): void {
  at.at('targetPortal').need();
  if (at.at('iqn').need()) initiator(at.at('iqn'));
  at.at('lun').between(0, 255);
  const chap = at.at('chapAuthDiscovery').value === true || at.at('chapAuthSession').value === true;
  if (chap && !at.at('secretRef').isSet) at.at('secretRef').required();
  const name = at.at('initiatorName');
  if (name.isSet) initiator(name.as(at.at('initiatorname').path));
}

function fibre(at: Place): void {
  const [names, ids] = [at.at('targetWWNs'), at.at('wwids')];
  if (names.isEmpty && ids.isEmpty)
    names.required('must specify either targetWWNs or wwids, but not both');
  if (names.isEmpty) return;
  if (!ids.isEmpty) names.invalid('targetWWNs and wwids can not be specified simultaneously');
  if (at.at('lun').isSet) at.at('lun').between(0, 255);
  else at.at('lun').required('lun is required if targetWWNs is specified');
}

function flocker(at: Place): void {
  const [name, uuid] = [at.at('datasetName'), at.at('datasetUUID')];
  if (name.isEmpty && uuid.isEmpty) at.required('one of datasetName and datasetUUID is required');
  if (!name.isEmpty && !uuid.isEmpty)
    at.invalid('datasetName and datasetUUID can not be specified simultaneously');
  if (name.text.includes('/')) name.invalid("must not contain '/'");
}

function quobyte(at: Place): void {
  const why = 'must be a host:port pair or multiple pairs separated by commas';
  const registry = at.at('registry');
  if (registry.isEmpty) registry.required(why);
  else if (at.at('tenant').text.length >= 65) at.at('tenant').required('must be a UUID');
  else
    for (const pair of registry.text.split(','))
      if (!/^([^:]*|\[.*\]):[^:]*$/.test(pair)) registry.invalid(why);
  at.at('volume').need();
}

function flexVolume(at: Place): void {
  at.at('driver').need();
  for (const [key, option] of at.at('options').entries) {
    const namespace = `.${key.split('/')[0]?.toLowerCase()}`;
    if (namespace.endsWith('.kubernetes.io') || namespace.endsWith('.k8s.io'))
      option.invalid('kubernetes.io and k8s.io namespaces are reserved');
  }
}

function azureDisk(at: Place): void {
  needs('diskName', 'diskURI')(at);
  if (at.at('cachingMode').isSet) at.at('cachingMode').among(['None', 'ReadOnly', 'ReadWrite']);
  if (!at.at('kind').isSet) return;
  at.at('kind').among(['Dedicated', 'Managed', 'Shared']);
  const start = at.at('kind').text === 'Managed' ? '/subscriptions/' : 'https://';
  if (!at.at('diskURI').text.startsWith(start)) at.at('diskURI').notSupported([start]);
}

function storageOs(at: Place): void {
  if (at.at('volumeName').need()) at.at('volumeName').matches(dnsLabel);
  if (!at.at('volumeNamespace').isEmpty) at.at('volumeNamespace').matches(dnsLabel);
}

function csiDriver(at: Place): void {
  if (!at.need()) return;
  if (at.text.length > 63) at.tooLong(63);
  at.matches(subdomain, at.text.toLowerCase());
}

function csi(at: Place): void {
  csiDriver(at.at('driver'));
  const ref = at.at('nodePublishSecretRef');
  if (ref.isSet && ref.at('name').need()) ref.at('name').as(at.at('name').path).matches(subdomain);
}

function csiPersistent(at: Place): void {
  csiDriver(at.at('driver'));
  at.at('volumeHandle').need();
  const refs = ['controllerPublish', 'controllerExpand', 'nodePublish', 'nodeExpand'];
  for (const ref of refs.map((name) => at.at(`${name}SecretRef`))) {
    if (!ref.isSet) continue;
    if (ref.at('name').need()) ref.at('name').matches(subdomain);
    if (ref.at('namespace').need()) ref.at('namespace').matches(dnsLabel);
  }
}

/** A Pod field, or an annotation or label by its key, for variables and files. */
export function fieldRef(at: Place, known: readonly string[]): void {
  if (!at.at('apiVersion').need() || !at.at('fieldPath').need()) return;
  const path = at.at('fieldPath');
  const [, map, key] = /^([^[]*)\['(.*)'\]$/.exec(path.text) ?? [];
  if (at.at('apiVersion').text !== 'v1') path.invalid('error converting fieldPath');
  else if (map === undefined) {
    if (known.includes(path.text)) return;
    if (FIELDS.includes(path.text)) path.notSupported(known);
    else path.invalid('error converting fieldPath: field label not supported');
  } else if (map === 'metadata.annotations') at.matches(qualifiedName, key?.toLowerCase());
  else if (map === 'metadata.labels') at.matches(qualifiedName, key);
  else if (FIELDS.includes(map)) at.invalid('does not support subscript');
  else path.invalid('error converting fieldPath: field label does not support subscript');
}

/** The Pod fields of the downward API. */
const FIELDS = [
  ...['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace'],
  ...['metadata.uid', 'spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName'],
  ...['spec.schedulerName', 'status.phase', 'status.hostIP', 'status.hostIPs', 'status.podIP'],
  'status.podIPs',
];

const FILE_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

const RESOURCES = ['cpu', 'ephemeral-storage', 'memory'];
const RESOURCE_FIELDS = ['limits', 'requests'].flatMap((kind) =>
  RESOURCES.map((name) => `${kind}.${name}`),
);

/** A request or limit of a container; a file must name the container. */
export function resourceFieldRef(at: Place, isFile: boolean): void {
  const resource = at.at('resource');
  const isHuge = /^(requests|limits)\.hugepages-/.test(resource.text);
  if (isFile && at.at('containerName').isEmpty) at.at('containerName').required();
  else if (resource.need() && !isHuge) resource.among(RESOURCE_FIELDS);
  const divisor = at.at('divisor');
  if (amount(divisor) === 0n) return;
  const rule = resource.text.endsWith('.cpu') ? /^1m?$/ : /^1([kMGTPE]|[KMGTPE]i)?$/;
  if ((RESOURCE_FIELDS.includes(resource.text) || isHuge) && !rule.test(String(divisor.value)))
    divisor.invalid('is not a divisor that this resource supports');
}

/** One file of the downward API. The real server reports all at the path of the list. */
function downwardFile(file: Place, told: Place): void {
  const here = (member: string): Place => file.at(member).as(told.at(member).path);
  here('path').need();
  localPath(here('path'));
  if (file.at('fieldRef').isSet) {
    fieldRef(here('fieldRef'), FILE_FIELDS);
    if (file.at('resourceFieldRef').isSet)
      told.invalid('fieldRef and resourceFieldRef can not be specified simultaneously');
  } else if (file.at('resourceFieldRef').isSet) resourceFieldRef(here('resourceFieldRef'), true);
  else told.required('one of fieldRef and resourceFieldRef is required');
  fileMode(here('mode'));
}

function downward(at: Place): void {
  fileMode(at.at('defaultMode'));
  for (const file of at.at('items').items) downwardFile(file, at);
}

function projected(at: Place): void {
  fileMode(at.at('defaultMode'));
  const paths = new Set<string>();
  const once = (path: string): void => {
    if (path !== '' && paths.has(path)) at.invalid('conflicting duplicate paths');
    paths.add(path);
  };
  for (const source of at.at('sources').items) {
    for (const name of ['secret', 'configMap']) {
      const from = source.at(name);
      if (!from.isSet) continue;
      from.at('name').need();
      for (const item of from.at('items').items) {
        keyToPath(item);
        once(item.at('path').text);
      }
    }
    for (const file of source.in('downwardAPI.items').items) {
      downwardFile(file, source.at('downwardAPI'));
      once(file.at('path').text);
    }
    if (source.at('serviceAccountToken').isSet) token(source.at('serviceAccountToken'), at);
    const bundle = source.at('clusterTrustBundle');
    if (bundle.isSet) {
      trustBundle(bundle);
      once(bundle.at('path').text);
    }
    if (
      Object.values(source.members).filter((member) => member !== undefined && member !== null)
        .length > 1
    )
      source.forbidden('may not specify more than 1 volume type per source');
  }
}

function token(at: Place, volume: Place): void {
  const seconds = at.at('expirationSeconds');
  if (seconds.number < 600) seconds.invalid('may not specify a duration less than 10 minutes');
  if (seconds.number > 2 ** 32)
    seconds.invalid('may not specify a duration larger than 2^32 seconds');
  const path = at.at('path').as(volume.at('path').path);
  if (path.need()) localPath(path);
}

function trustBundle(at: Place): void {
  const [name, signer] = [at.at('name'), at.at('signerName')];
  if (name.isSet && signer.isSet) at.invalid('only one of name and signerName may be used');
  else if (name.isSet) {
    if (name.isEmpty) name.required('must be a valid object name');
    name.matches(subdomain, name.text.split(':').at(-1));
    if (at.at('labelSelector').isSet)
      at.at('labelSelector').invalid('labelSelector must be unset if name is specified');
  } else if (signer.isSet) {
    if (signer.isEmpty) signer.required('must be a valid signer name');
    labelSelector(at.at('labelSelector'));
  } else at.required('either name or signerName must be specified');
  at.at('path').need();
  localPath(at.at('path'));
}

const scaleIo = needs('gateway', 'system', 'volumeName');

function ephemeral(at: Place): void {
  const template = at.at('volumeClaimTemplate');
  if (template.isSet) claimTemplate(template);
  else template.required();
}

function emptyDir(at: Place): void {
  if (amount(at.at('sizeLimit')) < 0n)
    at.at('sizeLimit').forbidden('SizeLimit field must be a valid resource quantity');
}

const gce: Choice = [
  'gcePersistentDisk',
  both(needs('pdName'), partition),
  'persistentDisk',
  'gcePersistentDisk',
];
const aws: Choice = ['awsElasticBlockStore', both(needs('volumeID'), partition)];

/** In the order of the real server. */
const POD_SOURCES: readonly Choice[] = [
  ['emptyDir', emptyDir],
  ['hostPath', hostPath],
  ['gitRepo', both(needs('repository'), (at) => descendingPath(at.at('directory')))],
  gce,
  aws,
  ['secret', files('secretName')],
  ['nfs', nfs],
  ['iscsi', iscsi],
  ['glusterfs', needs('endpoints', 'path')],
  ['flocker', flocker],
  ['persistentVolumeClaim', needs('claimName')],
  ['rbd', needs('monitors', 'image')],
  ['cinder', both(needs('volumeID'), refNeeds('secretRef', 'name'))],
  ['cephfs', needs('monitors'), 'cephfs', 'cephFS'],
  ['quobyte', quobyte],
  ['downwardAPI', downward, 'downwardAPI', 'downwarAPI'],
  ['fc', fibre],
  ['flexVolume', flexVolume],
  ['configMap', files('name')],
  ['azureFile', needs('secretName', 'shareName')],
  ['vsphereVolume', needs('volumePath')],
  ['photonPersistentDisk', needs('pdID')],
  ['portworxVolume', needs('volumeID')],
  ['azureDisk', azureDisk],
  ['storageos', both(storageOs, refNeeds('secretRef', 'name'))],
  ['projected', projected],
  ['scaleIO', scaleIo],
  ['csi', csi],
  ['ephemeral', ephemeral],
  ['image', (at) => pullPolicy(at.at('pullPolicy'))],
];

const PERSISTENT_SOURCES: readonly Choice[] = [
  ['hostPath', hostPath],
  gce,
  aws,
  ['glusterfs', needs('endpoints', 'path')],
  ['flocker', flocker],
  ['nfs', nfs],
  ['rbd', needs('monitors', 'image')],
  ['quobyte', quobyte],
  ['cephfs', needs('monitors'), 'cephfs', 'cephFS'],
  ['iscsi', both(iscsi, refNeeds('secretRef', 'name'))],
  ['cinder', both(needs('volumeID'), refNeeds('secretRef', 'name', 'namespace'))],
  ['fc', fibre],
  ['flexVolume', flexVolume],
  ['azureFile', azureFilePersistent],
  ['vsphereVolume', needs('volumePath')],
  ['photonPersistentDisk', needs('pdID')],
  ['portworxVolume', needs('volumeID')],
  ['azureDisk', azureDisk],
  ['scaleIO', scaleIo],
  ['local', local],
  ['storageos', both(storageOs, refNeeds('secretRef', 'name', 'namespace'))],
  ['csi', csiPersistent],
];

/** The members of a PersistentVolume's spec that are volume sources. */
export const PERSISTENT_SOURCE_NAMES = PERSISTENT_SOURCES.map(([member]) => member);

function azureFilePersistent(at: Place): void {
  needs('secretName', 'shareName')(at);
  if (at.at('secretNamespace').isSet) at.at('secretNamespace').need();
}

function local(at: Place): void {
  if (at.at('path').need()) noBacksteps(at.at('path'));
}

function pullPolicy(at: Place): void {
  if (!at.isEmpty) at.among(['Always', 'IfNotPresent', 'Never']);
}

const ONE = 'may not specify more than 1 volume type';

function source(at: Place, choices: readonly Choice[]): void {
  if (oneOf(at, choices, ONE) === 0) at.required('must specify a volume type');
}

export const persistentSource: Rule = (at) => source(at, PERSISTENT_SOURCES);

/**
 * Checks the volumes of a Pod. Returns the valid ones by name.
 *
 * @param podName prefix of the claims of ephemeral volumes; '' in a template
 */
export function volumes(at: Place, podName: string): ReadonlyMap<string, Place> {
  const named = new Map<string, Place>();
  const made = new Set(
    at.items
      .filter((volume) => podName !== '' && volume.at('ephemeral').isSet)
      .map((volume) => `${podName}-${volume.at('name').text}`),
  );
  for (const volume of at.items) {
    const before = volume.errorCount;
    const name = volume.at('name');
    source(volume, POD_SOURCES);
    if (name.need()) name.matches(dnsLabel);
    if (named.has(name.text)) name.duplicate();
    if (volume.errorCount === before) named.set(name.text, volume);
    const claim = volume.in('persistentVolumeClaim.claimName');
    if (made.has(claim.text))
      claim.invalid('must not reference a PVC that gets created for an ephemeral volume');
  }
  return named;
}
