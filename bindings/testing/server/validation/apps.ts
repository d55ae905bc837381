/**
 * The rules of the kinds of the group apps, and of ReplicationControllers. kubernetes:
 * pkg/apis/apps/validation/validation.go.
 */
import { isObject, sameJson } from '../json.ts';
import { dnsLabel } from '../registry/names.ts';
import { claimSpec } from './claims.ts';
import {
  annotationKeys,
  countOrPercent,
  labelSelector,
  labels,
  notAboveAll,
  readSelector,
} from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { podAnnotations, podTemplate } from './pod-spec.ts';

const RESTARTS = ['Always'];

/** A template with restartPolicy Always and no activeDeadlineSeconds. */
function restarted(template: Place): void {
  template.in('spec.restartPolicy').among(RESTARTS);
  const deadline = template.in('spec.activeDeadlineSeconds');
  if (deadline.isSet) deadline.forbidden('is not supported in the template of a controller');
}

/** Checks the selector, and that it matches the labels of the template. */
function selected(spec: Place, check: (template: Place) => void): void {
  const [at, template] = [spec.at('selector'), spec.at('template')];
  if (at.isSet) {
    labelSelector(at);
    if (at.at('matchLabels').isEmpty && at.at('matchExpressions').isEmpty)
      at.invalid('empty selector is invalid');
  } else at.required();
  const matches = readSelector(at);
  if (matches === undefined) {
    at.invalid('invalid label selector');
    return;
  }
  if (!matches(template.in('metadata.labels').members))
    template.in('metadata.labels').invalid('`selector` does not match template `labels`');
  check(template);
}

function running(template: Place): void {
  podTemplate(template);
  restarted(template);
}

function deployment(object: Place): void {
  const spec = object.at('spec');
  spec.at('replicas').atLeast(0);
  selected(spec, running);
  deploymentStrategy(spec.at('strategy'));
  spec.at('minReadySeconds').atLeast(0);
  spec.at('revisionHistoryLimit').atLeast(0);
  const deadline = spec.at('progressDeadlineSeconds');
  deadline.atLeast(0);
  if (deadline.isSet && deadline.number <= spec.at('minReadySeconds').number)
    deadline.invalid('must be greater than minReadySeconds');
  spec.at('selector').immutable();
}

function deploymentStrategy(at: Place): void {
  const [type, rolling] = [at.at('type').text, at.at('rollingUpdate')];
  const types = ['Recreate', 'RollingUpdate'];
  if (!types.includes(type)) at.notSupported(types);
  else if (type === 'Recreate') {
    if (rolling.isSet) rolling.forbidden("may not be specified when strategy `type` is 'Recreate'");
  } else if (rolling.isSet) {
    const [unavailable, surge] = [rolling.at('maxUnavailable'), rolling.at('maxSurge')];
    countOrPercent(unavailable);
    countOrPercent(surge);
    if (isNone(unavailable) && isNone(surge))
      unavailable.invalid('may not be 0 when `maxSurge` is 0');
    notAboveAll(unavailable);
  } else rolling.required('this should be defaulted and never be nil');
}

/** 0 or 0 %; Go reads any other text as 0 too. */
const isNone = (at: Place): boolean => (Number.parseInt(String(at.value ?? 0), 10) || 0) === 0;

function replicaSet(object: Place): void {
  const spec = object.at('spec');
  spec.at('replicas').atLeast(0);
  spec.at('minReadySeconds').atLeast(0);
  selected(spec, running);
  spec.at('selector').immutable();
}

