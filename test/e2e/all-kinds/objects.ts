/**
 * A small object of each built-in kind: its required members, and some that servers change, such as
 * omitted defaults, quantities and durations in another form, and empty members.
 */

export type SampleObject = Record<string, unknown> & { metadata?: Record<string, unknown> };

const labels = { app: 'web' };
const selector = { matchLabels: labels };
const podSpec = {
  containers: [
    {
      name: 'main',
      image: 'nginx:1',
      ports: [{ containerPort: 80 }],
      env: [
        { name: 'A', value: '1' },
        { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      resources: { limits: { cpu: '1000m', memory: '1024Mi' }, requests: { cpu: '0.5' } },
      readinessProbe: { httpGet: { port: 80 } },
      livenessProbe: { httpGet: { path: '/', port: 'http' }, failureThreshold: 0 },
      securityContext: {},
      volumeMounts: [{ name: 'scratch', mountPath: '/tmp' }],
    },
  ],
  volumes: [
    { name: 'scratch', emptyDir: {} },
    { name: 'config', configMap: { name: 'web' } },
    { name: 'secret', secret: { secretName: 'web', items: [{ key: 'a', path: 'a' }] } },
  ],
};
const template = { metadata: { labels, creationTimestamp: null }, spec: podSpec };
const jobTemplate = { metadata: { labels }, spec: { ...podSpec, restartPolicy: 'Never' } };
const rules = [
  { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
];
const webhook = {
  name: 'a.example.com',
  clientConfig: { service: { namespace: 'default', name: 'web' } },
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  rules,
};
const claimSpec = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1024Mi' } },
  storageClassName: 'slow',
};
const deviceRequests = {
  devices: { requests: [{ name: 'a', exactly: { deviceClassName: 'a.example.com' } }] },
};
const subjects = [{ kind: 'User', name: 'me' }];
const policyRules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'a' });
const event = {
  reason: 'Made',
  action: 'Make',
  type: 'Normal',
  eventTime: '2026-01-02T03:04:05.500000Z',
  reportingInstance: 'c-1',
};

