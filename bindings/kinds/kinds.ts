/**
 * The built-in kinds of Kubernetes 1.36, as a kube-apiserver serves them. Written by `node
 * scripts/derive-kinds.ts` from its discovery and OpenAPI; not to be edited.
 */
import type * as k8s from '@kubernetes/client-node';
import type { Resource } from '../base/resource.ts';

/**
 * Binding ties one object to another; for example, a pod is bound to a node by a scheduler.
 *
 * `v1` `bindings`, namespaced; create only.
 */
export const Binding: Resource<k8s.V1Binding> = {
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  namespaced: true,
  indexers: {},
};

/**
 * ComponentStatus (and ComponentStatusList) holds the cluster validation info.
 *
 * `v1` `componentstatuses`, cluster-scoped; get and list only.
 */
export const ComponentStatus: Resource<k8s.V1ComponentStatus> = {
  group: '',
  version: 'v1',
  kind: 'ComponentStatus',
  plural: 'componentstatuses',
  namespaced: false,
  indexers: {},
};

/**
 * ConfigMap holds configuration data for pods to consume.
 *
 * `v1` `configmaps`, namespaced.
 */
export const ConfigMap: Resource<k8s.V1ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  indexers: {},
};

/**
 * Endpoints is a collection of endpoints that implement the actual service.
 *
 * `v1` `endpoints`, namespaced.
 */
export const Endpoints: Resource<k8s.V1Endpoints> = {
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  plural: 'endpoints',
  namespaced: true,
  indexers: {},
};

/**
 * Event is a report of an event somewhere in the cluster.
 *
 * `v1` `events`, namespaced.
 */
export const Event: Resource<k8s.CoreV1Event> = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  indexers: {},
};

/**
 * LimitRange sets resource usage limits for each kind of resource in a Namespace.
 *
 * `v1` `limitranges`, namespaced.
 */
export const LimitRange: Resource<k8s.V1LimitRange> = {
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  plural: 'limitranges',
  namespaced: true,
  indexers: {},
};

/**
 * Namespace provides a scope for Names.
 *
 * `v1` `namespaces`, cluster-scoped; subresources: `finalize`, `status`.
 */
export const Namespace: Resource<k8s.V1Namespace> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  indexers: {},
};

/**
 * Node is a worker node in Kubernetes.
 *
 * `v1` `nodes`, cluster-scoped; subresources: `proxy`, `status`.
 */
export const Node: Resource<k8s.V1Node> = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
  indexers: {},
};

/**
 * PersistentVolume (PV) is a storage resource provisioned by an administrator.
 *
 * `v1` `persistentvolumes`, cluster-scoped; subresources: `status`.
 */
export const PersistentVolume: Resource<k8s.V1PersistentVolume> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  namespaced: false,
  indexers: {},
};

/**
 * PersistentVolumeClaim is a user's request for and claim to a persistent volume.
 *
 * `v1` `persistentvolumeclaims`, namespaced; subresources: `status`.
 */
export const PersistentVolumeClaim: Resource<k8s.V1PersistentVolumeClaim> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
  indexers: {},
};

/**
 * Pod is a collection of containers that can run on a host.
 *
 * `v1` `pods`, namespaced; subresources: `attach`, `binding`, `ephemeralcontainers`, `eviction`,
 * `exec`, `log`, `portforward`, `proxy`, `resize`, `status`.
 */
export const Pod: Resource<k8s.V1Pod> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
  indexers: {},
};

/**
 * PodTemplate describes a template for creating copies of a predefined pod.
 *
 * `v1` `podtemplates`, namespaced.
 */
export const PodTemplate: Resource<k8s.V1PodTemplate> = {
  group: '',
  version: 'v1',
  kind: 'PodTemplate',
  plural: 'podtemplates',
  namespaced: true,
  indexers: {},
};

/**
 * ReplicationController represents the configuration of a replication controller.
 *
 * `v1` `replicationcontrollers`, namespaced; subresources: `scale`, `status`.
 */
export const ReplicationController: Resource<k8s.V1ReplicationController> = {
  group: '',
  version: 'v1',
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
  namespaced: true,
  indexers: {},
};