function daemonSet(object: Place): void {
  const spec = object.at('spec');
  const [selector, template] = [spec.at('selector'), spec.at('template')];
  selector.immutable();
  labelSelector(selector);
  const matches = readSelector(selector);
  if (matches !== undefined && !matches(template.in('metadata.labels').members))
    template.in('metadata.labels').invalid('`selector` does not match template `labels`');
  const isEmpty = selector.at('matchLabels').isEmpty && selector.at('matchExpressions').isEmpty;
  if (selector.isSet && isEmpty) selector.invalid('empty selector is invalid for daemonset');
  podTemplate(template);
  restarted(template);
  spec.at('minReadySeconds').atLeast(0);
  const strategy = spec.at('updateStrategy');
  const rolling = strategy.at('rollingUpdate');
  const types = ['RollingUpdate', 'OnDelete'];
  if (!types.includes(strategy.at('type').text)) strategy.notSupported(types);
  else if (strategy.at('type').text === 'RollingUpdate') daemonRolling(rolling);
  spec.at('revisionHistoryLimit').atLeast(0);
}

function daemonRolling(at: Place): void {
  if (!at.isSet) {
    at.required();
    return;
  }
  const [unavailable, surge] = [at.at('maxUnavailable'), at.at('maxSurge')];
  countOrPercent(unavailable);
  countOrPercent(surge);
  notAboveAll(unavailable);
  notAboveAll(surge);
  if (!isNone(unavailable) && !isNone(surge))
    surge.invalid('may not be set when maxUnavailable is non-zero');
  if (isNone(unavailable) && isNone(surge)) unavailable.required('cannot be 0 when maxSurge is 0');
}

/** What an update of a StatefulSet may change. */
const CHANGEABLE = [
  ...['replicas', 'template', 'updateStrategy', 'minReadySeconds', 'ordinals'],
  ...['revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy'],
];

function statefulSet(object: Place): void {
  const spec = object.at('spec');
  const policy = spec.at('podManagementPolicy');
  if (policy.need() && !['OrderedReady', 'Parallel'].includes(policy.text))
    policy.invalid("must be 'OrderedReady' or 'Parallel'");
  statefulStrategy(spec.at('updateStrategy'));
  const retention = spec.at('persistentVolumeClaimRetentionPolicy');
  if (retention.isSet)
    for (const when of ['whenDeleted', 'whenScaled'])
      retention.at(when).among(['Retain', 'Delete']);
  const claims = spec.at('volumeClaimTemplates');
  if (!object.isUpdate) for (const claim of claims.items) claimSpec(claim.at('spec'));
  spec.at('replicas').atLeast(0);
  spec.at('minReadySeconds').atLeast(0);
  spec.in('ordinals.start').as(`${spec.path}.ordinals.start`).atLeast(0);
  const service = spec.at('serviceName');
  if (!object.isUpdate && !service.isEmpty) service.matches(dnsLabel);
  selected(spec, (template) => {
    podTemplate(withClaims(template, claims));
    labels(template.in('metadata.labels').as(template.at('labels').path));
    const annotations = template.in('metadata.annotations').as(template.at('annotations').path);
    annotationKeys(annotations);
    podAnnotations(annotations, template.at('spec'));
  });
  restarted(spec.at('template'));
  const rest = (value: unknown): unknown =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).filter(([name]) => !CHANGEABLE.includes(name)))
      : value;
  if (object.isUpdate && !sameJson(rest(spec.value) as never, rest(spec.was) as never))
    spec.forbidden(`updates to statefulset spec for fields other than ${CHANGEABLE} are forbidden`);
}

/** Adds the volumes of the claims and the subdomain, which the controller sets. */
function withClaims(template: Place, claims: Place): Place {
  const names = claims.items.map((claim) => claim.in('metadata.name').text);
  const own = template
    .in('spec.volumes')
    .items.filter((volume) => !names.includes(volume.at('name').text));
  const volumes = [
    ...[...new Set(names)].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...own.map(({ value }) => value ?? null),
  ];
  const { hostname: _, subdomain: __, ...spec } = template.at('spec').members;
  return template.with({ ...template.members, spec: { ...spec, volumes } });
}

