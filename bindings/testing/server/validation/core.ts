/** The rules of the kinds of the core group. kubernetes: pkg/apis/core/validation/validation.go. */
import { isObject, readJson } from '../json.ts';
import { configKey } from '../registry/names.ts';
import { fieldTooLong } from '../status.ts';
import { claim, claimStatus } from './claims.ts';
import {
  limitRange,
  namespaceFinalizers,
  namespaceSpec,
  namespaceStatus,
  node,
  nodeChange,
  quotaStatus,
  resourceQuota,
} from './limits-and-nodes.ts';
import { persistentVolume } from './persistent-volumes.ts';
import type { Place, RuleTable } from './place.ts';
import { podTemplate } from './pod-spec.ts';
import { ephemeralContainersChange, podResize } from './pod-subresources.ts';
import { pod, podStatus } from './pods.ts';
import { endpoints, service, serviceStatus } from './services.ts';

/** The maximum size of all values of a ConfigMap or Secret, in bytes. */
const MOST_DATA = 1024 * 1024;
/** How Go writes an empty path. */
const NO_PATH = '[]';

/** An immutable object cannot change its data, nor become mutable. */
function frozen(object: Place, ...members: string[]): void {
  const flag = object.at('immutable');
  if (flag.was !== true) return;
  const why = 'field is immutable when `immutable` is set';
  if (flag.value !== true) flag.forbidden(why);
  for (const name of members) if (object.at(name).isChanged) object.at(name).forbidden(why);
}

function configMap(object: Place): void {
  frozen(object, 'data', 'binaryData');
  const [data, binary] = [object.at('data'), object.at('binaryData')];
  let size = 0;
  for (const [key, at] of data.entries) {
    at.matches(configKey, key);
    if (Object.hasOwn(binary.members, key))
      at.invalid('duplicate of key present in binaryData', key);
    size += Buffer.byteLength(at.text);
  }
  for (const [key, at] of binary.entries) {
    at.matches(configKey, key);
    size += Buffer.byteLength(at.text, 'base64');
  }
  if (size > MOST_DATA) object.report(fieldTooLong(NO_PATH, MOST_DATA));
}

/** The required keys by type of Secret. */
const SECRET_KEYS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
};

function secret(object: Place): void {
  object.at('type').immutable();
  frozen(object, 'data');
  const data = object.at('data');
  let size = 0;
  for (const [key, at] of data.entries) {
    at.matches(configKey, key);
    size += Buffer.byteLength(at.text, 'base64');
  }
  if (size > MOST_DATA) data.tooLong(MOST_DATA);
  const type = object.at('type').text;
  if (type === 'kubernetes.io/service-account-token')
    object.in('metadata.annotations').key('kubernetes.io/service-account.name').need();
  const basic = ['username', 'password'].map((key) => data.key(key));
  if (type === 'kubernetes.io/basic-auth' && basic.every((at) => !at.isSet))
    for (const at of basic) at.required();
  for (const key of SECRET_KEYS[type] ?? []) {
    const at = data.key(key);
    if (type === 'kubernetes.io/ssh-auth' ? at.isEmpty : !at.isSet) at.required();
    else if (key.startsWith('.docker') && !isJsonObject(at.text))
      at.invalid('must be a JSON object');
  }
}

function isJsonObject(base64: string): boolean {
  try {
    const value = readJson(Buffer.from(base64, 'base64').toString());
    return value === null || isObject(value);
  } catch {
    return false;
  }
}

export const core: RuleTable = {
  '/configmaps': { object: configMap },
  '/endpoints': { object: endpoints },
  '/limitranges': { object: limitRange },
  '/namespaces': { object: namespaceSpec, status: namespaceStatus, finalize: namespaceFinalizers },
  '/nodes': { object: node, status: nodeChange },
  '/persistentvolumeclaims': { object: claim, status: claimStatus },
  '/persistentvolumes': { object: persistentVolume },
  '/pods': {
    object: pod,
    status: podStatus,
    ephemeralcontainers: ephemeralContainersChange,
    resize: podResize,
  },
  '/podtemplates': { object: (object) => podTemplate(object.at('template')) },
  '/resourcequotas': { object: resourceQuota, status: quotaStatus },
  '/secrets': { object: secret },
  '/services': { object: service, status: serviceStatus },
};