/**
 * ResourceQuota sets aggregate quota restrictions enforced per namespace.
 *
 * `v1` `resourcequotas`, namespaced; subresources: `status`.
 */
export const ResourceQuota: Resource<k8s.V1ResourceQuota> = {
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
  indexers: {},
};

/**
 * Secret holds secret data of a certain type.
 *
 * `v1` `secrets`, namespaced.
 */
export const Secret: Resource<k8s.V1Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  indexers: {},
};

/**
 * Service is a named abstraction of software service (for example, mysql) consisting of local port
 * (for example 3306) that the proxy listens on, and the selector that determines which pods will
 * answer requests sent through the proxy.
 *
 * `v1` `services`, namespaced; subresources: `proxy`, `status`.
 */
export const Service: Resource<k8s.V1Service> = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
  indexers: {},
};

/**
 * ServiceAccount is an identity for processes that run in Pods.
 *
 * `v1` `serviceaccounts`, namespaced; subresources: `token`.
 */
export const ServiceAccount: Resource<k8s.V1ServiceAccount> = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
  indexers: {},
};

/**
 * MutatingAdmissionPolicy describes the definition of an admission mutation policy that mutates the
 * object coming into admission chain.
 *
 * `admissionregistration.k8s.io/v1` `mutatingadmissionpolicies`, cluster-scoped.
 */
export const MutatingAdmissionPolicy: Resource<k8s.V1MutatingAdmissionPolicy> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
  namespaced: false,
  indexers: {},
};

/**
 * MutatingAdmissionPolicyBinding binds the MutatingAdmissionPolicy with parametrized resources.
 *
 * `admissionregistration.k8s.io/v1` `mutatingadmissionpolicybindings`, cluster-scoped.
 */
export const MutatingAdmissionPolicyBinding: Resource<k8s.V1MutatingAdmissionPolicyBinding> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
  namespaced: false,
  indexers: {},
};

/**
 * MutatingWebhookConfiguration describes the configuration of and admission webhook that accept or
 * reject and may change the object.
 *
 * `admissionregistration.k8s.io/v1` `mutatingwebhookconfigurations`, cluster-scoped.
 */
export const MutatingWebhookConfiguration: Resource<k8s.V1MutatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  namespaced: false,
  indexers: {},
};

/**
 * ValidatingAdmissionPolicy describes the definition of an admission validation policy that accepts
 * or rejects an object without changing it.
 *
 * `admissionregistration.k8s.io/v1` `validatingadmissionpolicies`, cluster-scoped; subresources:
 * `status`.
 */
export const ValidatingAdmissionPolicy: Resource<k8s.V1ValidatingAdmissionPolicy> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
  indexers: {},
};

/**
 * ValidatingAdmissionPolicyBinding binds the ValidatingAdmissionPolicy with paramerized resources.
 *
 * `admissionregistration.k8s.io/v1` `validatingadmissionpolicybindings`, cluster-scoped.
 */
export const ValidatingAdmissionPolicyBinding: Resource<k8s.V1ValidatingAdmissionPolicyBinding> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  namespaced: false,
  indexers: {},
};

/**
 * ValidatingWebhookConfiguration describes the configuration of and admission webhook that accept
 * or reject and object without changing it.
 *
 * `admissionregistration.k8s.io/v1` `validatingwebhookconfigurations`, cluster-scoped.
 */
export const ValidatingWebhookConfiguration: Resource<k8s.V1ValidatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
  indexers: {},
};

/**
 * CustomResourceDefinition represents a resource that should be exposed on the API server.
 *
 * `apiextensions.k8s.io/v1` `customresourcedefinitions`, cluster-scoped; subresources: `status`.
 */
export const CustomResourceDefinition: Resource<k8s.V1CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
  indexers: {},
};

/**
 * APIService represents a server for a particular GroupVersion.
 *
 * `apiregistration.k8s.io/v1` `apiservices`, cluster-scoped; subresources: `status`.
 */
export const APIService: Resource<k8s.V1APIService> = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  kind: 'APIService',
  plural: 'apiservices',
  namespaced: false,
  indexers: {},
};