function statefulStrategy(at: Place): void {
  const [type, rolling] = [at.at('type').text, at.at('rollingUpdate')];
  if (type === '') at.required();
  else if (type === 'OnDelete') {
    if (rolling.isSet) rolling.invalid("only allowed for updateStrategy 'RollingUpdate'");
  } else if (type === 'RollingUpdate') {
    rolling.at('partition').atLeast(0);
    const unavailable = rolling.at('maxUnavailable');
    if (!unavailable.isSet) return;
    countOrPercent(unavailable);
    if (isNone(unavailable)) unavailable.invalid('cannot be 0');
    notAboveAll(unavailable);
  } else at.invalid("must be 'RollingUpdate' or 'OnDelete'");
}

function controllerRevision(object: Place): void {
  object.at('revision').atLeast(0);
  const data = object.at('data');
  if (object.isUpdate) data.immutable();
  else if (!isObject(data.value)) data.required('data is mandatory, and must be a JSON object');
}

/** Counts that are not negative and, for some, not above another one. */
function counts(
  status: Place,
  members: readonly string[],
  limited: readonly (readonly [member: string, by: string])[],
): void {
  for (const member of members) status.at(member).atLeast(0);
  for (const [member, by] of limited)
    if (status.at(member).number > status.at(by).number)
      status.at(member).invalid(`cannot be greater than ${by}`);
  const collisions = status.at('collisionCount');
  const was = collisions.before;
  if (was.isSet && (!collisions.isSet || collisions.number < was.number))
    collisions.invalid('cannot be decremented');
}

const limitedBy = (...members: string[]): [string, string][] => [
  ...members.map((member): [string, string] => [member, 'replicas']),
  ['availableReplicas', 'readyReplicas'],
];

const replicaCounts = (at: Place): void =>
  counts(
    at.at('status'),
    [
      ...['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
      ...['observedGeneration', 'terminatingReplicas'],
    ],
    limitedBy('fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'),
  );

export const apps: RuleTable = {
  'apps/deployments': {
    object: deployment,
    status: (object) =>
      counts(
        object.at('status'),
        [
          ...['observedGeneration', 'replicas', 'updatedReplicas', 'readyReplicas'],
          ...['availableReplicas', 'unavailableReplicas', 'terminatingReplicas', 'collisionCount'],
        ],
        limitedBy('updatedReplicas', 'readyReplicas', 'availableReplicas'),
      ),
  },
  'apps/replicasets': { object: replicaSet, status: replicaCounts },
  'apps/daemonsets': {
    object: daemonSet,
    status: (object) =>
      counts(
        object.at('status'),
        [
          ...['currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled'],
          ...['numberReady', 'observedGeneration', 'updatedNumberScheduled', 'numberAvailable'],
          ...['numberUnavailable', 'collisionCount'],
        ],
        [],
      ),
  },
  'apps/statefulsets': {
    object: statefulSet,
    status: (object) =>
      counts(
        object.at('status'),
        [
          ...['replicas', 'readyReplicas', 'currentReplicas', 'updatedReplicas'],
          ...['availableReplicas', 'observedGeneration', 'collisionCount'],
        ],
        limitedBy('readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'),
      ),
  },
  'apps/controllerrevisions': { object: controllerRevision },
  '/replicationcontrollers': { object: replicationController, status: replicaCounts },
};

function replicationController(object: Place): void {
  const spec = object.at('spec');
  const selector = spec.at('selector');
  selector.need();
  const template = spec.at('template');
  if (template.isSet) {
    const own = template.in('metadata.labels').members;
    const matches = Object.entries(selector.members).every(([key, value]) => own[key] === value);
    if (!matches)
      template.in('metadata.labels').invalid('`selector` does not match template `labels`');
    running(template);
  } else template.required();
  // The real server reports these last, by declarative validation.
  spec.at('replicas').isSet || spec.at('replicas').required();
  spec.at('replicas').atLeast(0);
  spec.at('minReadySeconds').atLeast(0);
}
