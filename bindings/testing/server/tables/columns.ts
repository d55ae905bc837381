/**
 * The columns of the Tables that kubectl asks for. kubernetes:
 * pkg/printers/internalversion/printers.go. Custom resources have the columns of their definition.
 */

import { jsonText } from '../../../base/exact-json.ts';
import { isObject, type Json, type JsonObject, memberObject, stringAt } from '../json.ts';
import type { Kind } from '../registry/kinds.ts';
import { metadataOf } from '../registry/store.ts';
import {
  accessModesCell,
  age,
  at,
  BINDING_COLUMNS,
  type Cells,
  column,
  containerCells,
  durationText,
  EVENT_COLUMNS,
  endpointsCell,
  eventCells,
  externalIP,
  firstThree,
  ingressAddresses,
  ingressPorts,
  jobCells,
  listAt,
  name,
  nameAndAge,
  nodeCells,
  numberField,
  objects,
  orDefault,
  POLICY_COLUMNS,
  type PrintColumn,
  type Printer,
  podCells,
  portsCell,
  quotaCells,
  REPLICAS_COLUMNS,
  replicationCells,
  roleRef,
  selectorText,
  sinceText,
  storedData,
  subjectsCells,
  targetsCell,
  textField,
  volumeClass,
} from './cells.ts';
import { firstAt } from './json-path.ts';

const suspended = (value: Json | undefined): string =>
  value === true ? 'True' : value === false ? 'False' : '<unset>';

const POLICY_BINDING: [columns: string, cells: Cells] = [
  'Name|PolicyName|ParamRef|Age',
  (o, now) => [name(o), textField(o, 'spec', 'policyName'), paramRef(o), age(o, now)],
];

function ownerText(owner: JsonObject): string {
  const [group] = textField(owner, 'apiVersion').split('/');
  return `${textField(owner, 'kind').toLowerCase()}.${group}/${textField(owner, 'name')}`;
}

function paramRef(o: JsonObject): string {
  const ref = memberObject(memberObject(o, 'spec'), 'paramRef');
  const named = textField(ref, 'name');
  if (named !== '') return `${textField(ref, 'namespace') || '*'}/${named}`;
  return isObject(ref.selector) ? goSelector(ref.selector) : '<unset>';
}

