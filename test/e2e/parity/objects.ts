/**
 * A valid object of each kind that the cases write, with as many members as possible, so that the
 * change of any one tests a rule of its kind.
 */
import type { JsonObject } from '../same-answers/api.ts';
import { CLUSTER_SCOPED } from './cluster-objects.ts';
import { EXTENSIONS } from './extension-objects.ts';
import { meta, type SampleKind } from './sample-kind.ts';

const selector = { matchLabels: { app: 'web' } };
const podSpec: JsonObject = {
  containers: [
    {
      name: 'web',
      image: 'registry.example/web:1',
      command: ['run'],
      args: ['--port', '80'],
      ports: [
        { name: 'http', containerPort: 80 },
        { containerPort: 443, protocol: 'UDP' },
      ],
      env: [
        { name: 'A', value: '1' },
        { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'k', optional: true } } },
      ],
      envFrom: [{ prefix: 'P_', configMapRef: { name: 'env' } }],
      resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } },
      readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 5 },
      livenessProbe: { tcpSocket: { port: 80 } },
      lifecycle: { preStop: { exec: { command: ['stop'] } } },
      volumeMounts: [{ name: 'config', mountPath: '/config', readOnly: true }],
      securityContext: { runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
    },
  ],
  initContainers: [{ name: 'init', image: 'busybox' }],
  volumes: [
    {
      name: 'config',
      configMap: { name: 'config', items: [{ key: 'k', path: 'p' }], defaultMode: 420 },
    },
    { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
    { name: 'secret', secret: { secretName: 'keys' } },
    {
      name: 'all',
      projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3600 } }] },
    },
  ],
  nodeSelector: { disk: 'ssd' },
  serviceAccountName: 'runner',
  tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
      },
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 50,
          podAffinityTerm: { labelSelector: selector, topologyKey: 'kubernetes.io/hostname' },
        },
      ],
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: selector,
    },
  ],
  securityContext: { fsGroup: 1000, sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }] },
  hostAliases: [{ ip: '10.1.2.3', hostnames: ['a.example'] }],
  dnsConfig: { nameservers: ['10.0.0.10'], options: [{ name: 'ndots', value: '2' }] },
  imagePullSecrets: [{ name: 'pull' }],
  terminationGracePeriodSeconds: 20,
  readinessGates: [{ conditionType: 'example.com/ready' }],
};
const template = { metadata: { labels: { app: 'web' } }, spec: podSpec };
const jobTemplate = {
  metadata: { labels: { app: 'web' } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'job', image: 'busybox' }] },
};
const claimSpec: JsonObject = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
  storageClassName: 'fast',
  selector,
};
const condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Works',
  message: 'm',
  lastTransitionTime: '2026-01-02T03:04:05Z',
};