/**
 * ControllerRevision implements an immutable snapshot of state data.
 *
 * `apps/v1` `controllerrevisions`, namespaced.
 */
export const ControllerRevision: Resource<k8s.V1ControllerRevision> = {
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  namespaced: true,
  indexers: {},
};

/**
 * DaemonSet represents the configuration of a daemon set.
 *
 * `apps/v1` `daemonsets`, namespaced; subresources: `status`.
 */
export const DaemonSet: Resource<k8s.V1DaemonSet> = {
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  namespaced: true,
  indexers: {},
};

/**
 * Deployment enables declarative updates for Pods and ReplicaSets.
 *
 * `apps/v1` `deployments`, namespaced; subresources: `scale`, `status`.
 */
export const Deployment: Resource<k8s.V1Deployment> = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
  indexers: {},
};

/**
 * ReplicaSet ensures that a specified number of pod replicas are running at any given time.
 *
 * `apps/v1` `replicasets`, namespaced; subresources: `scale`, `status`.
 */
export const ReplicaSet: Resource<k8s.V1ReplicaSet> = {
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  namespaced: true,
  indexers: {},
};

/**
 * StatefulSet represents a set of pods with consistent identities.
 *
 * `apps/v1` `statefulsets`, namespaced; subresources: `scale`, `status`.
 */
export const StatefulSet: Resource<k8s.V1StatefulSet> = {
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  namespaced: true,
  indexers: {},
};

/**
 * SelfSubjectReview contains the user information that the kube-apiserver has about the user making
 * this request.
 *
 * `authentication.k8s.io/v1` `selfsubjectreviews`, cluster-scoped; create only.
 */
export const SelfSubjectReview: Resource<k8s.V1SelfSubjectReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
  indexers: {},
};

/**
 * TokenReview attempts to authenticate a token to a known user.
 *
 * `authentication.k8s.io/v1` `tokenreviews`, cluster-scoped; create only.
 */
export const TokenReview: Resource<k8s.V1TokenReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
  indexers: {},
};

/**
 * LocalSubjectAccessReview checks whether or not a user or group can perform an action in a given
 * namespace.
 *
 * `authorization.k8s.io/v1` `localsubjectaccessreviews`, namespaced; create only.
 */
export const LocalSubjectAccessReview: Resource<k8s.V1LocalSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'LocalSubjectAccessReview',
  plural: 'localsubjectaccessreviews',
  namespaced: true,
  indexers: {},
};

/**
 * SelfSubjectAccessReview checks whether or the current user can perform an action.
 *
 * `authorization.k8s.io/v1` `selfsubjectaccessreviews`, cluster-scoped; create only.
 */
export const SelfSubjectAccessReview: Resource<k8s.V1SelfSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
  indexers: {},
};

/**
 * SelfSubjectRulesReview enumerates the set of actions the current user can perform within a
 * namespace.
 *
 * `authorization.k8s.io/v1` `selfsubjectrulesreviews`, cluster-scoped; create only.
 */
export const SelfSubjectRulesReview: Resource<k8s.V1SelfSubjectRulesReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectRulesReview',
  plural: 'selfsubjectrulesreviews',
  namespaced: false,
  indexers: {},
};

/**
 * SubjectAccessReview checks whether or not a user or group can perform an action.
 *
 * `authorization.k8s.io/v1` `subjectaccessreviews`, cluster-scoped; create only.
 */
export const SubjectAccessReview: Resource<k8s.V1SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
  indexers: {},
};

/**
 * HorizontalPodAutoscaler is the configuration for a horizontal pod autoscaler, which automatically
 * manages the replica count of any resource implementing the scale subresource based on the metrics
 * specified.
 *
 * `autoscaling/v2` `horizontalpodautoscalers`, namespaced; subresources: `status`.
 */
export const HorizontalPodAutoscaler: Resource<k8s.V2HorizontalPodAutoscaler> = {
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  namespaced: true,
  indexers: {},
};

/**
 * CronJob represents the configuration of a single cron job.
 *
 * `batch/v1` `cronjobs`, namespaced; subresources: `status`.
 */
