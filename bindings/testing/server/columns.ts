/**
 * The columns of the Tables in which kubectl shows objects. kubernetes:
 * pkg/printers/internalversion/printers.go. Custom resources have the columns of their definition.
 */
import {
  AGED,
  age,
  at,
  BINDING,
  balancer,
  type Cells,
  class_,
  column,
  containers,
  desired,
  durationText,
  EVENT,
  endpoints,
  event,
  externalIP,
  ingressPorts,
  job,
  listAt,
  modes,
  name,
  node,
  number,
  objects,
  or,
  POLICY,
  type PrintColumn,
  type Printer,
  pod,
  ports,
  quota,
  REPLICAS,
  roleRef,
  selectorText,
  sinceText,
  some,
  storedData,
  subjects,
  targets,
  text,
} from './cells.ts';
import { isObject, type Json, type JsonObject, objectAt, stringAt } from './json.ts';
import type { Kind } from './registry/kinds.ts';
import { metadataOf } from './registry/store.ts';

const suspended = (value: Json | undefined): string =>
  value === true ? 'True' : value === false ? 'False' : '<unset>';

const POLICY_BINDING: [columns: string, cells: Cells] = [
  'Name|PolicyName|ParamRef|Age',
  (o, now) => [name(o), text(o, 'spec', 'policyName'), paramRef(o), age(o, now)],
];

function paramRef(o: JsonObject): string {
  const ref = objectAt(objectAt(o, 'spec'), 'paramRef');
  const named = text(ref, 'name');
  if (named !== '') return `${text(ref, 'namespace') || '*'}/${named}`;
  return isObject(ref.selector) ? goSelector(ref.selector) : '<unset>';
}