/** A selector as Go prints it. */
function goSelector(selector: JsonObject): string {
  const labels = memberObject(selector, 'matchLabels');
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}: ${String(labels[key])},`);
  const expressions = listAt(selector, 'matchExpressions').map((each) => {
    const of = isObject(each) ? each : {};
    const values = listAt(of, 'values').join(' ');
    return (
      `LabelSelectorRequirement{Key:${textField(of, 'key')},` +
      `Operator:${textField(of, 'operator')},Values:[${values}],},`
    );
  });
  return (
    `&LabelSelector{MatchLabels:map[string]string{${pairs.join('')}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`
  );
}

/** By group and plural. */
const PRINTERS: Record<string, [columns: string, cells: Cells]> = {
  '/configmaps': ['Name|Data|Age', (o, now) => [name(o), storedData(o), age(o, now)]],
  'autoscaling/scales': [
    'Name|Desired:integer|Available:integer|Age',
    (o, now) => [
      name(o),
      numberField(o, 'spec', 'replicas'),
      numberField(o, 'status', 'replicas'),
      age(o, now),
    ],
  ],
  '/secrets': [
    'Name|Type|Data|Age',
    (o, now) => [name(o), textField(o, 'type'), storedData(o), age(o, now)],
  ],
  '/endpoints': ['Name|Endpoints|Age', (o, now) => [name(o), endpointsCell(o), age(o, now)]],
  '/events': [EVENT_COLUMNS, eventCells],
  'events.k8s.io/events': [EVENT_COLUMNS, eventCells],
  '/namespaces': [
    'Name|Status|Age',
    (o, now) => [name(o), textField(o, 'status', 'phase'), age(o, now)],
  ],
  '/nodes': [
    'Name|Status|Roles|Age|Version|Internal-IP*|External-IP*|OS-Image*|Kernel-Version*|' +
      'Container-Runtime*',
    nodeCells,
  ],
  '/persistentvolumeclaims': [
    'Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode*',
    (o, now) => {
      const bound = textField(o, 'spec', 'volumeName') !== '';
      const ends = stringAt(metadataOf(o), 'deletionTimestamp') !== '';
      return [
        name(o),
        ends ? 'Terminating' : textField(o, 'status', 'phase'),
        textField(o, 'spec', 'volumeName'),
        bound ? textField(o, 'status', 'capacity', 'storage') : '',
        bound ? accessModesCell(listAt(o, 'status', 'accessModes')) : '',
        textField(o, 'spec', 'storageClassName'),
        volumeClass(o),
        age(o, now),
        orDefault(textField(o, 'spec', 'volumeMode'), '<unset>'),
      ];
    },
  ],
  '/persistentvolumes': [
    'Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|' +
      'Reason|Age|VolumeMode*',
    (o, now) => {
      const claim = memberObject(memberObject(o, 'spec'), 'claimRef');
      const ends = stringAt(metadataOf(o), 'deletionTimestamp') !== '';
      return [
        name(o),
        textField(o, 'spec', 'capacity', 'storage'),
        accessModesCell(listAt(o, 'spec', 'accessModes')),
        textField(o, 'spec', 'persistentVolumeReclaimPolicy'),
        ends ? 'Terminating' : textField(o, 'status', 'phase'),
        claim.name === undefined
          ? ''
          : `${textField(claim, 'namespace')}/${textField(claim, 'name')}`,
        textField(o, 'spec', 'storageClassName'),
        volumeClass(o),
        textField(o, 'status', 'reason'),
        age(o, now),
        orDefault(textField(o, 'spec', 'volumeMode'), '<unset>'),
      ];
    },
  ],
  '/pods': ['Name|Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*', podCells],
  '/podtemplates': [
    'Name|Containers|Images|Pod Labels',
    (o) => [
      name(o),
      ...containerCells(o, 'template', 'spec'),
      selectorText(at(o, 'template', 'metadata', 'labels'), true),
    ],
  ],
  '/replicationcontrollers': [
    REPLICAS_COLUMNS,
    (o, now) => [...replicationCells(o, now), selectorText(at(o, 'spec', 'selector'), true)],
  ],
  '/resourcequotas': [
    'Name|Request|Limit|Age',
    (o, now) => [name(o), ...quotaCells(o), age(o, now)],
  ],
  '/serviceaccounts': ['Name|Age', nameAndAge],
  '/services': [
    'Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector*',
    (o, now) => [
      name(o),
      textField(o, 'spec', 'type'),
      orDefault(textField(o, 'spec', 'clusterIP'), '<none>'),
      externalIP(o),
      portsCell(o),
      age(o, now),
      selectorText(at(o, 'spec', 'selector'), true),
    ],
  ],
  'apiregistration.k8s.io/apiservices': [
    'Name|Service|Available|Age',
    (o, now) => {
      const service = memberObject(memberObject(o, 'spec'), 'service');
      const shown =
        service.name === undefined
          ? 'Local'
          : `${textField(service, 'namespace')}/${textField(service, 'name')}`;
      return [name(o), shown, 'True', age(o, now)];
    },
  ],
  'apps/controllerrevisions': [
    'Name|Controller|Revision|Age',
    (o, now) => {
      const owners = objects(metadataOf(o), 'ownerReferences');
      const owner = owners.find(({ controller }) => controller === true);
      const controller = owner === undefined ? '<none>' : ownerText(owner);
      return [name(o), controller, numberField(o, 'revision'), age(o, now)];
    },
  ],
  'apps/daemonsets': [
    'Name|Desired:integer|Current:integer|Ready:integer|Up-to-date:integer|Available:integer|' +
      'Node Selector|Age|Containers*|Images*|Selector*',
    (o, now) => [
      name(o),
      numberField(o, 'status', 'desiredNumberScheduled'),
      numberField(o, 'status', 'currentNumberScheduled'),
      numberField(o, 'status', 'numberReady'),
      numberField(o, 'status', 'updatedNumberScheduled'),
      numberField(o, 'status', 'numberAvailable'),
      selectorText(at(o, 'spec', 'template', 'spec', 'nodeSelector'), true),
      age(o, now),
      ...containerCells(o, 'spec', 'template', 'spec'),
      selectorText(at(o, 'spec', 'selector')),
    ],
  ],
  'apps/deployments': [
    'Name|Ready|Up-to-date|Available|Age|Containers*|Images*|Selector*',
    (o, now) => [
      name(o),
      `${numberField(o, 'status', 'readyReplicas')}/${numberField(o, 'spec', 'replicas')}`,
      numberField(o, 'status', 'updatedReplicas'),
      numberField(o, 'status', 'availableReplicas'),
      age(o, now),
      ...containerCells(o, 'spec', 'template', 'spec'),
      isObject(at(o, 'spec', 'selector')) ? selectorText(at(o, 'spec', 'selector')) : '',
    ],
  ],
  'apps/replicasets': [
    REPLICAS_COLUMNS,
    (o, now) => [...replicationCells(o, now), selectorText(at(o, 'spec', 'selector'))],
  ],
  'apps/statefulsets': [
    'Name|Ready|Age|Containers*|Images*',
    (o, now) => [
      name(o),
      `${numberField(o, 'status', 'readyReplicas')}/${numberField(o, 'spec', 'replicas')}`,
      age(o, now),
      ...containerCells(o, 'spec', 'template', 'spec'),
    ],
  ],
  'autoscaling/horizontalpodautoscalers': [
    'Name|Reference|Targets|MinPods|MaxPods|Replicas|Age',
    (o, now) => [
      name(o),
      `${textField(o, 'spec', 'scaleTargetRef', 'kind')}/` +
        `${textField(o, 'spec', 'scaleTargetRef', 'name')}`,
      targetsCell(o),
      orDefault(textField(o, 'spec', 'minReplicas'), '<unset>'),
      numberField(o, 'spec', 'maxReplicas'),
      numberField(o, 'status', 'currentReplicas'),
      age(o, now),
    ],
  ],
  'batch/cronjobs': [
    'Name|Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|Age|Containers*|' +
      'Images*|Selector*',
    (o, now) => {
      const last = textField(o, 'status', 'lastScheduleTime');
      return [
        name(o),
        textField(o, 'spec', 'schedule'),
        orDefault(textField(o, 'spec', 'timeZone'), '<none>'),
        suspended(at(o, 'spec', 'suspend')),
        listAt(o, 'status', 'active').length,
        last === '' ? '<none>' : sinceText(last, now),
        age(o, now),
        ...containerCells(o, 'spec', 'jobTemplate', 'spec', 'template', 'spec'),
        selectorText(at(o, 'spec', 'jobTemplate', 'spec', 'selector')),
      ];
    },
  ],
  'batch/jobs': ['Name|Status|Completions|Duration|Age|Containers*|Images*|Selector*', jobCells],
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
      const issued = textField(o, 'status', 'certificate') === '' ? '' : ',Issued';
      return [
        name(o),
        age(o, now),
        textField(o, 'spec', 'signerName'),
        textField(o, 'spec', 'username'),
        typeof seconds === 'number' ? durationText(seconds * 1000) : '<none>',
        decided + issued,
      ];
    },
  ],
  'coordination.k8s.io/leases': [
    'Name|Holder|Age',
    (o, now) => [name(o), textField(o, 'spec', 'holderIdentity'), age(o, now)],
  ],
  'networking.k8s.io/ingressclasses': [
    'Name|Controller|Parameters|Age',
    (o, now) => {
      const parameters = memberObject(memberObject(o, 'spec'), 'parameters');
      const group = textField(parameters, 'apiGroup');
      const shown =
        parameters.name === undefined
          ? '<none>'
          : `${textField(parameters, 'kind')}${group === '' ? '' : `.${group}`}/` +
            `${textField(parameters, 'name')}`;
      return [name(o), textField(o, 'spec', 'controller'), shown, age(o, now)];
    },
  ],
  'networking.k8s.io/ingresses': [
    'Name|Class|Hosts|Address|Ports|Age',
    (o, now) => [
      name(o),
      orDefault(textField(o, 'spec', 'ingressClassName'), '<none>'),
      orDefault(
        objects(o, 'spec', 'rules')
          .map((rule) => textField(rule, 'host'))
          .filter((host) => host !== '')
          .join(','),
        '*',
      ),
      ingressAddresses(o),
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
      orDefault(textField(o, 'spec', 'minAvailable'), 'N/A'),
      orDefault(textField(o, 'spec', 'maxUnavailable'), 'N/A'),
      numberField(o, 'status', 'disruptionsAllowed'),
      age(o, now),
    ],
  ],
  'rbac.authorization.k8s.io/rolebindings': [
    BINDING_COLUMNS,
    (o, now) => [name(o), roleRef(o), age(o, now), ...subjectsCells(o)],
  ],
  'rbac.authorization.k8s.io/clusterrolebindings': [
    BINDING_COLUMNS,
    (o, now) => [name(o), roleRef(o), age(o, now), ...subjectsCells(o)],
  ],
  'storage.k8s.io/csidrivers': [
    'Name|AttachRequired:boolean|PodInfoOnMount:boolean|StorageCapacity:boolean|TokenRequests|' +
      'RequiresRepublish:boolean|Modes|Age',
    (o, now) => {
      const spec = memberObject(o, 'spec');
      const requests = objects(o, 'spec', 'tokenRequests').map(({ audience }) => String(audience));
      return [
        name(o),
        spec.attachRequired ?? true,
        spec.podInfoOnMount ?? false,
        spec.storageCapacity ?? false,
        orDefault(requests.join(','), '<unset>'),
        spec.requiresRepublish ?? false,
        orDefault(listAt(o, 'spec', 'volumeLifecycleModes').join(','), '<none>'),
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
        memberObject(metadataOf(o), 'annotations')[
          'storageclass.kubernetes.io/is-default-class'
        ] === 'true';
      return [
        isDefault ? `${name(o)} (default)` : name(o),
        textField(o, 'provisioner'),
        orDefault(textField(o, 'reclaimPolicy'), 'Delete'),
        orDefault(textField(o, 'volumeBindingMode'), 'Immediate'),
        o.allowVolumeExpansion === true,
        age(o, now),
      ];
    },
  ],
  'storage.k8s.io/volumeattachments': [
    'Name|Attacher|PV|Node|Attached:boolean|Age',
    (o, now) => [
      name(o),
      textField(o, 'spec', 'attacher'),
      textField(o, 'spec', 'source', 'persistentVolumeName'),
      textField(o, 'spec', 'nodeName'),
      at(o, 'status', 'attached') === true,
      age(o, now),
    ],
  ],
  'storage.k8s.io/volumeattributesclasses': [
    'Name|DriverName|Age',
    (o, now) => [name(o), textField(o, 'driverName'), age(o, now)],
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
    POLICY_COLUMNS,
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
      numberField(o, 'value'),
      o.globalDefault === true,
      age(o, now),
      textField(o, 'preemptionPolicy'),
    ],
  ],
  'discovery.k8s.io/endpointslices': [
    'Name|AddressType|Ports|Endpoints|Age',
    (o, now) => [
      name(o),
      textField(o, 'addressType'),
      firstThree(objects(o, 'ports').map((each) => textField(each, 'port') || '*')),
      firstThree(objects(o, 'endpoints').flatMap((each) => listAt(each, 'addresses').map(String))),
      age(o, now),
    ],
  ],
  'flowcontrol.apiserver.k8s.io/flowschemas': [
    'Name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL',
    (o, now) => [
      name(o),
      textField(o, 'spec', 'priorityLevelConfiguration', 'name'),
      numberField(o, 'spec', 'matchingPrecedence'),
      orDefault(textField(o, 'spec', 'distinguisherMethod', 'type'), '<none>'),
      age(o, now),
      objects(o, 'status', 'conditions').find(({ type }) => type === 'Dangling')?.status ?? '?',
    ],
  ],
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': [
    'Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age',
    (o, now) => {
      const spec = memberObject(o, 'spec');
      const queuing = memberObject(
        memberObject(memberObject(spec, 'limited'), 'limitResponse'),
        'queuing',
      );
      const of = (value: Json | undefined): Json => value ?? '<none>';
      return [
        name(o),
        textField(spec, 'type'),
        of(memberObject(spec, 'limited').nominalConcurrencyShares),
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
      const parent = memberObject(memberObject(o, 'spec'), 'parentRef');
      const [group, namespace] = [textField(parent, 'group'), textField(parent, 'namespace')];
      const resource =
        `${textField(parent, 'resource')}${group === '' ? '' : `.${group}`}`.toLowerCase();
      const parts = [resource, ...(namespace === '' ? [] : [namespace]), textField(parent, 'name')];
      return [name(o), parts.join('/'), age(o, now)];
    },
  ],
  'resource.k8s.io/deviceclasses': ['Name|Age', nameAndAge],
  'resource.k8s.io/resourceclaimtemplates': ['Name|Age', nameAndAge],
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
      textField(o, 'spec', 'nodeName'),
      textField(o, 'spec', 'driver'),
      textField(o, 'spec', 'pool', 'name'),
      age(o, now),
    ],
  ],
  'node.k8s.io/runtimeclasses': [
    'Name|Handler|Age',
    (o, now) => [name(o), textField(o, 'handler'), age(o, now)],
  ],
};

function paramKind(object: JsonObject): string {
  const kind = memberObject(memberObject(object, 'spec'), 'paramKind');
  return kind.kind === undefined
    ? '<unset>'
    : `${textField(kind, 'apiVersion')}/${textField(kind, 'kind')}`;
}

/** Kinds without their own printer, such as limitranges and roles. */
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
    return { columns: [column('Name'), column('Age')].map(dated), cells: nameAndAge };
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
        const value = firstAt(object, stringAt(each, 'jsonPath')) as Json | undefined;
        return value === undefined || value === null
          ? null
          : cell(stringAt(each, 'type'), value, now);
      }),
    ],
  };
}

const dated = (each: PrintColumn): PrintColumn =>
  each.name === 'Age' ? { ...each, type: 'date' } : each;

/** tableconvertor: cellForJSONValue. A column of texts shows any value. */
function cell(type: string, value: Json, now: number): Json {
  switch (type) {
    case 'string':
      return typeof value === 'object' ? (jsonText(value) as string) : String(value);
    case 'date':
      return typeof value === 'string' ? sinceText(value, now) : null;
    case 'integer':
      if (typeof value === 'bigint') return value;
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    default:
      return typeof value === 'boolean' ? value : null;
  }
}