export const CronJob: Resource<k8s.V1CronJob> = {
  group: 'batch',
  version: 'v1',
  kind: 'CronJob',
  plural: 'cronjobs',
  namespaced: true,
  indexers: {},
};

/**
 * Job represents the configuration of a single job.
 *
 * `batch/v1` `jobs`, namespaced; subresources: `status`.
 */
export const Job: Resource<k8s.V1Job> = {
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  plural: 'jobs',
  namespaced: true,
  indexers: {},
};

/**
 * CertificateSigningRequest objects provide a mechanism to obtain x509 certificates by submitting a
 * certificate signing request, and having it asynchronously approved and issued.
 *
 * `certificates.k8s.io/v1` `certificatesigningrequests`, cluster-scoped; subresources: `approval`,
 * `status`.
 */
export const CertificateSigningRequest: Resource<k8s.V1CertificateSigningRequest> = {
  group: 'certificates.k8s.io',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  namespaced: false,
  indexers: {},
};

/**
 * ClusterTrustBundle is a cluster-scoped container for X.509 trust anchors (root certificates).
 *
 * `certificates.k8s.io/v1beta1` `clustertrustbundles`, cluster-scoped; beta: off by default.
 */
export const ClusterTrustBundle: Resource<k8s.V1beta1ClusterTrustBundle> = {
  group: 'certificates.k8s.io',
  version: 'v1beta1',
  kind: 'ClusterTrustBundle',
  plural: 'clustertrustbundles',
  namespaced: false,
  indexers: {},
};

/**
 * PodCertificateRequest encodes a pod requesting a certificate from a given signer.
 *
 * `certificates.k8s.io/v1beta1` `podcertificaterequests`, namespaced; subresources: `status`; beta:
 * off by default.
 */
export const PodCertificateRequest: Resource<k8s.V1beta1PodCertificateRequest> = {
  group: 'certificates.k8s.io',
  version: 'v1beta1',
  kind: 'PodCertificateRequest',
  plural: 'podcertificaterequests',
  namespaced: true,
  indexers: {},
};

/**
 * Lease defines a lease concept.
 *
 * `coordination.k8s.io/v1` `leases`, namespaced.
 */
export const Lease: Resource<k8s.V1Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  indexers: {},
};

/**
 * LeaseCandidate defines a candidate for a Lease object.
 *
 * `coordination.k8s.io/v1beta1` `leasecandidates`, namespaced; beta: off by default.
 */
export const LeaseCandidate: Resource<k8s.V1beta1LeaseCandidate> = {
  group: 'coordination.k8s.io',
  version: 'v1beta1',
  kind: 'LeaseCandidate',
  plural: 'leasecandidates',
  namespaced: true,
  indexers: {},
};

/**
 * EndpointSlice represents a set of service endpoints.
 *
 * `discovery.k8s.io/v1` `endpointslices`, namespaced.
 */
export const EndpointSlice: Resource<k8s.V1EndpointSlice> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
  indexers: {},
};

/**
 * Event is a report of an event somewhere in the cluster.
 *
 * `events.k8s.io/v1` `events`, namespaced.
 */
export const EventsV1Event: Resource<k8s.EventsV1Event> = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  indexers: {},
};

/**
 * FlowSchema defines the schema of a group of flows.
 *
 * `flowcontrol.apiserver.k8s.io/v1` `flowschemas`, cluster-scoped; subresources: `status`.
 */
export const FlowSchema: Resource<k8s.V1FlowSchema> = {
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  kind: 'FlowSchema',
  plural: 'flowschemas',
  namespaced: false,
  indexers: {},
};

/**
 * PriorityLevelConfiguration represents the configuration of a priority level.
 *
 * `flowcontrol.apiserver.k8s.io/v1` `prioritylevelconfigurations`, cluster-scoped; subresources:
 * `status`.
 */
export const PriorityLevelConfiguration: Resource<k8s.V1PriorityLevelConfiguration> = {
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  kind: 'PriorityLevelConfiguration',
  plural: 'prioritylevelconfigurations',
  namespaced: false,
  indexers: {},
};

/**
 * IPAddress represents a single IP of a single IP Family.
 *
 * `networking.k8s.io/v1` `ipaddresses`, cluster-scoped.
 */
