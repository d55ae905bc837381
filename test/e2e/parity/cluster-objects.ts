/** Samples of the cluster-scoped built-in kinds, except those that extend the API server. */
import { cluster, type SampleKind } from './sample-kind.ts';

const selector = { matchLabels: { app: 'web' } };

/** `openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1`, in base64. */
const CERTIFICATE_REQUEST =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdE1JR1ZBZ0VBTURNeEd6QVpCZ05WQkFvTUVtVj' +
  'RZVzF3YkdVNlpHVjJaV3h2Y0dWeWN6RVVNQklHQTFVRQpBd3dMYzI5dFpTMWpiR2xsYm5Rd1dUQVRCZ2NxaGtqT1BR' +
  'SUJCZ2dxaGtqT1BRTUJCd05DQUFTWUQybGg3M1lvCnc3MDgza3J3MGxLUnBBYnpaZEo1UU1xLzdsK0ozejZrNnFRMX' +
  'BmQnNoeW0rY0EvWHpoTjJzTnV2aEV1K0c0Q0wKdmwzc1RrTUIvVmFZb0FBd0NnWUlLb1pJemowRUF3SURSd0F3UkFJ' +
  'Z1JwZWZrK0hxQ0FnRDFTL3dPeHFsb1NpYQpZQ0VSTFBMTWVZS05odUgzM0RNQ0lHQ0lqcUtsQlozbWxWMndBaTU5ZT' +
  'ZoNEEzM3gxeHNXVzQvQWpCcTVVek5sCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=';

export const CLUSTER_SCOPED: readonly SampleKind[] = [
  {
    ...cluster('v1', 'Namespace', 'namespaces', { metadata: { labels: { a: 'b' } } }),
    status: { phase: 'Active' },
  },
  {
    ...cluster('v1', 'Node', 'nodes', {
      spec: {
        podCIDR: '10.2.0.0/24',
        podCIDRs: ['10.2.0.0/24'],
        providerID: 'p://1',
        taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
      },
    }),
    status: {
      capacity: { cpu: '4', memory: '8Gi' },
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '10.1.2.3' }],
    },
  },
  {
    ...cluster('v1', 'PersistentVolume', 'persistentvolumes', {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: 'fast',
        hostPath: { path: '/data', type: 'Directory' },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
          },
        },
      },
    }),
    status: { phase: 'Available' },
  },
  cluster('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', {
    rules: [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    ],
    aggregationRule: { clusterRoleSelectors: [selector] },
  }),
  cluster('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
    subjects: [{ kind: 'Group', name: 'g', apiGroup: 'rbac.authorization.k8s.io' }],
  }),
  cluster('storage.k8s.io/v1', 'StorageClass', 'storageclasses', {
    provisioner: 'example.com/disk',
    parameters: { type: 'ssd' },
    reclaimPolicy: 'Retain',
    mountOptions: ['ro'],
    allowVolumeExpansion: true,
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
  }),
  cluster('storage.k8s.io/v1', 'CSIDriver', 'csidrivers', {
    spec: {
      attachRequired: false,
      podInfoOnMount: true,
      fsGroupPolicy: 'File',
      volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      tokenRequests: [{ audience: 'a', expirationSeconds: 3600 }],
    },
  }),
  cluster('storage.k8s.io/v1', 'CSINode', 'csinodes', {
    spec: {
      drivers: [
        { name: 'example.com', nodeID: 'n', topologyKeys: ['zone'], allocatable: { count: 3 } },
      ],
    },
  }),
  {
    ...cluster('storage.k8s.io/v1', 'VolumeAttachment', 'volumeattachments', {
      spec: { attacher: 'example.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } },
    }),
    status: { attached: true },
  },
  cluster('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', {
    value: 1000,
    description: 'd',
    preemptionPolicy: 'Never',
  }),
  cluster('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses', {
    handler: 'runc',
    overhead: { podFixed: { cpu: '10m' } },
    scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'a', operator: 'Exists' }] },
  }),
  cluster('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', {
    spec: {
      controller: 'example.com/ingress',
      parameters: { apiGroup: 'example.com', kind: 'Params', name: 'p', scope: 'Cluster' },
    },
  }),
  cluster(
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    {
      webhooks: [
        {
          name: 'a.example.com',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Ignore',
          clientConfig: {
            service: { namespace: 'NS', name: 's', path: '/v', port: 443 },
            caBundle: 'AQID',
          },
          rules: [
            {
              apiGroups: ['example.invalid'],
              apiVersions: ['v1'],
              resources: ['nothings'],
              operations: ['CREATE'],
            },
          ],
          namespaceSelector: selector,
          timeoutSeconds: 5,
        },
      ],
    },
  ),
  cluster(
    'admissionregistration.k8s.io/v1',
    'MutatingWebhookConfiguration',
    'mutatingwebhookconfigurations',
    {
      webhooks: [
        {
          name: 'a.example.com',
          admissionReviewVersions: ['v1'],
          sideEffects: 'NoneOnDryRun',
          clientConfig: { url: 'https://example.invalid/m' },
          rules: [
            {
              apiGroups: ['example.invalid'],
              apiVersions: ['v1'],
              resources: ['nothings'],
              operations: ['UPDATE'],
              scope: 'Namespaced',
            },
          ],
          reinvocationPolicy: 'IfNeeded',
        },
      ],
    },
  ),
  {
    ...cluster(
      'certificates.k8s.io/v1',
      'CertificateSigningRequest',
      'certificatesigningrequests',
      {
        spec: {
          request: CERTIFICATE_REQUEST,
          signerName: 'example.com/signer',
          usages: ['client auth'],
          expirationSeconds: 3600,
        },
      },
    ),
    status: {},
  },
  {
    ...cluster('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'flowschemas', {
      spec: {
        priorityLevelConfiguration: { name: 'global-default' },
        matchingPrecedence: 9000,
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [{ kind: 'Group', group: { name: 'nobody' } }],
            nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/nothing'] }],
          },
        ],
      },
    }),
    status: {},
  },
  {
    ...cluster(
      'flowcontrol.apiserver.k8s.io/v1',
      'PriorityLevelConfiguration',
      'prioritylevelconfigurations',
      {
        spec: {
          type: 'Limited',
          limited: {
            nominalConcurrencyShares: 1,
            limitResponse: {
              type: 'Queue',
              queuing: { queues: 4, handSize: 2, queueLengthLimit: 5 },
            },
          },
        },
      },
    ),
    status: {},
  },
  cluster('resource.k8s.io/v1', 'DeviceClass', 'deviceclasses', {
    spec: { selectors: [{ cel: { expression: "device.driver == 'gpu.example'" } }] },
  }),
  cluster('storage.k8s.io/v1', 'VolumeAttributesClass', 'volumeattributesclasses', {
    driverName: 'example.com',
    parameters: { iops: '100' },
  }),
];