export const SAMPLES: readonly SampleKind[] = [
  meta('v1', 'ConfigMap', 'configmaps', {
    data: { k: 'v', 'a.b': '1' },
    binaryData: { bin: 'AQID' },
  }),
  meta('v1', 'Secret', 'secrets', { type: 'Opaque', data: { k: 'YQ==' }, stringData: { s: 't' } }),
  meta('v1', 'ServiceAccount', 'serviceaccounts', {
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: 'pull' }],
    secrets: [{ name: 's' }],
  }),
  {
    ...meta('v1', 'Service', 'services', {
      spec: {
        type: 'ClusterIP',
        selector: { app: 'web' },
        ports: [
          { name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' },
          { name: 'https', port: 443, targetPort: 8443, appProtocol: 'https' },
        ],
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
        externalIPs: ['192.0.2.1'],
        publishNotReadyAddresses: true,
        internalTrafficPolicy: 'Cluster',
      },
    }),
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } },
  },
  meta('v1', 'Endpoints', 'endpoints', {
    subsets: [
      {
        addresses: [{ ip: '10.1.2.3', nodeName: 'n' }],
        ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      },
    ],
  }),
  {
    ...meta('v1', 'Pod', 'pods', { spec: podSpec }),
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      podIP: '10.1.2.3',
      podIPs: [{ ip: '10.1.2.3' }],
      containerStatuses: [
        {
          name: 'web',
          image: 'i',
          imageID: 'x',
          ready: true,
          restartCount: 0,
          state: { running: { startedAt: '2026-01-02T03:04:05Z' } },
        },
      ],
    },
  },
  meta('v1', 'PodTemplate', 'podtemplates', { template }),
  {
    ...meta('v1', 'ReplicationController', 'replicationcontrollers', {
      spec: { replicas: 2, minReadySeconds: 1, selector: { app: 'web' }, template },
    }),
    status: { replicas: 1 },
    scale: true,
  },
  {
    ...meta('v1', 'ResourceQuota', 'resourcequotas', {
      spec: {
        hard: { pods: '10', 'requests.cpu': '2' },
        scopes: ['NotTerminating'],
        scopeSelector: {
          matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }],
        },
      },
    }),
    status: { hard: { pods: '10' }, used: { pods: '1' } },
  },
  meta('v1', 'LimitRange', 'limitranges', {
    spec: {
      limits: [
        {
          type: 'Container',
          max: { cpu: '2' },
          min: { cpu: '50m' },
          default: { cpu: '1' },
          defaultRequest: { cpu: '100m' },
        },
      ],
    },
  }),
  {
    ...meta('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', { spec: claimSpec }),
    status: { phase: 'Bound', capacity: { storage: '1Gi' } },
  },
  meta('v1', 'Event', 'events', {
    involvedObject: { kind: 'Pod', namespace: 'NS', name: 'a', apiVersion: 'v1' },
    reason: 'Started',
    message: 'it started',
    type: 'Normal',
    count: 2,
    firstTimestamp: '2026-01-02T03:04:05Z',
    lastTimestamp: '2026-01-02T03:04:06Z',
    source: { component: 'tests' },
  }),
  meta('events.k8s.io/v1', 'Event', 'events', {
    regarding: { kind: 'Pod', namespace: 'NS', name: 'a', apiVersion: 'v1' },
    reason: 'Started',
    note: 'it started',
    type: 'Normal',
    action: 'Start',
    eventTime: '2026-01-02T03:04:05.000006Z',
    reportingController: 'example.com/tests',
    reportingInstance: 'one',
  }),
  {
    ...meta('apps/v1', 'Deployment', 'deployments', {
      spec: {
        replicas: 3,
        selector,
        template,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' } },
        minReadySeconds: 5,
        revisionHistoryLimit: 3,
        progressDeadlineSeconds: 60,
        paused: true,
      },
    }),
    status: { observedGeneration: 1, replicas: 3, readyReplicas: 2, conditions: [condition] },
    scale: true,
  },
  {
    ...meta('apps/v1', 'ReplicaSet', 'replicasets', { spec: { replicas: 2, selector, template } }),
    status: { replicas: 2, observedGeneration: 1 },
    scale: true,
  },
  {
    ...meta('apps/v1', 'StatefulSet', 'statefulsets', {
      spec: {
        replicas: 2,
        selector,
        template,
        serviceName: 'web',
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec }],
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
      },
    }),
    status: { replicas: 2, currentReplicas: 1 },
    scale: true,
  },
  {
    ...meta('apps/v1', 'DaemonSet', 'daemonsets', {
      spec: {
        selector,
        template,
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
      },
    }),
    status: {
      currentNumberScheduled: 1,
      numberMisscheduled: 0,
      desiredNumberScheduled: 1,
      numberReady: 1,
    },
  },
  meta('apps/v1', 'ControllerRevision', 'controllerrevisions', {
    data: { spec: { a: 1 } },
    revision: 3,
  }),
  {
    ...meta('batch/v1', 'Job', 'jobs', {
      spec: {
        parallelism: 2,
        completions: 2,
        backoffLimit: 3,
        activeDeadlineSeconds: 60,
        ttlSecondsAfterFinished: 60,
        completionMode: 'Indexed',
        podFailurePolicy: {
          rules: [
            {
              action: 'Ignore',
              onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }],
            },
          ],
        },
        template: jobTemplate,
      },
    }),
    status: { active: 1, ready: 0 },
  },
  {
    ...meta('batch/v1', 'CronJob', 'cronjobs', {
      spec: {
        schedule: '*/5 * * * *',
        timeZone: 'Etc/UTC',
        concurrencyPolicy: 'Forbid',
        startingDeadlineSeconds: 30,
        suspend: true,
        successfulJobsHistoryLimit: 2,
        jobTemplate: { spec: { template: jobTemplate } },
      },
    }),
    status: { lastScheduleTime: '2026-01-02T03:04:05Z' },
  },
  {
    ...meta('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 5,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
          },
        ],
        behavior: { scaleDown: { policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] } },
      },
    }),
    status: { currentReplicas: 2, desiredReplicas: 3 },
  },
  {
    ...meta('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', {
      spec: { minAvailable: 1, selector, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    }),
    status: { currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1 },
  },
  meta('coordination.k8s.io/v1', 'Lease', 'leases', {
    spec: {
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-02T03:04:05.000006Z',
      renewTime: '2026-01-02T03:04:05.000006Z',
      leaseTransitions: 1,
    },
  }),
  {
    ...meta('networking.k8s.io/v1', 'Ingress', 'ingresses', {
      spec: {
        ingressClassName: 'nginx',
        defaultBackend: { service: { name: 'web', port: { number: 80 } } },
        tls: [{ hosts: ['a.example.com'], secretName: 'tls' }],
        rules: [
          {
            host: 'a.example.com',
            http: {
              paths: [
                {
                  path: '/',
                  pathType: 'Prefix',
                  backend: { service: { name: 'web', port: { name: 'http' } } },
                },
              ],
            },
          },
        ],
      },
    }),
    status: { loadBalancer: { ingress: [{ hostname: 'lb.example.com' }] } },
  },
  meta('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', {
    spec: {
      podSelector: selector,
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }],
          ports: [{ protocol: 'TCP', port: 80, endPort: 90 }],
        },
      ],
      egress: [{ to: [{ namespaceSelector: {}, podSelector: selector }] }],
    },
  }),
  meta('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices', {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true }, hostname: 'a', zone: 'z' }],
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  }),
  meta('rbac.authorization.k8s.io/v1', 'Role', 'roles', {
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'], resourceNames: ['a'] }],
  }),
  meta('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [
      { kind: 'ServiceAccount', name: 's', namespace: 'NS' },
      { kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' },
    ],
  }),
  meta('storage.k8s.io/v1', 'CSIStorageCapacity', 'csistoragecapacities', {
    storageClassName: 'fast',
    capacity: '1Gi',
    maximumVolumeSize: '1Gi',
    nodeTopology: selector,
  }),
  meta('resource.k8s.io/v1', 'ResourceClaimTemplate', 'resourceclaimtemplates', {
    spec: {
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu.example' } }] } },
    },
  }),
  {
    ...meta('resource.k8s.io/v1', 'ResourceClaim', 'resourceclaims', {
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu.example' } }] } },
    }),
    status: {},
  },
  ...CLUSTER_SCOPED,
  ...EXTENSIONS,
];

/** `/api/v1/namespaces/NS/pods`, or a cluster-scoped collection. */
export function collectionOf({ apiVersion, plural, namespaced }: SampleKind): string {
  const prefix = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespaced ? `${prefix}/namespaces/NS/${plural}` : `${prefix}/${plural}`;
}

/** The names of cluster-scoped objects contain the namespace, since cases run concurrently. */
export function sampleName(kind: SampleKind, name: string): string {
  if (kind.plural === 'csidrivers' || kind.plural === 'csinodes') return `NS-${name}.example.com`;
  if (kind.plural === 'apiservices') return 'v1.NS.example.com';
  if (kind.plural === 'customresourcedefinitions') return 'things.NS.example.com';
  if (kind.plural === 'ipaddresses') return `NS::${name}`;
  return kind.namespaced ? name : `NS-${name}`;
}

/** A copy of the sample with its name. */
export function sampleOf(kind: SampleKind, name = 'a'): JsonObject {
  const { metadata, ...rest } = structuredClone(kind.sample);
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name: sampleName(kind, name), ...(metadata as JsonObject | undefined) },
    ...rest,
  };
}