export const IPAddress: Resource<k8s.V1IPAddress> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IPAddress',
  plural: 'ipaddresses',
  namespaced: false,
  indexers: {},
};

/**
 * Ingress is a collection of rules that allow inbound connections to reach the endpoints defined by
 * a backend.
 *
 * `networking.k8s.io/v1` `ingresses`, namespaced; subresources: `status`.
 */
export const Ingress: Resource<k8s.V1Ingress> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'Ingress',
  plural: 'ingresses',
  namespaced: true,
  indexers: {},
};

/**
 * IngressClass represents the class of the Ingress, referenced by the Ingress Spec.
 *
 * `networking.k8s.io/v1` `ingressclasses`, cluster-scoped.
 */
export const IngressClass: Resource<k8s.V1IngressClass> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IngressClass',
  plural: 'ingressclasses',
  namespaced: false,
  indexers: {},
};

/**
 * NetworkPolicy describes what network traffic is allowed for a set of Pods.
 *
 * `networking.k8s.io/v1` `networkpolicies`, namespaced.
 */
export const NetworkPolicy: Resource<k8s.V1NetworkPolicy> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
  indexers: {},
};

/**
 * ServiceCIDR defines a range of IP addresses using CIDR format (e.g. 192.168.0.0/24 or
 * 2001:db2::/64).
 *
 * `networking.k8s.io/v1` `servicecidrs`, cluster-scoped; subresources: `status`.
 */
export const ServiceCIDR: Resource<k8s.V1ServiceCIDR> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  indexers: {},
};

/**
 * RuntimeClass defines a class of container runtime supported in the cluster.
 *
 * `node.k8s.io/v1` `runtimeclasses`, cluster-scoped.
 */
export const RuntimeClass: Resource<k8s.V1RuntimeClass> = {
  group: 'node.k8s.io',
  version: 'v1',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  namespaced: false,
  indexers: {},
};

/**
 * PodDisruptionBudget is an object to define the max disruption that can be caused to a collection
 * of pods.
 *
 * `policy/v1` `poddisruptionbudgets`, namespaced; subresources: `status`.
 */
export const PodDisruptionBudget: Resource<k8s.V1PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
  indexers: {},
};

/**
 * ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit
 * by a RoleBinding or ClusterRoleBinding.
 *
 * `rbac.authorization.k8s.io/v1` `clusterroles`, cluster-scoped.
 */
export const ClusterRole: Resource<k8s.V1ClusterRole> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
  indexers: {},
};

/**
 * ClusterRoleBinding references a ClusterRole, but not contain it.
 *
 * `rbac.authorization.k8s.io/v1` `clusterrolebindings`, cluster-scoped.
 */
export const ClusterRoleBinding: Resource<k8s.V1ClusterRoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
  indexers: {},
};

/**
 * Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a
 * RoleBinding.
 *
 * `rbac.authorization.k8s.io/v1` `roles`, namespaced.
 */
export const Role: Resource<k8s.V1Role> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'Role',
  plural: 'roles',
  namespaced: true,
  indexers: {},
};

/**
 * RoleBinding references a role, but does not contain it.
 *
 * `rbac.authorization.k8s.io/v1` `rolebindings`, namespaced.
 */
export const RoleBinding: Resource<k8s.V1RoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
  indexers: {},
};

/**
 * DeviceClass is a vendor- or admin-provided resource that contains device configuration and
 * selectors.
 *
 * `resource.k8s.io/v1` `deviceclasses`, cluster-scoped.
 */
export const DeviceClass: Resource<k8s.V1DeviceClass> = {
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'DeviceClass',
  plural: 'deviceclasses',
  namespaced: false,
  indexers: {},
};

/**
 * DeviceTaintRule adds one taint to all devices which match the selector.
 *
 * `resource.k8s.io/v1beta2` `devicetaintrules`, cluster-scoped; subresources: `status`; beta: off
 * by default.
 */
export const DeviceTaintRule: Resource<k8s.V1beta2DeviceTaintRule> = {
  group: 'resource.k8s.io',
  version: 'v1beta2',
  kind: 'DeviceTaintRule',
  plural: 'devicetaintrules',
  namespaced: false,
  indexers: {},
};

