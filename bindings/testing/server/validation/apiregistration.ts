/**
 * The rules of APIServices. kubernetes: kube-aggregator
 * pkg/apis/apiregistration/validation/validation.go.
 */
import { label1035, pathSegmentErrors, subdomain } from '../registry/names.ts';
import { portNumber } from './formats.ts';
import type { Place, RuleTable } from './place.ts';

const MOST_GROUP_PRIORITY = 20_000;
const MOST_VERSION_PRIORITY = 1000;

function apiService(object: Place): void {
  const spec = object.at('spec');
  const [group, version] = [spec.at('group'), spec.at('version')];
  const name = object.in('metadata.name');
  // At a create the name was checked with the other metadata.
  const isSegment = !name.isEmpty && pathSegmentErrors(name.text).length === 0;
  if (object.isUpdate && isSegment && name.text !== `${version.text}.${group.text}`)
    name.invalid('must be `spec.version+"."+spec.group`');
  if (!group.isEmpty) group.matches(subdomain);
  else if (version.text !== 'v1')
    group.required('only v1 may have an empty group and it better be legacy kube');
  version.matches(label1035);
  inRange(spec.at('groupPriorityMinimum'), MOST_GROUP_PRIORITY);
  inRange(spec.at('versionPriority'), MOST_VERSION_PRIORITY);
  const [service, bundle] = [spec.at('service'), spec.at('caBundle')];
  const insecure = spec.at('insecureSkipTLSVerify');
  if (!service.isSet) {
    if (!bundle.isEmpty) bundle.invalid('local APIServices may not have a caBundle');
    if (!insecure.isEmpty) insecure.invalid('local APIServices may not skip the check of TLS');
    return;
  }
  service.at('namespace').need();
  service.at('name').need();
  const port = service.at('port');
  if (portNumber(port.number).length > 0) port.invalid('port is not valid');
  if (!insecure.isEmpty && !bundle.isEmpty)
    insecure.invalid('may not be true if caBundle is present');
}

function inRange(at: Place, most: number): void {
  if (at.number <= 0 || at.number > most) at.invalid(`must be positive and less than ${most}`);
}

function status(object: Place): void {
  for (const item of object.in('status.conditions').items)
    item.at('status').among(['True', 'False', 'Unknown']);
}

export const apiregistration: RuleTable = {
  'apiregistration.k8s.io/apiservices': { object: apiService, status },
};