/** By `group/version/plural`; with a name if the kind does not accept any name. */
export const OBJECTS: Record<string, SampleObject> = {
  '/v1/configmaps': { data: { a: '1' }, binaryData: { b: 'AQI=' } },
  '/v1/endpoints': {
    subsets: [{ addresses: [{ ip: '10.1.0.1' }], ports: [{ port: 80 }] }],
  },
  '/v1/events': {
    ...{
      reason: 'Made',
      message: 'x',
      type: 'Normal',
      firstTimestamp: '2026-01-02T05:04:05+02:00',
    },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'web' },
  },
  '/v1/limitranges': { spec: { limits: [{ type: 'Container', max: { cpu: '2000m' } }] } },
  '/v1/namespaces': { spec: {} },
  '/v1/nodes': { spec: { podCIDR: '', taints: [{ key: 'a', effect: 'NoSchedule' }] } },
  '/v1/persistentvolumeclaims': { spec: claimSpec },
  '/v1/persistentvolumes': {
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1024Mi' },
      hostPath: { path: '/tmp' },
    },
  },
  '/v1/pods': { spec: podSpec },
  '/v1/podtemplates': { template },
  '/v1/replicationcontrollers': { spec: { selector: labels, template } },
  '/v1/resourcequotas': { spec: { hard: { 'limits.cpu': '2000m' } } },
  '/v1/secrets': { stringData: { password: 'x' }, data: { a: 'AQI\nD' } },
  '/v1/serviceaccounts': { secrets: [{ name: 'a' }] },
  '/v1/services': { spec: { selector: labels, ports: [{ port: 80 }] } },
  'apiregistration.k8s.io/v1/apiservices': {
    metadata: { name: 'v1.NAME.example.com' },
    spec: {
      ...{
        group: 'NAME.example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
      },
      service: { namespace: 'default', name: 'web' },
      insecureSkipTLSVerify: true,
    },
  },
  'apps/v1/controllerrevisions': { revision: 1, data: { a: [], b: {} } },
  'apps/v1/daemonsets': { spec: { selector, template } },
  'apps/v1/deployments': { spec: { selector, template } },
  'apps/v1/replicasets': { spec: { selector, template } },
  'apps/v1/statefulsets': {
    spec: {
      selector,
      template,
      serviceName: 'web',
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec }],
    },
  },
  'events.k8s.io/v1/events': {
    ...event,
    reportingController: 'example.com/c',
    regarding: { kind: 'Pod', namespace: 'default', name: 'web' },
  },
  'autoscaling/v2/horizontalpodautoscalers': {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '1000m' } },
        },
      ],
      behavior: { scaleDown: { policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] } },
    },
  },
  'batch/v1/cronjobs': {
    spec: { schedule: '* * * * *', jobTemplate: { spec: { template: jobTemplate } } },
  },
  'batch/v1/jobs': { spec: { template: jobTemplate } },
  'certificates.k8s.io/v1/certificatesigningrequests': {
    spec: {
      signerName: 'example.com/signer',
      usages: ['client auth'],
      request: REQUEST(),
    },
  },
  'networking.k8s.io/v1/ingressclasses': {
    spec: { controller: 'example.com/c', parameters: { kind: 'A', name: 'a' } },
  },
  'networking.k8s.io/v1/ingresses': {
    spec: {
      rules: [
        {
          host: 'a.example.com',
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: 'a', port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    },
  },
  'networking.k8s.io/v1/ipaddresses': {
    metadata: { name: '10.9.0.INDEX' },
    spec: { parentRef: { group: '', resource: 'services', namespace: 'default', name: 'web' } },
  },
  'networking.k8s.io/v1/networkpolicies': {
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }],
    },
  },
  'networking.k8s.io/v1/servicecidrs': { spec: { cidrs: ['10.8.INDEX.0/24'] } },
  'policy/v1/poddisruptionbudgets': { spec: { minAvailable: '50%', selector } },
  'rbac.authorization.k8s.io/v1/clusterrolebindings': { subjects, roleRef: roleRef('ClusterRole') },
  'rbac.authorization.k8s.io/v1/clusterroles': { rules: policyRules, aggregationRule: null },
  'rbac.authorization.k8s.io/v1/rolebindings': { subjects, roleRef: roleRef('Role') },
  'rbac.authorization.k8s.io/v1/roles': { rules: policyRules },
  'storage.k8s.io/v1/csidrivers': { spec: { tokenRequests: [{ audience: 'a' }] } },
  'storage.k8s.io/v1/csinodes': { spec: { drivers: [{ name: 'a.example.com', nodeID: 'a' }] } },
  'storage.k8s.io/v1/csistoragecapacities': {
    storageClassName: 'slow',
    capacity: '1024Mi',
    nodeTopology: {},
  },
  'storage.k8s.io/v1/storageclasses': { provisioner: 'example.com/p', parameters: { a: '1' } },
  'storage.k8s.io/v1/volumeattachments': {
    spec: { attacher: 'a.example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } },
  },
  'storage.k8s.io/v1/volumeattributesclasses': {
    driverName: 'a.example.com',
    parameters: { a: '1' },
  },
  'admissionregistration.k8s.io/v1/mutatingadmissionpolicies': {
    spec: {
      matchConstraints: { resourceRules: [{ ...rules[0] }] },
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: {
            expression: 'Object{metadata: Object.metadata{labels: {"a": "b"}}}',
          },
        },
      ],
    },
  },
  'admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings': {
    spec: { policyName: 'none.example.com' },
  },
  'admissionregistration.k8s.io/v1/mutatingwebhookconfigurations': {
    webhooks: [
      { ...webhook, failurePolicy: 'Ignore', rules: [{ ...rules[0], resources: ['none'] }] },
    ],
  },
  'admissionregistration.k8s.io/v1/validatingadmissionpolicies': {
    spec: {
      matchConstraints: { resourceRules: [{ ...rules[0] }] },
      validations: [{ expression: 'true' }],
    },
  },
  'admissionregistration.k8s.io/v1/validatingadmissionpolicybindings': {
    spec: { policyName: 'none.example.com', validationActions: ['Deny'] },
  },
  'admissionregistration.k8s.io/v1/validatingwebhookconfigurations': {
    webhooks: [
      { ...webhook, failurePolicy: 'Ignore', rules: [{ ...rules[0], resources: ['none'] }] },
    ],
  },
  'apiextensions.k8s.io/v1/customresourcedefinitions': {
    metadata: { name: 'things.NAME.example.com' },
    spec: {
      group: 'NAME.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          ...{ name: 'v1', served: true, storage: true },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } },
        },
      ],
    },
  },
  'scheduling.k8s.io/v1/priorityclasses': { value: 5 },
  'coordination.k8s.io/v1/leases': {
    spec: { holderIdentity: 'a', renewTime: '2026-01-02T03:04:05.500000+02:00' },
  },
  'node.k8s.io/v1/runtimeclasses': { handler: 'a', overhead: { podFixed: { cpu: '1000m' } } },
  'discovery.k8s.io/v1/endpointslices': {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.0.1'], conditions: {} }],
    ports: [{ port: 80 }],
  },
  'resource.k8s.io/v1/deviceclasses': {
    spec: { selectors: [{ cel: { expression: 'device.driver == "a.example.com"' } }] },
  },
  'resource.k8s.io/v1/resourceclaims': { spec: deviceRequests },
  'resource.k8s.io/v1/resourceclaimtemplates': { spec: { spec: deviceRequests } },
  'resource.k8s.io/v1/resourceslices': {
    spec: {
      driver: 'a.example.com',
      nodeName: 'n',
      pool: { name: 'NAME', resourceSliceCount: 1 },
      devices: [{ name: 'd', capacity: { memory: { value: '1024Mi' } } }],
    },
  },
  'flowcontrol.apiserver.k8s.io/v1/flowschemas': {
    spec: {
      priorityLevelConfiguration: { name: 'exempt' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: 'nobody' } }],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/none'] }],
        },
      ],
    },
  },
  'flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations': {
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
  },
};

