/**
 * The rules of HorizontalPodAutoscalers; those of v1 are checked as v2. kubernetes:
 * pkg/apis/autoscaling/validation/validation.go.
 */
import { dnsLabel, pathSegmentErrors } from '../registry/names.ts';
import { notNegative } from './claims.ts';
import { amount } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { containerResourceName } from './resources.ts';

/** The longest period and stabilization window, in seconds. */
const MOST_PERIOD = 1800;
const MOST_WINDOW = 3600;

function groupError(ref: Place, mayBeEmpty: boolean): string | undefined {
  const parts = ref.at('apiVersion').text.split('/');
  if (parts.length > 2) return 'unexpected GroupVersion string';
  const group = parts.length === 2 ? (parts[0] as string) : '';
  return group === '' && !mayBeEmpty ? 'apiVersion must specify API group' : undefined;
}

function reference(ref: Place, mayBeEmpty: boolean, anyVersion: boolean): void {
  for (const name of ['kind', 'name'])
    if (ref.at(name).need()) ref.at(name).matches(pathSegmentErrors);
  const why = anyVersion ? undefined : groupError(ref, mayBeEmpty);
  if (why !== undefined) ref.at('apiVersion').invalid(why);
}

function spec(object: Place): void {
  const at = object.at('spec');
  const [least, most] = [at.at('minReplicas'), at.at('maxReplicas')];
  const fromZero = least.isUpdate && least.was === 0;
  least.atLeast(fromZero ? 0 : 1);
  if (most.number === 0) most.required('must be set and greater than 0');
  else most.atLeast(1);
  if (least.isSet && most.number < least.number)
    most.invalid('must be greater than or equal to `minReplicas`');
  const target = at.at('scaleTargetRef');
  const isSame =
    target.isUpdate && !target.at('apiVersion').isChanged && !target.at('kind').isChanged;
  reference(target, target.at('kind').text === 'ReplicationController', isSame);
  const metrics = at.at('metrics').items;
  for (const each of metrics) metric(each);
  const scalesFromZero = metrics.some((each) =>
    ['Object', 'External'].includes(each.at('type').text),
  );
  if (least.value === 0 && !scalesFromZero)
    at.at('metrics').forbidden(
      'must specify at least one Object or External metric to support scaling to zero replicas',
    );
  for (const name of ['scaleUp', 'scaleDown']) scalingRules(at.at('behavior').at(name));
}

function scalingRules(rules: Place): void {
  if (!rules.isSet) return;
  const window = rules.at('stabilizationWindowSeconds');
  window.between(0, MOST_WINDOW);
  if (rules.at('selectPolicy').isSet) rules.at('selectPolicy').among(['Disabled', 'Max', 'Min']);
  rules.at('policies').need('must specify at least one Policy');
  for (const policy of rules.at('policies').items) {
    policy.at('type').among(['Percent', 'Pods']);
    const [value, period] = [policy.at('value'), policy.at('periodSeconds')];
    if (value.number <= 0) value.invalid('must be greater than zero');
    if (period.number <= 0) period.invalid('must be greater than zero');
    if (period.number > MOST_PERIOD) period.invalid(`must be at most ${MOST_PERIOD}`);
  }
  if (rules.at('tolerance').isSet) notNegative(rules.at('tolerance'));
}

/** The member of each metric type, in the order of the checks. */
const SOURCES: Readonly<Record<string, [member: string, rule: (source: Place) => void]>> = {
  Object: ['object', objectSource],
  External: ['external', externalSource],
  Pods: ['pods', podsSource],
  Resource: ['resource', resourceSource],
  ContainerResource: ['containerResource', resourceSource],
};

function metric(at: Place): void {
  const type = at.at('type');
  const source = Object.hasOwn(SOURCES, type.text) ? SOURCES[type.text] : undefined;
  const types = Object.keys(SOURCES).sort();
  type.need('must specify a metric source type');
  if (source === undefined) type.notSupported(types);
  const present = Object.values(SOURCES).filter(([member]) => at.at(member).isSet);
  const [first] = present;
  if (first !== undefined) first[1](at.at(first[0]));
  if (source === undefined) type.notSupported(types);
  else if (!at.at(source[0]).isSet)
    at.at(source[0]).required('must populate information for the given metric source');
  if (present.length === 1) return;
  for (const [member] of present)
    if (member !== source?.[0])
      at.at(member).forbidden('must populate the given metric source only');
}

function identifier(at: Place): void {
  const name = at.at('name');
  if (name.need('must specify a metric name')) name.matches(pathSegmentErrors);
}

function metricTarget(at: Place): void {
  const type = at.at('type');
  type.need('must specify a metric target type');
  if (!['Utilization', 'Value', 'AverageValue'].includes(type.text))
    type.invalid('must be either Utilization, Value, or AverageValue');
  for (const name of ['value', 'averageValue'])
    if (at.at(name).isSet && amount(at.at(name)) <= 0n) at.at(name).invalid('must be positive');
  at.at('averageUtilization').atLeast(1);
}

/** Exactly one of two members must be set. */
function oneOf(target: Place, first: string, second: string, needed: string): void {
  const [a, b] = [target.at(first).isSet, target.at(second).isSet];
  if (!a && !b) target.at(needed).required(`must set either ${first} or ${second}`);
  if (a && b) target.at(first).forbidden(`may not set both ${first} and ${second}`);
}

function objectSource(at: Place): void {
  reference(at.at('describedObject'), true, false);
  identifier(at.at('metric'));
  const target = at.at('target');
  metricTarget(target);
  if (!target.at('value').isSet && !target.at('averageValue').isSet)
    target.at('averageValue').required('must set either a target value or averageValue');
}

function externalSource(at: Place): void {
  identifier(at.at('metric'));
  metricTarget(at.at('target'));
  oneOf(at.at('target'), 'value', 'averageValue', 'averageValue');
}

function podsSource(at: Place): void {
  identifier(at.at('metric'));
  metricTarget(at.at('target'));
  const value = at.at('target').at('averageValue');
  if (!value.isSet) value.required('must specify a positive target averageValue');
}

/** The resource metric of a Pod or, by the path, of a container. */
function resourceSource(at: Place): void {
  const [name, container] = [at.at('name'), at.at('container')];
  const ofContainer = at.path.endsWith('.containerResource');
  if (name.need('must specify a resource name') && ofContainer)
    containerResourceName(name, name.text);
  if (ofContainer && container.need('must specify a container')) container.matches(dnsLabel);
  metricTarget(at.at('target'));
  oneOf(at.at('target'), 'averageValue', 'averageUtilization', 'averageUtilization');
}

function status(object: Place): void {
  for (const name of ['currentReplicas', 'desiredReplicas'])
    object.at('status').at(name).atLeast(0);
}

export const autoscaling: RuleTable = {
  'autoscaling/horizontalpodautoscalers': { object: spec, status },
};