/**
 * ResourceClaim describes a request for access to resources in the cluster, for use by workloads.
 *
 * `resource.k8s.io/v1` `resourceclaims`, namespaced; subresources: `status`.
 */
export const ResourceClaim: Resource<k8s.ResourceV1ResourceClaim> = {
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaim',
  plural: 'resourceclaims',
  namespaced: true,
  indexers: {},
};

/**
 * ResourceClaimTemplate is used to produce ResourceClaim objects.
 *
 * `resource.k8s.io/v1` `resourceclaimtemplates`, namespaced.
 */
export const ResourceClaimTemplate: Resource<k8s.V1ResourceClaimTemplate> = {
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaimTemplate',
  plural: 'resourceclaimtemplates',
  namespaced: true,
  indexers: {},
};

/**
 * ResourceSlice represents one or more resources in a pool of similar resources, managed by a
 * common driver.
 *
 * `resource.k8s.io/v1` `resourceslices`, cluster-scoped.
 */
export const ResourceSlice: Resource<k8s.V1ResourceSlice> = {
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceSlice',
  plural: 'resourceslices',
  namespaced: false,
  indexers: {},
};

/**
 * PriorityClass defines mapping from a priority class name to the priority integer value.
 *
 * `scheduling.k8s.io/v1` `priorityclasses`, cluster-scoped.
 */
export const PriorityClass: Resource<k8s.V1PriorityClass> = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  namespaced: false,
  indexers: {},
};

/**
 * CSIDriver captures information about a Container Storage Interface (CSI) volume driver deployed
 * on the cluster.
 *
 * `storage.k8s.io/v1` `csidrivers`, cluster-scoped.
 */
export const CSIDriver: Resource<k8s.V1CSIDriver> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIDriver',
  plural: 'csidrivers',
  namespaced: false,
  indexers: {},
};

/**
 * CSINode holds information about all CSI drivers installed on a node.
 *
 * `storage.k8s.io/v1` `csinodes`, cluster-scoped.
 */
export const CSINode: Resource<k8s.V1CSINode> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSINode',
  plural: 'csinodes',
  namespaced: false,
  indexers: {},
};

/**
 * CSIStorageCapacity stores the result of one CSI GetCapacity call.
 *
 * `storage.k8s.io/v1` `csistoragecapacities`, namespaced.
 */
export const CSIStorageCapacity: Resource<k8s.V1CSIStorageCapacity> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIStorageCapacity',
  plural: 'csistoragecapacities',
  namespaced: true,
  indexers: {},
};

/**
 * StorageClass describes the parameters for a class of storage for which PersistentVolumes can be
 * dynamically provisioned.
 *
 * `storage.k8s.io/v1` `storageclasses`, cluster-scoped.
 */
export const StorageClass: Resource<k8s.V1StorageClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
  indexers: {},
};

/**
 * VolumeAttachment captures the intent to attach or detach the specified volume to/from the
 * specified node.
 *
 * `storage.k8s.io/v1` `volumeattachments`, cluster-scoped; subresources: `status`.
 */
export const VolumeAttachment: Resource<k8s.V1VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  namespaced: false,
  indexers: {},
};

/**
 * VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI
 * driver.
 *
 * `storage.k8s.io/v1` `volumeattributesclasses`, cluster-scoped.
 */
export const VolumeAttributesClass: Resource<k8s.V1VolumeAttributesClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttributesClass',
  plural: 'volumeattributesclasses',
  namespaced: false,
  indexers: {},
};

/**
 * StorageVersionMigration represents a migration of stored data to the latest storage version.
 *
 * `storagemigration.k8s.io/v1beta1` `storageversionmigrations`, cluster-scoped; subresources:
 * `status`; beta: off by default.
 */
export const StorageVersionMigration: Resource<k8s.V1beta1StorageVersionMigration> = {
  group: 'storagemigration.k8s.io',
  version: 'v1beta1',
  kind: 'StorageVersionMigration',
  plural: 'storageversionmigrations',
  namespaced: false,
  indexers: {},
};
