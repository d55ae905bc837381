/**
 * Samples of the kinds that extend the API server or describe what it allocates: admission
 * policies, APIServices, addresses, devices; and of the older version of HorizontalPodAutoscalers.
 */
import type { JsonObject } from '../same-answers/api.ts';
import { cluster, meta, type SampleKind } from './sample-kind.ts';

const matchConstraints: JsonObject = {
  matchPolicy: 'Equivalent',
  namespaceSelector: { matchLabels: { app: 'web' } },
  objectSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
  resourceRules: [
    {
      apiGroups: ['example.invalid'],
      apiVersions: ['v1'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['nothings'],
      resourceNames: ['a'],
      scope: 'Namespaced',
    },
  ],
};
const paramRef: JsonObject = {
  name: 'limits',
  namespace: 'default',
  parameterNotFoundAction: 'Deny',
};
const { resourceNames: _, ...anyName } = (matchConstraints.resourceRules as JsonObject[])[0] ?? {};

export const EXTENSIONS: readonly SampleKind[] = [
  {
    ...meta('autoscaling/v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 5,
        targetCPUUtilizationPercentage: 60,
      },
    }),
    status: { currentReplicas: 2, desiredReplicas: 3, currentCPUUtilizationPercentage: 40 },
  },
  {
    ...cluster(
      'admissionregistration.k8s.io/v1',
      'ValidatingAdmissionPolicy',
      'validatingadmissionpolicies',
      {
        spec: {
          failurePolicy: 'Ignore',
          paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
          matchConstraints,
          matchConditions: [{ name: 'named', expression: "object.metadata.name != ''" }],
          variables: [{ name: 'size', expression: 'size(object.metadata.name)' }],
          validations: [
            {
              expression: 'variables.size < 100',
              message: 'too long',
              reason: 'Forbidden',
            },
            {
              expression: 'object.metadata.name != oldObject.metadata.name',
              messageExpression: "'it is ' + object.metadata.name",
            },
          ],
          auditAnnotations: [{ key: 'name', valueExpression: 'string(object.metadata.name)' }],
        },
      },
    ),
    status: { observedGeneration: 1 },
  },
  cluster(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    {
      spec: {
        policyName: 'policy.example.com',
        paramRef,
        matchResources: { ...matchConstraints, excludeResourceRules: [anyName] },
        validationActions: ['Deny', 'Audit'],
      },
    },
  ),
  cluster(
    'admissionregistration.k8s.io/v1',
    'MutatingAdmissionPolicy',
    'mutatingadmissionpolicies',
    {
      spec: {
        failurePolicy: 'Ignore',
        reinvocationPolicy: 'Never',
        matchConstraints,
        matchConditions: [{ name: 'named', expression: "object.metadata.name != ''" }],
        variables: [{ name: 'first', expression: "'a'" }],
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: {
              expression: "Object{metadata: Object.metadata{labels: {'a': variables.first}}}",
            },
          },
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: "[JSONPatch{op: 'add', path: '/metadata/labels/b', value: 'c'}]",
            },
          },
        ],
      },
    },
  ),
  cluster(
    'admissionregistration.k8s.io/v1',
    'MutatingAdmissionPolicyBinding',
    'mutatingadmissionpolicybindings',
    {
      spec: {
        policyName: 'policy.example.com',
        paramRef: { selector: { matchLabels: { app: 'web' } }, parameterNotFoundAction: 'Allow' },
        matchResources: matchConstraints,
      },
    },
  ),
  {
    ...cluster('apiregistration.k8s.io/v1', 'APIService', 'apiservices', {
      spec: {
        group: 'NS.example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        service: { namespace: 'NS', name: 'extension', port: 8443 },
        caBundle: 'AQID',
      },
    }),
    status: {},
    controlled: true,
  },
  {
    ...cluster('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', {
      spec: {
        group: 'NS.example.com',
        scope: 'Namespaced',
        names: {
          ...{ plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
          ...{ shortNames: ['th'], categories: ['all'] },
        },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: {
                    type: 'object',
                    required: ['size'],
                    properties: { size: { type: 'integer', minimum: 0, default: 1 } },
                  },
                  status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
            },
            subresources: {
              status: {},
              scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' },
            },
            additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
            selectableFields: [{ jsonPath: '.spec.size' }],
          },
        ],
      },
    }),
    status: {},
    controlled: true,
  },
  cluster('networking.k8s.io/v1', 'IPAddress', 'ipaddresses', {
    spec: { parentRef: { group: 'example.com', resource: 'things', namespace: 'NS', name: 'a' } },
  }),
  {
    ...cluster('networking.k8s.io/v1', 'ServiceCIDR', 'servicecidrs', {
      spec: { cidrs: ['198.51.100.0/24', '2001:db8:1::/112'] },
    }),
    status: {
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'Waiting',
          message: 'm',
          lastTransitionTime: '2026-01-02T03:04:05Z',
        },
      ],
    },
  },
  cluster('resource.k8s.io/v1', 'ResourceSlice', 'resourceslices', {
    spec: {
      driver: 'gpu.example.com',
      pool: { name: 'pool', generation: 1, resourceSliceCount: 1 },
      nodeName: 'n',
      devices: [
        {
          name: 'gpu-0',
          attributes: {
            model: { string: 'x1' },
            'example.com/index': { int: 3 },
            fast: { bool: true },
            driver: { version: '1.2.3' },
          },
          capacity: { memory: { value: '8Gi' } },
        },
        { name: 'gpu-1' },
      ],
    },
  }),
];