/** A selector as Go prints it. */
function goSelector(selector: JsonObject): string {
  const labels = objectAt(selector, 'matchLabels');
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}: ${String(labels[key])},`);
  const expressions = listAt(selector, 'matchExpressions').map((each) => {
    const of = isObject(each) ? each : {};
    const values = listAt(of, 'values').join(' ');
    return `LabelSelectorRequirement{Key:${text(of, 'key')},Operator:${text(of, 'operator')},Values:[${values}],},`;
  });
  return `&LabelSelector{MatchLabels:map[string]string{${pairs.join('')}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`;
}

/** By group and plural. */
const PRINTERS: Record<string, [columns: string, cells: Cells]> = {
  '/configmaps': ['Name|Data|Age', (o, now) => [name(o), storedData(o), age(o, now)]],
  'autoscaling/scales': [
    'Name|Desired:integer|Available:integer|Age',
    (o, now) => [
      name(o),
      number(o, 'spec', 'replicas'),
      number(o, 'status', 'replicas'),
      age(o, now),
    ],
  ],
  '/secrets': [
    'Name|Type|Data|Age',
    (o, now) => [name(o), text(o, 'type'), storedData(o), age(o, now)],
  ],
  '/endpoints': ['Name|Endpoints|Age', (o, now) => [name(o), endpoints(o), age(o, now)]],
  '/events': [EVENT, event],
  'events.k8s.io/events': [EVENT, event],
  '/namespaces': [
    'Name|Status|Age',
    (o, now) => [name(o), text(o, 'status', 'phase'), age(o, now)],
  ],
  '/nodes': [
    'Name|Status|Roles|Age|Version|Internal-IP*|External-IP*|OS-Image*|Kernel-Version*|Container-Runtime*',
    node,
  ],
  '/persistentvolumeclaims': [
    'Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode*',
    (o, now) => {
      const bound = text(o, 'spec', 'volumeName') !== '';
      const ends = stringAt(metadataOf(o), 'deletionTimestamp') !== '';
      return [
        name(o),
        ends ? 'Terminating' : text(o, 'status', 'phase'),
        text(o, 'spec', 'volumeName'),
        bound ? text(o, 'status', 'capacity', 'storage') : '',
        bound ? modes(listAt(o, 'status', 'accessModes')) : '',
        text(o, 'spec', 'storageClassName'),
        class_(o),
        age(o, now),
        or(text(o, 'spec', 'volumeMode'), '<unset>'),
      ];
    },
  ],
  '/persistentvolumes': [
    'Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode*',
    (o, now) => {
      const claim = objectAt(objectAt(o, 'spec'), 'claimRef');
      const ends = stringAt(metadataOf(o), 'deletionTimestamp') !== '';
      return [
        name(o),
        text(o, 'spec', 'capacity', 'storage'),
        modes(listAt(o, 'spec', 'accessModes')),
        text(o, 'spec', 'persistentVolumeReclaimPolicy'),
        ends ? 'Terminating' : text(o, 'status', 'phase'),
        claim.name === undefined ? '' : `${text(claim, 'namespace')}/${text(claim, 'name')}`,
        text(o, 'spec', 'storageClassName'),
        class_(o),
        text(o, 'status', 'reason'),
        age(o, now),
        or(text(o, 'spec', 'volumeMode'), '<unset>'),
      ];
    },
  ],
  '/pods': ['Name|Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*', pod],
  '/podtemplates': [
    'Name|Containers|Images|Pod Labels',
    (o) => [
      name(o),
      ...containers(o, 'template', 'spec'),
      selectorText(at(o, 'template', 'metadata', 'labels'), true),
    ],
  ],
  '/replicationcontrollers': [
    REPLICAS,
    (o, now) => [...desired(o, now), selectorText(at(o, 'spec', 'selector'), true)],
  ],
  '/resourcequotas': ['Name|Request|Limit|Age', (o, now) => [name(o), ...quota(o), age(o, now)]],
  '/serviceaccounts': ['Name|Age', AGED],
  '/services': [
    'Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector*',
    (o, now) => [
      name(o),
      text(o, 'spec', 'type'),
      or(text(o, 'spec', 'clusterIP'), '<none>'),
      externalIP(o),
      ports(o),
      age(o, now),
      selectorText(at(o, 'spec', 'selector'), true),
    ],
  ],
  'apiregistration.k8s.io/apiservices': [
    'Name|Service|Available|Age',
    (o, now) => {
      const service = objectAt(objectAt(o, 'spec'), 'service');
      const shown =
        service.name === undefined
          ? 'Local'
          : `${text(service, 'namespace')}/${text(service, 'name')}`;
      return [name(o), shown, 'True', age(o, now)];
    },
  ],
  'apps/controllerrevisions': [
    'Name|Controller|Revision|Age',
    (o, now) => {
      const owners = objects(metadataOf(o), 'ownerReferences');
      const owner = owners.find(({ controller }) => controller === true);
      const shown =
        owner === undefined
          ? '<none>'
          : `${text(owner, 'kind').toLowerCase()}.${text(owner, 'apiVersion').split('/')[0]}/${text(owner, 'name')}`;
      return [name(o), shown, number(o, 'revision'), age(o, now)];
    },
  ],
  'apps/daemonsets': [
    'Name|Desired:integer|Current:integer|Ready:integer|Up-to-date:integer|Available:integer|Node Selector|Age|Containers*|Images*|Selector*',
    (o, now) => [
      name(o),
      number(o, 'status', 'desiredNumberScheduled'),
      number(o, 'status', 'currentNumberScheduled'),
      number(o, 'status', 'numberReady'),
      number(o, 'status', 'updatedNumberScheduled'),
      number(o, 'status', 'numberAvailable'),
      selectorText(at(o, 'spec', 'template', 'spec', 'nodeSelector'), true),
      age(o, now),
      ...containers(o, 'spec', 'template', 'spec'),
      selectorText(at(o, 'spec', 'selector')),
    ],
  ],
  'apps/deployments': [
    'Name|Ready|Up-to-date|Available|Age|Containers*|Images*|Selector*',
    (o, now) => [
      name(o),
      `${number(o, 'status', 'readyReplicas')}/${number(o, 'spec', 'replicas')}`,
      number(o, 'status', 'updatedReplicas'),
      number(o, 'status', 'availableReplicas'),
      age(o, now),
      ...containers(o, 'spec', 'template', 'spec'),
      isObject(at(o, 'spec', 'selector')) ? selectorText(at(o, 'spec', 'selector')) : '',
    ],
  ],
  'apps/replicasets': [
    REPLICAS,
    (o, now) => [...desired(o, now), selectorText(at(o, 'spec', 'selector'))],
  ],
  'apps/statefulsets': [
    'Name|Ready|Age|Containers*|Images*',
    (o, now) => [
      name(o),
      `${number(o, 'status', 'readyReplicas')}/${number(o, 'spec', 'replicas')}`,
      age(o, now),
      ...containers(o, 'spec', 'template', 'spec'),
    ],
  ],
  'autoscaling/horizontalpodautoscalers': [
    'Name|Reference|Targets|MinPods|MaxPods|Replicas|Age',
    (o, now) => [
      name(o),
      `${text(o, 'spec', 'scaleTargetRef', 'kind')}/${text(o, 'spec', 'scaleTargetRef', 'name')}`,
      targets(o),
      or(text(o, 'spec', 'minReplicas'), '<unset>'),
      number(o, 'spec', 'maxReplicas'),
      number(o, 'status', 'currentReplicas'),
      age(o, now),
    ],
  ],
  'batch/cronjobs': [
    'Name|Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|Age|Containers*|Images*|Selector*',
    (o, now) => {
      const last = text(o, 'status', 'lastScheduleTime');
      return [
        name(o),
        text(o, 'spec', 'schedule'),
        or(text(o, 'spec', 'timeZone'), '<none>'),
        suspended(at(o, 'spec', 'suspend')),
        listAt(o, 'status', 'active').length,
        last === '' ? '<none>' : sinceText(last, now),
        age(o, now),
        ...containers(o, 'spec', 'jobTemplate', 'spec', 'template', 'spec'),
        selectorText(at(o, 'spec', 'jobTemplate', 'spec', 'selector')),
      ];
    },
  ],
  'batch/jobs': ['Name|Status|Completions|Duration|Age|Containers*|Images*|Selector*', job],
  'certificates.k8s.io/certificatesigningrequests': [
    'Name|Age|SignerName|Requestor|RequestedDuration|Condition',
    (o, now) => {
      const seconds = at(o, 'spec', 'expirationSeconds');
      const types = objects(o, 'status', 'conditions').map(({ type }) => String(type));
      const decided = types.includes('Denied')
        ? 'Denied'
        : types.includes('Approved')
          ? 'Approved'
          : 'Pending';
      const issued = text(o, 'status', 'certificate') === '' ? '' : ',Issued';
      return [
        name(o),
        age(o, now),
        text(o, 'spec', 'signerName'),
        text(o, 'spec', 'username'),
        typeof seconds === 'number' ? durationText(seconds * 1000) : '<none>',
        decided + issued,
      ];
    },
  ],
  'coordination.k8s.io/leases': [
    'Name|Holder|Age',
    (o, now) => [name(o), text(o, 'spec', 'holderIdentity'), age(o, now)],
  ],
  'networking.k8s.io/ingressclasses': [
    'Name|Controller|Parameters|Age',
    (o, now) => {
      const parameters = objectAt(objectAt(o, 'spec'), 'parameters');
      const group = text(parameters, 'apiGroup');
      const shown =
        parameters.name === undefined
          ? '<none>'
          : `${text(parameters, 'kind')}${group === '' ? '' : `.${group}`}/${text(parameters, 'name')}`;
      return [name(o), text(o, 'spec', 'controller'), shown, age(o, now)];
    },
  ],
  'networking.k8s.io/ingresses': [
    'Name|Class|Hosts|Address|Ports|Age',
    (o, now) => [
      name(o),
      or(text(o, 'spec', 'ingressClassName'), '<none>'),
      or(
        objects(o, 'spec', 'rules')
          .map((rule) => text(rule, 'host'))
          .filter((host) => host !== '')
          .join(','),
        '*',
      ),
      balancer(o),
      ingressPorts(o),
      age(o, now),
    ],
  ],
  'networking.k8s.io/networkpolicies': [
    'Name|Pod-Selector|Age',
    (o, now) => [name(o), selectorText(at(o, 'spec', 'podSelector')), age(o, now)],
  ],
  'networking.k8s.io/servicecidrs': [
    'Name|CIDRs|Age',
    (o, now) => [name(o), listAt(o, 'spec', 'cidrs').join(','), age(o, now)],
  ],
  'policy/poddisruptionbudgets': [
    'Name|Min Available|Max Unavailable|Allowed Disruptions:integer|Age',
    (o, now) => [
      name(o),
      or(text(o, 'spec', 'minAvailable'), 'N/A'),
      or(text(o, 'spec', 'maxUnavailable'), 'N/A'),
      number(o, 'status', 'disruptionsAllowed'),
      age(o, now),
    ],
  ],
  'rbac.authorization.k8s.io/rolebindings': [
    BINDING,
    (o, now) => [name(o), roleRef(o), age(o, now), ...subjects(o)],
  ],
  'rbac.authorization.k8s.io/clusterrolebindings': [
    BINDING,
    (o, now) => [name(o), roleRef(o), age(o, now), ...subjects(o)],
  ],
  'storage.k8s.io/csidrivers': [
    'Name|AttachRequired:boolean|PodInfoOnMount:boolean|StorageCapacity:boolean|TokenRequests|RequiresRepublish:boolean|Modes|Age',
    (o, now) => {
      const spec = objectAt(o, 'spec');
      const requests = objects(o, 'spec', 'tokenRequests').map(({ audience }) => String(audience));
      return [
        name(o),
        spec.attachRequired ?? true,
        spec.podInfoOnMount ?? false,
        spec.storageCapacity ?? false,
        or(requests.join(','), '<unset>'),
        spec.requiresRepublish ?? false,
        or(listAt(o, 'spec', 'volumeLifecycleModes').join(','), '<none>'),
        age(o, now),
      ];
    },
  ],
  'storage.k8s.io/csinodes': [
    'Name|Drivers:integer|Age',
    (o, now) => [name(o), listAt(o, 'spec', 'drivers').length, age(o, now)],
  ],
  'storage.k8s.io/storageclasses': [
    'Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age',
    (o, now) => {
      const isDefault =
        objectAt(metadataOf(o), 'annotations')['storageclass.kubernetes.io/is-default-class'] ===
        'true';
      return [
        isDefault ? `${name(o)} (default)` : name(o),
        text(o, 'provisioner'),
        or(text(o, 'reclaimPolicy'), 'Delete'),
        or(text(o, 'volumeBindingMode'), 'Immediate'),
        o.allowVolumeExpansion === true,
        age(o, now),
      ];
    },
  ],
  'storage.k8s.io/volumeattachments': [
    'Name|Attacher|PV|Node|Attached:boolean|Age',
    (o, now) => [
      name(o),
      text(o, 'spec', 'attacher'),
      text(o, 'spec', 'source', 'persistentVolumeName'),
      text(o, 'spec', 'nodeName'),
      at(o, 'status', 'attached') === true,
      age(o, now),
    ],
  ],
  'storage.k8s.io/volumeattributesclasses': [
    'Name|DriverName|Age',
    (o, now) => [name(o), text(o, 'driverName'), age(o, now)],
  ],
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': [
    'Name|Webhooks:integer|Age',
    (o, now) => [name(o), listAt(o, 'webhooks').length, age(o, now)],
  ],
  'admissionregistration.k8s.io/validatingwebhookconfigurations': [
    'Name|Webhooks:integer|Age',
    (o, now) => [name(o), listAt(o, 'webhooks').length, age(o, now)],
  ],
  'admissionregistration.k8s.io/validatingadmissionpolicies': [
    POLICY,
    (o, now) => [name(o), listAt(o, 'spec', 'validations').length, paramKind(o), age(o, now)],
  ],
  'admissionregistration.k8s.io/mutatingadmissionpolicies': [
    'Name|Mutations:integer|ParamKind|Age',
    (o, now) => [name(o), listAt(o, 'spec', 'mutations').length, paramKind(o), age(o, now)],
  ],
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': POLICY_BINDING,
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': POLICY_BINDING,
  'scheduling.k8s.io/priorityclasses': [
    'Name|Value:integer|Global-Default:boolean|Age|PreemptionPolicy',
    (o, now) => [
      name(o),
      number(o, 'value'),
      o.globalDefault === true,
      age(o, now),
      text(o, 'preemptionPolicy'),
    ],
  ],
  'discovery.k8s.io/endpointslices': [
    'Name|AddressType|Ports|Endpoints|Age',
    (o, now) => [
      name(o),
      text(o, 'addressType'),
      some(objects(o, 'ports').map((each) => text(each, 'port') || '*')),
      some(objects(o, 'endpoints').flatMap((each) => listAt(each, 'addresses').map(String))),
      age(o, now),
    ],
  ],
  'flowcontrol.apiserver.k8s.io/flowschemas': [
    'Name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL',
    (o, now) => [
      name(o),
      text(o, 'spec', 'priorityLevelConfiguration', 'name'),
      number(o, 'spec', 'matchingPrecedence'),
      or(text(o, 'spec', 'distinguisherMethod', 'type'), '<none>'),
      age(o, now),
      objects(o, 'status', 'conditions').find(({ type }) => type === 'Dangling')?.status ?? '?',
    ],
  ],
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': [
    'Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age',
    (o, now) => {
      const spec = objectAt(o, 'spec');
      const queuing = objectAt(objectAt(objectAt(spec, 'limited'), 'limitResponse'), 'queuing');
      const of = (value: Json | undefined): Json => value ?? '<none>';
      return [
        name(o),
        text(spec, 'type'),
        of(objectAt(spec, 'limited').nominalConcurrencyShares),
        of(queuing.queues),
        of(queuing.handSize),
        of(queuing.queueLengthLimit),
        age(o, now),
      ];
    },
  ],
  'networking.k8s.io/ipaddresses': [
    'Name|ParentRef',
    (o, now) => {
      const parent = objectAt(objectAt(o, 'spec'), 'parentRef');
      const [group, namespace] = [text(parent, 'group'), text(parent, 'namespace')];
      const resource =
        `${text(parent, 'resource')}${group === '' ? '' : `.${group}`}`.toLowerCase();
      const parts = [resource, ...(namespace === '' ? [] : [namespace]), text(parent, 'name')];
      return [name(o), parts.join('/'), age(o, now)];
    },
  ],
  'resource.k8s.io/deviceclasses': ['Name|Age', AGED],
  'resource.k8s.io/resourceclaimtemplates': ['Name|Age', AGED],
  'resource.k8s.io/resourceclaims': [
    'Name|State|Age',
    (o, now) => {
      const allocated = at(o, 'status', 'allocation') !== undefined;
      const reserved = listAt(o, 'status', 'reservedFor').length > 0;
      const state = allocated ? (reserved ? 'allocated,reserved' : 'allocated') : 'pending';
      return [name(o), state, age(o, now)];
    },
  ],
  'resource.k8s.io/resourceslices': [
    'Name|Node|Driver|Pool|Age',
    (o, now) => [
      name(o),
      text(o, 'spec', 'nodeName'),
      text(o, 'spec', 'driver'),
      text(o, 'spec', 'pool', 'name'),
      age(o, now),
    ],
  ],
  'node.k8s.io/runtimeclasses': [
    'Name|Handler|Age',
    (o, now) => [name(o), text(o, 'handler'), age(o, now)],
  ],
};

function paramKind(object: JsonObject): string {
  const kind = objectAt(objectAt(object, 'spec'), 'paramKind');
  return kind.kind === undefined ? '<unset>' : `${text(kind, 'apiVersion')}/${text(kind, 'kind')}`;
}

/** Of kinds without a printer of their own: limitranges, roles. */
const PLAIN: Printer = {
  columns: [column('Name'), { ...column('Created At'), type: 'date' }],
  cells: (object) => [
    name(object),
    stringAt(metadataOf(object), 'creationTimestamp') || '0001-01-01T00:00:00Z',
  ],
};

export function printerOf(kind: Kind): Printer {
  if (!kind.builtIn) return customPrinter(kind.printerColumns ?? []);
  const found = PRINTERS[`${kind.group}/${kind.plural}`];
  if (found === undefined) return PLAIN;
  const [columns, cells] = found;
  return { columns: columns.split('|').map(column), cells };
}

/** apiextensions-apiserver: pkg/registry/customresource/tableconvertor. */
function customPrinter(columns: readonly JsonObject[]): Printer {
  if (columns.length === 0)
    return { columns: [column('Name'), column('Age')].map(dated), cells: AGED };
  return {
    columns: [
      column('Name'),
      ...columns.map((each) => ({
        name: stringAt(each, 'name'),
        type: stringAt(each, 'type'),
        format: stringAt(each, 'format'),
        description: stringAt(each, 'description'),
        priority: typeof each.priority === 'number' ? each.priority : 0,
      })),
    ],
    cells: (object, now) => [
      name(object),
      ...columns.map((each) => {
        const value = at(object, ...pathOf(stringAt(each, 'jsonPath')));
        if (value === undefined || value === null) return null;
        if (each.type === 'date') return sinceText(String(value), now);
        return typeof value === 'object' ? JSON.stringify(value) : value;
      }),
    ],
  };
}

const dated = (each: PrintColumn): PrintColumn =>
  each.name === 'Age' ? { ...each, type: 'date' } : each;

/** `.spec.host`, as far as printer columns need it: names, and items of lists by number. */
function pathOf(jsonPath: string): string[] {
  return jsonPath
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .split('.')
    .filter((part) => part !== '');
}