/** A request for `CN=e2e`. Its key was discarded. */
function REQUEST(): string {
  return [
    'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1IQUNBUUF3RGpFTU1Bb0dBMVVFQXd3RFpUSmxNRmt3RXdZ',
    'SEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRApRZ0FFcmNxenFHMEd4d24rZmpTNmpTSUR1V0xqNFg2L1VlWVZaeDN1LzZicWRkT3V1',
    'UEE2QWZKSUNQUlJYYlhjCmo2b0tycTNLNDVXWDNqUXVXZkVFVUhKUDE2QUFNQW9HQ0NxR1NNNDlCQU1DQTBjQU1FUUNJR256eDZE',
    'RXFrUEgKT2p0c3J1Zys3VWYreEZ4ZlBoalBiNkFkUUdzWnFVckRBaUEvQytLOTE1WWVEU09CZ2ZZMzdFdlNEUVJsNmt2QQpnbm9B',
    'TUtSakNOU0NZQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=',
  ].join('');
}

/** Kinds whose objects are not stored, with the reason. */
export const NOT_KEPT: Record<string, string> = {
  '/v1/bindings': 'a request: only create, nothing is stored',
  '/v1/componentstatuses': 'read-only',
  'authentication.k8s.io/v1/selfsubjectreviews': 'a question: only create, nothing is stored',
  'authentication.k8s.io/v1/tokenreviews': 'a question: only create, nothing is stored',
  'authorization.k8s.io/v1/localsubjectaccessreviews': 'a question: only create, nothing is stored',
  'authorization.k8s.io/v1/selfsubjectaccessreviews': 'a question: only create, nothing is stored',
  'authorization.k8s.io/v1/selfsubjectrulesreviews': 'a question: only create, nothing is stored',
  'authorization.k8s.io/v1/subjectaccessreviews': 'a question: only create, nothing is stored',
};
