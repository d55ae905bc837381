/**
 * Where Pods may run: node selectors, affinity, tolerations, spreading. kubernetes:
 * pkg/apis/core/validation/validation.go.
 */
import { sameJson } from '../json.ts';
import { dnsLabel, labelValue, qualifiedName, subdomain } from '../registry/names.ts';
import { labelSelector } from './formats.ts';
import type { Place } from './place.ts';

export function nodeSelector(at: Place): void {
  const terms = at.at('nodeSelectorTerms');
  if (terms.isEmpty) terms.required('must have at least one node selector term');
  for (const term of terms.items) nodeSelectorTerm(term, false);
}

function nodeSelectorTerm(term: Place, anyValue: boolean): void {
  for (const item of term.at('matchExpressions').items) {
    const [operator, values] = [item.at('operator'), item.at('values')];
    switch (operator.text) {
      case 'In':
      case 'NotIn':
        if (values.isEmpty) values.required("must be specified when `operator` is 'In' or 'NotIn'");
        break;
      case 'Exists':
      case 'DoesNotExist':
        if (!values.isEmpty)
          values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        break;
      case 'Gt':
      case 'Lt':
        if (values.items.length !== 1)
          values.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
        break;
      default:
        operator.invalid('not a valid selector operator');
    }
    item.at('key').matches(qualifiedName);
    if (!anyValue) for (const value of values.items) value.matches(labelValue);
  }
  for (const item of term.at('matchFields').items) {
    const [operator, values] = [item.at('operator'), item.at('values')];
    if (operator.text !== 'In' && operator.text !== 'NotIn')
      operator.invalid('not a valid selector operator');
    else if (values.items.length !== 1) values.required('must be only one value');
    if (item.at('key').text !== 'metadata.name')
      item.at('key').invalid('not a valid field selector key');
    else for (const value of values.items) value.matches(subdomain);
  }
}

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

function weight(term: Place): void {
  const at = term.at('weight');
  if (at.number < 1 || at.number > 100) at.invalid('must be in the range 1-100');
}

export function affinity(at: Place): void {
  const node = at.at('nodeAffinity');
  if (node.at(REQUIRED).isSet) nodeSelector(node.at(REQUIRED));
  for (const term of node.at(PREFERRED).items) {
    weight(term);
    nodeSelectorTerm(term.at('preference'), true);
  }
  for (const pod of [at.at('podAffinity'), at.at('podAntiAffinity')]) {
    for (const term of pod.at(REQUIRED).items) podAffinityTerm(term);
    for (const term of pod.at(PREFERRED).items) {
      weight(term);
      podAffinityTerm(term.at('podAffinityTerm'));
    }
  }
}

function podAffinityTerm(term: Place): void {
  labelSelector(term.at('labelSelector'));
  labelSelector(term.at('namespaceSelector'));
  for (const name of term.at('namespaces').items)
    name.as(term.at('namespace').path).matches(dnsLabel);
  matchLabelKeys(term);
  const key = term.at('topologyKey');
  if (key.isEmpty) key.required('can not be empty');
  key.matches(qualifiedName);
}

function matchLabelKeys(at: Place): void {
  const selector = at.at('labelSelector');
  for (const keys of [at.at('matchLabelKeys'), at.at('mismatchLabelKeys')]) {
    if (keys.isEmpty) continue;
    if (selector.isSet) for (const key of keys.items) key.matches(qualifiedName);
    else keys.forbidden('must not be specified when labelSelector is not set');
  }
  const matching = at.at('matchLabelKeys').items.map(({ text }) => text);
  const selected = new Set(Object.keys(selector.at('matchLabels').members));
  for (const item of selector.at('matchExpressions').items) {
    const key = item.at('key').text;
    const which = matching.lastIndexOf(key);
    if (which >= 0 && selected.has(key))
      at.as(`${at.path}[${which}]`).invalid('exists in both matchLabelKeys and labelSelector');
    selected.add(key);
  }
  const mismatching = at.at('mismatchLabelKeys').items.map(({ text }) => text);
  for (const key of at.at('matchLabelKeys').items)
    if (mismatching.includes(key.text))
      key.invalid('exists in both matchLabelKeys and mismatchLabelKeys');
}

export const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function tolerations(at: Place): void {
  for (const item of at.items) {
    const [key, operator, value, effect] = ['key', 'operator', 'value', 'effect'].map((member) =>
      item.at(member),
    ) as [Place, Place, Place, Place];
    if (!key.isEmpty) key.matches(qualifiedName);
    else if (operator.text !== 'Exists')
      operator.invalid('operator must be Exists when `key` is empty');
    if (item.at('tolerationSeconds').isSet && effect.text !== 'NoExecute')
      effect.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (operator.text === 'Equal' || operator.isEmpty) {
      if (labelValue(value.text).length > 0) operator.invalid(labelValue(value.text).join(';'));
    } else if (operator.text !== 'Exists') operator.notSupported(['Equal', 'Exists']);
    else if (!value.isEmpty) operator.invalid("value must be empty when `operator` is 'Exists'");
    if (!effect.isEmpty) effect.among(EFFECTS);
  }
}

/** An update may add tolerations and change tolerationSeconds. */
export function onlyAddedTolerations(at: Place): void {
  const plain = (item: Place): unknown => ({ ...item.members, tolerationSeconds: undefined });
  const now = at.items.map(plain);
  const isKept = (item: Place): boolean =>
    now.some((other) => sameJson(other as never, plain(item) as never));
  if (at.before.items.every(isKept)) tolerations(at);
  else at.forbidden('existing toleration can not be modified except its tolerationSeconds');
}

export function topologySpread(at: Place): void {
  const all = at.items;
  for (const [index, item] of all.entries()) {
    const [skew, key, when] = [
      item.at('maxSkew'),
      item.at('topologyKey'),
      item.at('whenUnsatisfiable'),
    ];
    if (skew.number <= 0) skew.invalid('must be greater than zero');
    if (key.isEmpty) key.required('can not be empty');
    when.among(['DoNotSchedule', 'ScheduleAnyway']);
    const isSame = (other: Place): boolean =>
      other.at('topologyKey').text === key.text && other.at('whenUnsatisfiable').text === when.text;
    if (all.slice(index + 1).some(isSame))
      item.as(`${item.path}.{topologyKey, whenUnsatisfiable}`).duplicate();
    const domains = item.at('minDomains');
    if (domains.isSet && domains.number <= 0) domains.invalid('must be greater than zero');
    if (domains.isSet && when.text !== 'DoNotSchedule')
      domains.invalid('can only use minDomains if whenUnsatisfiable=DoNotSchedule');
    for (const policy of [item.at('nodeAffinityPolicy'), item.at('nodeTaintsPolicy')])
      if (policy.isSet) policy.among(['Honor', 'Ignore']);
    matchLabelKeys(item);
    labelSelector(item.at('labelSelector'));
  }
}
