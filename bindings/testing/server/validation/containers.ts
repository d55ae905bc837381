/**
 * Containers of Pods. kubernetes: pkg/apis/core/validation/validation.go validateContainers,
 * validateInitContainers, validateEphemeralContainers and what they call.
 */
import { configKey, dnsLabel, subdomain } from '../registry/names.ts';
import { envName, portName, portNumber } from './formats.ts';
import { type Choice, oneOf, type Place } from './place.ts';
import { resourceRequirements } from './resources.ts';
import { descendingPath, fieldRef, noBacksteps, resourceFieldRef } from './volumes.ts';

/** What the checks of containers need from their Pod. */
export interface PodScope {
  spec: Place;
  volumes: ReadonlyMap<string, Place>;
  claims: ReadonlySet<string>;
}

export function containers(at: Place, scope: PodScope): void {
  if (at.isEmpty) {
    at.required();
    return;
  }
  const names = new Set<string>();
  for (const container of at.items) {
    common(container, scope);
    once(container.at('name'), names);
    lifecycleAndProbes(container, scope);
    restartRules(container);
  }
  hostPorts(at.items);
}

export function initContainers(at: Place, scope: PodScope): void {
  const names = namesIn(scope.spec.at('containers'));
  for (const container of at.items) {
    common(container, scope);
    restartRules(container);
    if (!container.at('name').isEmpty) once(container.at('name'), names);
    hostPorts([container], at);
    if (isSidecar(container)) {
      lifecycleAndProbes(container, scope);
      continue;
    }
    for (const member of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'])
      if (container.at(member).isSet)
        container
          .at(member)
          .forbidden('may not be set for init containers without restartPolicy=Always');
    for (const policy of container.at('resizePolicy').items) {
      const restart = policy.at('restartPolicy');
      if (restart.text === 'RestartContainer')
        restart.invalid("must not be set to 'RestartContainer' for non-sidecar initContainers");
    }
  }
}

const isSidecar = (container: Place): boolean => container.at('restartPolicy').text === 'Always';

export const namesIn = (...lists: Place[]): Set<string> =>
  new Set(lists.flatMap(({ items }) => items.map((item) => item.at('name').text)));

function once(name: Place, names: Set<string>): void {
  if (names.has(name.text)) name.duplicate();
  names.add(name.text);
}

const NOT_EPHEMERAL = [
  ...['ports', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle', 'resources'],
  ...['resizePolicy', 'restartPolicy', 'restartPolicyRules'],
];

export function ephemeralContainers(at: Place, scope: PodScope): void {
  const others = namesIn(scope.spec.at('containers'), scope.spec.at('initContainers'));
  const names = new Set(others);
  for (const container of at.items) {
    common(container, scope);
    trimmedImage(container);
    once(container.at('name'), names);
    const target = container.at('targetContainerName');
    if (!target.isEmpty && !others.has(target.text)) target.notFound();
    const why = 'cannot be set for an Ephemeral Container';
    for (const member of NOT_EPHEMERAL)
      if (!container.at(member).isEmpty) container.at(member).forbidden(why);
    for (const mount of container.at('volumeMounts').items)
      for (const member of ['subPath', 'subPathExpr'])
        if (!mount.at(member).isEmpty) mount.at(member).forbidden(why);
  }
}

/** A check for Pods only, not for templates. */
export function trimmedImage(container: Place): void {
  const image = container.at('image');
  if (image.text !== image.text.trim())
    image.invalid('must not have leading or trailing whitespace');
}

function common(container: Place, scope: PodScope): void {
  if (container.at('name').need()) container.at('name').matches(dnsLabel);
  container.at('image').need();
  container.at('terminationMessagePolicy').needAmong(['File', 'FallbackToLogsOnError']);
  ports(container.at('ports'));
  env(container.at('env'));
  envFrom(container.at('envFrom'));
  mounts(container, scope);
  devices(container, scope);
  container.at('imagePullPolicy').needAmong(['Always', 'IfNotPresent', 'Never']);
  resourceRequirements(container.at('resources'), scope.claims);
  resizePolicy(container.at('resizePolicy'), scope);
  securityContext(container.at('securityContext'), scope);
}

export const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

function ports(at: Place): void {
  const names = new Set<string>();
  for (const port of at.items) {
    const name = port.at('name');
    if (!name.isEmpty) {
      const before = name.errorCount;
      name.matches(portName);
      if (name.errorCount === before) once(name, names);
    }
    const number = port.at('containerPort');
    if (number.need()) portInRange(number);
    if (!port.at('hostPort').isEmpty) portInRange(port.at('hostPort'));
    port.at('protocol').needAmong(PROTOCOLS);
  }
}

export function portInRange(at: Place): void {
  for (const why of portNumber(at.number)) at.invalid(why);
}

/**
 * @param told the place whose path the errors have: the real server reports all init containers at
 * one
 */
function hostPorts(list: readonly Place[], told?: Place): void {
  const seen = new Set<string>();
  for (const [index, container] of list.entries())
    for (const [which, port] of container.at('ports').items.entries()) {
      const host = port.at('hostPort');
      if (host.isEmpty) continue;
      const key = [port.at('protocol').text, port.at('hostIP').text, host.number].join('/');
      const path = told && `${told.path}[${index}].ports[${which}].hostPort`;
      if (seen.has(key)) (path === undefined ? host : host.as(path)).duplicate();
      seen.add(key);
    }
}

/** The Pod fields that an environment variable can have. */
const ENV_FIELDS = [
  ...['metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName'],
  ...['spec.serviceAccountName', 'status.hostIP', 'status.hostIPs', 'status.podIP'],
  'status.podIPs',
];

const ENV_SOURCES: readonly Choice[] = [
  ['fieldRef', (at) => fieldRef(at, ENV_FIELDS)],
  ['resourceFieldRef', (at) => resourceFieldRef(at, false)],
  ['configMapKeyRef', keyRef],
  ['secretKeyRef', keyRef],
  ['fileKeyRef', fileKeyRef],
];

function env(at: Place): void {
  for (const item of at.items) {
    if (item.at('name').need()) item.at('name').matches(envName);
    const from = item.at('valueFrom');
    if (!from.isSet) continue;
    const sources = ENV_SOURCES.filter(([member]) => from.at(member).isSet);
    for (const [member, rule] of sources) rule?.(from.at(member));
    if (sources.length === 0) from.invalid('must specify one of: `fieldRef`, …');
    else if (!item.at('value').isEmpty)
      from.invalid('may not be specified when `value` is not empty');
    else if (sources.length > 1)
      from.invalid('may not have more than one field specified at a time');
  }
}

function keyRef(at: Place): void {
  at.at('name').matches(subdomain);
  if (at.at('key').need()) at.at('key').matches(configKey);
}

function fileKeyRef(at: Place): void {
  if (at.at('key').need()) at.at('key').matches(envName);
  if (at.at('volumeName').need()) at.at('volumeName').matches(dnsLabel);
  if (at.at('path').need()) noBacksteps(at.at('path'));
}

function envFrom(at: Place): void {
  for (const item of at.items) {
    if (!item.at('prefix').isEmpty) item.at('prefix').matches(envName);
    const sources = [item.at('configMapRef'), item.at('secretRef')].filter(({ isSet }) => isSet);
    for (const source of sources)
      if (source.at('name').need())
        source.at('name').matches(subdomain, source.at('name').text.replace(/-$/, 'a'));
    if (sources.length === 0) at.invalid('must specify one of: `configMapRef` or `secretRef`');
    else if (sources.length > 1) at.invalid('may not have more than one field specified at a time');
  }
}

function mounts(container: Place, { volumes }: PodScope): void {
  const at = container.at('volumeMounts');
  const onDevices = container.at('volumeDevices').items;
  const paths = new Set<string>();
  for (const mount of at.items) {
    const [name, path] = [mount.at('name'), mount.at('mountPath')];
    name.need();
    if (!volumes.has(name.text)) name.notFound();
    path.need();
    if (paths.has(path.text)) path.invalid('must be unique');
    paths.add(path.text);
    if (onDevices.some((device) => device.at('name').text === name.text))
      name.invalid('must not already exist in volumeDevices');
    if (onDevices.some((device) => device.at('devicePath').text === path.text))
      path.invalid('must not already exist as a path in volumeDevices');
    const told = (member: string): Place => mount.at(member).as(at.at(member).path);
    const [sub, expression] = [mount.at('subPath'), mount.at('subPathExpr')];
    if (!sub.isEmpty) descendingPath(told('subPath'));
    if (!expression.isEmpty) {
      if (!sub.isEmpty) expression.invalid('subPathExpr and subPath are mutually exclusive');
      descendingPath(told('subPathExpr'));
    }
    propagation(told('mountPropagation'), container);
    recursiveReadOnly(told('recursiveReadOnly'), mount);
  }
}

function propagation(at: Place, container: Place): void {
  if (!at.isSet) return;
  at.among(['Bidirectional', 'HostToContainer', 'None']);
  if (at.text === 'Bidirectional' && container.in('securityContext.privileged').value !== true)
    at.forbidden('Bidirectional mount propagation is available only to privileged containers');
}

function recursiveReadOnly(at: Place, mount: Place): void {
  if (!at.isSet || at.text === 'Disabled') return;
  if (!at.among(['Disabled', 'Enabled', 'IfPossible'])) return;
  if (mount.at('readOnly').value !== true)
    at.forbidden('may only be specified when readOnly is true');
  if (!['', 'None'].includes(mount.at('mountPropagation').text))
    at.forbidden('may only be specified when mountPropagation is None or not specified');
}

function devices(container: Place, { volumes }: PodScope): void {
  const mounted = container.at('volumeMounts').items;
  const [names, paths] = [new Set<string>(), new Set<string>()];
  for (const device of container.at('volumeDevices').items) {
    const [name, path] = [device.at('name'), device.at('devicePath')];
    name.need();
    if (names.has(name.text)) name.invalid('must be unique');
    const volume = volumes.get(name.text);
    if (volume === undefined) name.notFound();
    else if (!volume.at('persistentVolumeClaim').isSet && !volume.at('ephemeral').isSet)
      name.invalid('can only use volume source type of PersistentVolumeClaim or Ephemeral');
    path.need();
    if (paths.has(path.text)) path.invalid('must be unique');
    if (path.text.split('/').includes('..')) path.invalid("can not contain backsteps ('..')");
    else paths.add(path.text);
    if (mounted.some((mount) => mount.at('name').text === name.text))
      name.invalid('must not already exist in volumeMounts');
    if (mounted.some((mount) => mount.at('mountPath').text === path.text))
      path.invalid('must not already exist as a path in volumeMounts');
    if (!name.isEmpty) names.add(name.text);
  }
}

function resizePolicy(at: Place, { spec }: PodScope): void {
  const seen = new Set<string>();
  for (const item of at.items) {
    const [name, restart] = [item.at('resourceName'), item.at('restartPolicy')];
    if (seen.has(name.text)) item.duplicate();
    seen.add(name.text);
    name.as(at.path).needAmong(['cpu', 'memory']);
    restart.as(at.path).needAmong(['NotRequired', 'RestartContainer']);
    if (spec.at('restartPolicy').text === 'Never' && restart.text !== 'NotRequired')
      at.invalid("must be 'NotRequired' when pod `restartPolicy` is 'Never'");
  }
}

function restartRules(container: Place): void {
  const [policy, rules] = [container.at('restartPolicy'), container.at('restartPolicyRules')];
  if (policy.isSet) policy.among(['Always', 'Never', 'OnFailure']);
  else if (!rules.isEmpty)
    policy.required('must specify restartPolicy when restart rules are used');
  if (rules.items.length > 20) rules.tooMany(rules.items.length, 20);
  for (const rule of rules.items) {
    rule.at('action').among(['Restart', 'RestartAllContainers']);
    const codes = rule.at('exitCodes');
    if (!codes.isSet) {
      codes.required('must be specified');
      continue;
    }
    codes.at('operator').among(['In', 'NotIn']);
    const count = codes.at('values').items.length;
    if (count > 255) codes.at('values').tooMany(count, 255);
  }
}

function lifecycleAndProbes(container: Place, scope: PodScope): void {
  const grace = scope.spec.at('terminationGracePeriodSeconds');
  const lifecycle = container.at('lifecycle');
  for (const hook of [lifecycle.at('postStart'), lifecycle.at('preStop')])
    if (hook.isSet) handler(hook, HOOKS(grace));
  const signal = lifecycle.at('stopSignal');
  if (signal.isSet && !scope.spec.at('os').isSet)
    signal.forbidden('may not be set for containers with empty `spec.os.name`');
  for (const member of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = container.at(member);
    if (!probe.isSet) continue;
    handler(probe, PROBES);
    for (const seconds of PROBE_NUMBERS) probe.at(seconds).atLeast(0);
    const own = probe.at('terminationGracePeriodSeconds');
    if (own.isSet && own.number <= 0) own.invalid('must be greater than 0');
    if (member === 'readinessProbe') {
      if (own.isSet) own.invalid('must not be set for readinessProbes');
    } else if (probe.at('successThreshold').number !== 1)
      probe.at('successThreshold').invalid('must be 1');
  }
}

const PROBE_NUMBERS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
];

export function portNumberOrName(at: Place): void {
  if (typeof at.value === 'string') at.matches(portName);
  else portInRange(at);
}

const HEADER = /^[-A-Za-z0-9]+$/;

const ACTIONS: readonly Choice[] = [
  ['exec', (at) => at.at('command').need()],
  ['httpGet', httpGet],
  ['tcpSocket', (at) => portNumberOrName(at.at('port'))],
];

const PROBES: readonly Choice[] = [...ACTIONS, ['grpc', (at) => portInRange(at.at('port'))]];

const HOOKS = (grace: Place): readonly Choice[] => [
  ...ACTIONS,
  [
    'sleep',
    (at) => {
      const seconds = at.at('seconds').number;
      if (grace.isSet && (seconds < 0 || seconds > grace.number))
        at.invalid('must be non-negative and less than terminationGracePeriodSeconds');
    },
  ],
];

function httpGet(at: Place): void {
  at.at('path').need();
  portNumberOrName(at.at('port'));
  at.at('scheme').among(['HTTP', 'HTTPS']);
  for (const header of at.at('httpHeaders').items)
    if (!HEADER.test(header.at('name').text))
      header
        .at('name')
        .as(at.at('httpHeaders').path)
        .invalid("a valid HTTP header must consist of alphanumeric characters or '-'");
}

function handler(at: Place, choices: readonly Choice[]): void {
  if (oneOf(at, choices, 'may not specify more than 1 handler type') === 0)
    at.required('must specify a handler type');
}

/** A user or group ID. */
export function id(at: Place): void {
  at.between(0, 2 ** 31 - 1);
}

function securityContext(at: Place, { spec }: PodScope): void {
  if (!at.isSet) return;
  id(at.at('runAsUser'));
  id(at.at('runAsGroup'));
  const mount = at.at('procMount');
  if (mount.isSet) {
    mount.among(['Default', 'Unmasked']);
    if (mount.text === 'Unmasked' && spec.at('hostUsers').value !== false)
      mount.invalid('`hostUsers` must be false to use `Unmasked`');
  }
  profile(at.at('seccompProfile'), false);
  if (at.at('allowPrivilegeEscalation').value === false) {
    if (at.at('privileged').value === true)
      at.invalid('cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
    for (const capability of at.in('capabilities.add').items)
      if (capability.text === 'CAP_SYS_ADMIN')
        at.invalid('cannot set `allowPrivilegeEscalation` to false and add CAP_SYS_ADMIN');
  }
  profile(at.at('appArmorProfile'), true);
}

const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];

/** A seccomp or AppArmor profile. */
export function profile(at: Place, isAppArmor: boolean): void {
  if (!at.isSet) return;
  const [type, path] = [at.at('type'), at.at('localhostProfile')];
  const isKnown = type.needAmong(PROFILES);
  if (isAppArmor && !isKnown) return;
  if (type.text !== 'Localhost') {
    if (path.isSet) path.invalid('can only be set when type is Localhost');
  } else if (!path.isSet) path.required('must be set when type is Localhost');
  else if (!isAppArmor) descendingPath(path);
  else {
    if (path.text.trim() !== path.text) path.invalid('must not be padded with whitespace');
    else if (path.isEmpty) path.required('must be set when AppArmor type is Localhost');
    if (Buffer.byteLength(path.text) > 4095) path.tooLong(4095);
  }
}
