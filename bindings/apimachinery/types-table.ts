/**
 * The fields of the built-in kinds of Kubernetes 1.36 and how they are merged; built-in.ts explains
 * the notation. Written by scripts/derive-types.ts from /openapi/v3 of a kube-apiserver; not to be
 * edited.
 */

export const TYPES = `
apiregistration.k8s.io/v1 APIService apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:APIServiceSpec+ status@3:APIServiceStatus+;
APIServiceCondition lastTransitionTime@3:t+ message@5:s reason@4:s status@2:s+ type@1:s+=;
APIServiceSpec caBundle@5:y group@2:s groupPriorityMinimum@7:i+ insecureSkipTLSVerify@4:b
  service@1:ServiceReference.apiregistration.v1 version@3:s versionPriority@8:i+;
APIServiceStatus conditions@1:[APIServiceCondition|type]^type;
AWSElasticBlockStoreVolumeSource fsType@2:s partition@3:i readOnly@4:b volumeID@1:s+;
Affinity nodeAffinity@1:NodeAffinity podAffinity@2:PodAffinity podAntiAffinity@3:PodAntiAffinity;
AggregationRule clusterRoleSelectors@1:[LabelSelector];
AllocatedDeviceStatus conditions@4:[Condition|type]+ data@5:* device@3:s+= driver@1:s+=
  networkData@6:NetworkDeviceData pool@2:s+= shareID@7:s?;
AllocationResult allocationTimestamp@5:t devices@1:DeviceAllocationResult+
  nodeSelector@3:NodeSelector;
AppArmorProfile localhostProfile@2:s? type@1:s+;
ApplyConfiguration expression@1:s;
AttachedVolume devicePath@2:s+ name@1:s+;
AuditAnnotation key@1:s+ valueExpression@2:s+;
AzureDiskVolumeSource cachingMode@3:s? diskName@1:s+ diskURI@2:s+ fsType@4:s? kind@6:s?
  readOnly@5:b?;
AzureFilePersistentVolumeSource readOnly@3:b secretName@1:s+ secretNamespace@4:s?+ shareName@2:s+;
AzureFileVolumeSource readOnly@3:b secretName@1:s+ shareName@2:s+;
v1 Binding apiVersion:s kind:s metadata@1:ObjectMeta+ target@2:ObjectReference+;
BoundObjectReference apiVersion@2:s kind@1:s name@3:s uid@4:s;
CELDeviceSelector expression@1:s+;
storage.k8s.io/v1 CSIDriver apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:CSIDriverSpec+;
CSIDriverSpec attachRequired@1:b? fsGroupPolicy@5:s? nodeAllocatableUpdatePeriodSeconds@9:l?
  podInfoOnMount@2:b? preventPodSchedulingIfMissing@11:b? requiresRepublish@7:b? seLinuxMount@8:b?
  serviceAccountTokenInSecrets@10:b? storageCapacity@4:b? tokenRequests@6:[TokenRequest.storage.v1]
  volumeLifecycleModes@3:[s|];
storage.k8s.io/v1 CSINode apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:CSINodeSpec+;
CSINodeDriver allocatable@4:VolumeNodeResources name@1:s+= nodeID@2:s+ topologyKeys@3:[s]+;
CSINodeSpec drivers@1:[CSINodeDriver|name]+^name;
CSIPersistentVolumeSource controllerExpandSecretRef@9:SecretReference
  controllerPublishSecretRef@6:SecretReference driver@1:s+ fsType@4:s
  nodeExpandSecretRef@10:SecretReference nodePublishSecretRef@8:SecretReference
  nodeStageSecretRef@7:SecretReference readOnly@3:b volumeAttributes@5:{s} volumeHandle@2:s+;
storage.k8s.io/v1 CSIStorageCapacity apiVersion:s capacity@4:q kind:s maximumVolumeSize@5:q
  metadata@1:ObjectMeta+ nodeTopology@2:LabelSelector storageClassName@3:s+;
CSIVolumeSource driver@1:s+ fsType@3:s? nodePublishSecretRef@5:LocalObjectReference readOnly@2:b?
  volumeAttributes@4:{s};
Capabilities add@1:[s] drop@2:[s];
CapacityRequestPolicy default@1:q?+ validRange@4:CapacityRequestPolicyRange validValues@3:[q];
CapacityRequestPolicyRange max@2:q min@1:q step@3:q;
CapacityRequirements requests@1:{q};
CephFSPersistentVolumeSource monitors@1:[s]+ path@2:s readOnly@6:b secretFile@4:s
  secretRef@5:SecretReference user@3:s;
CephFSVolumeSource monitors@1:[s]+ path@2:s readOnly@6:b secretFile@4:s
  secretRef@5:LocalObjectReference user@3:s;
certificates.k8s.io/v1 CertificateSigningRequest apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:CertificateSigningRequestSpec+ status@3:CertificateSigningRequestStatus+;
CertificateSigningRequestCondition lastTransitionTime@5:t+ lastUpdateTime@4:t+ message@3:s
  reason@2:s status@6:s+ type@1:s+=;
CertificateSigningRequestSpec expirationSeconds@8:i? extra@6:{[s]} groups@4:[s] request@1:y+
  signerName@7:s+ uid@3:s usages@5:[s] username@2:s;
CertificateSigningRequestStatus certificate@2:y
  conditions@1:[CertificateSigningRequestCondition|type];
CinderPersistentVolumeSource fsType@2:s readOnly@3:b secretRef@4:SecretReference volumeID@1:s+;
CinderVolumeSource fsType@2:s readOnly@3:b secretRef@4:LocalObjectReference volumeID@1:s+;
ClientIPConfig timeoutSeconds@1:i?;
rbac.authorization.k8s.io/v1 ClusterRole aggregationRule@3:AggregationRule apiVersion:s kind:s
  metadata@1:ObjectMeta+ rules@2:[PolicyRule]+;
rbac.authorization.k8s.io/v1 ClusterRoleBinding apiVersion:s kind:s metadata@1:ObjectMeta+
  roleRef@3:RoleRef+ subjects@2:[Subject.rbac.v1];
ClusterTrustBundleProjection labelSelector@3:LabelSelector name@1:s? optional@5:b? path@4:s+
  signerName@2:s?;
ComponentCondition error@4:s message@3:s status@2:s+ type@1:s+=;
v1 ComponentStatus apiVersion:s conditions@2:[ComponentCondition|type]^type kind:s
  metadata@1:ObjectMeta+;
Condition lastTransitionTime@4:t+ message@6:s+ observedGeneration@3:l reason@5:s+ status@2:s+
  type@1:s+=;
v1 ConfigMap apiVersion:s binaryData@3:{y} data@2:{s} immutable@4:b? kind:s metadata@1:ObjectMeta+;
ConfigMapEnvSource name@1.1:s optional@2:b?;
ConfigMapKeySelector! key@2:s+ name@1.1:s optional@3:b?;
ConfigMapNodeConfigSource kubeletConfigKey@5:s+ name@2:s+ namespace@1:s+ resourceVersion@4:s
  uid@3:s;
ConfigMapProjection items@2:[KeyToPath] name@1.1:s optional@4:b?;
ConfigMapVolumeSource defaultMode@3:i? items@2:[KeyToPath] name@1.1:s optional@4:b?;
Container args@4:[s] command@3:[s] env@7:[EnvVar|name]^name envFrom@19:[EnvFromSource] image@2:s
  imagePullPolicy@14:s lifecycle@12:Lifecycle livenessProbe@10:Probe name@1:s+=
  ports@6:[ContainerPort|containerPort,protocol]^containerPort readinessProbe@11:Probe
  resizePolicy@23:[ContainerResizePolicy] resources@8:ResourceRequirements+ restartPolicy@24:s?
  restartPolicyRules@25:[ContainerRestartRule] securityContext@15:SecurityContext
  startupProbe@22:Probe stdin@16:b stdinOnce@17:b terminationMessagePath@13:s
  terminationMessagePolicy@20:s tty@18:b volumeDevices@21:[VolumeDevice|devicePath]^devicePath
  volumeMounts@9:[VolumeMount|mountPath]^mountPath workingDir@5:s;
ContainerExtendedResourceRequest containerName@1:s+ requestName@3:s+ resourceName@2:s+;
ContainerImage names@1:[s]+ sizeBytes@2:l;
ContainerPort containerPort@3:i+=0 hostIP@5:s hostPort@2:i name@1:s protocol@4:s=TCP;
ContainerResizePolicy resourceName@1:s+ restartPolicy@2:s+;
ContainerResourceMetricSource container@3:s+ name@1:s+ target@2:MetricTarget+;
ContainerResourceMetricStatus container@3:s+ current@2:MetricValueStatus+ name@1:s+;
ContainerRestartRule action@1:s exitCodes@2:ContainerRestartRuleOnExitCodes;
ContainerRestartRuleOnExitCodes operator@1:s values@2:[i|];
ContainerState running@2:ContainerStateRunning terminated@3:ContainerStateTerminated
  waiting@1:ContainerStateWaiting;
ContainerStateRunning startedAt@1:t+;
ContainerStateTerminated containerID@7:s exitCode@1:i+ finishedAt@6:t+ message@4:s reason@3:s
  signal@2:i startedAt@5:t+;
ContainerStateWaiting message@2:s reason@1:s;
ContainerStatus allocatedResources@10:{q} allocatedResourcesStatus@14:[ResourceStatus|name]^name
  containerID@8:s image@6:s+ imageID@7:s+ lastState@3:ContainerState+ name@1:s+ ready@4:b+
  resources@11:ResourceRequirements restartCount@5:i+ started@9:b? state@2:ContainerState+
  stopSignal@15:s? user@13:ContainerUser volumeMounts@12:[VolumeMountStatus|mountPath]^mountPath;
ContainerUser linux@1:LinuxContainerUser;
apps/v1 ControllerRevision apiVersion:s data@2:*+ kind:s metadata@1:ObjectMeta+ revision@3:l+;
Counter value@1:q+;
CounterSet counters@2:{Counter} name@1:s+;
batch/v1 CronJob apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:CronJobSpec+
  status@3:CronJobStatus+;
CronJobSpec concurrencyPolicy@3:s failedJobsHistoryLimit@7:i? jobTemplate@5:JobTemplateSpec+
  schedule@1:s+ startingDeadlineSeconds@2:l? successfulJobsHistoryLimit@6:i? suspend@4:b?
  timeZone@8:s?;
CronJobStatus active@1:[ObjectReference] lastScheduleTime@4:t lastSuccessfulTime@5:t;
CrossVersionObjectReference.autoscaling.v1! apiVersion@3:s kind@1:s+ name@2:s+;
CrossVersionObjectReference.autoscaling.v2 apiVersion@3:s kind@1:s+ name@2:s+;
CustomResourceColumnDefinition description@4:s format@3:s jsonPath@6:s+ name@1:s+ priority@5:i
  type@2:s+;
CustomResourceConversion strategy@1:s+ webhook@2:WebhookConversion;
apiextensions.k8s.io/v1 CustomResourceDefinition apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:CustomResourceDefinitionSpec+ status@3:CustomResourceDefinitionStatus+;
CustomResourceDefinitionCondition lastTransitionTime@3:t+ message@5:s observedGeneration@6:l
  reason@4:s status@2:s+ type@1:s+=;
CustomResourceDefinitionNames categories@6:[s] kind@4:s+ listKind@5:s plural@1:s+ shortNames@3:[s]
  singular@2:s;
CustomResourceDefinitionSpec conversion@9:CustomResourceConversion group@1:s+
  names@3:CustomResourceDefinitionNames+ preserveUnknownFields@10:b scope@4:s+
  versions@7:[CustomResourceDefinitionVersion]+;
CustomResourceDefinitionStatus acceptedNames@2:CustomResourceDefinitionNames+
  conditions@1:[CustomResourceDefinitionCondition|type]+ observedGeneration@4:l
  storedVersions@3:[s]+;
CustomResourceDefinitionVersion additionalPrinterColumns@6:[CustomResourceColumnDefinition]
  deprecated@7:b deprecationWarning@8:s? name@1:s+ schema@4:CustomResourceValidation
  selectableFields@9:[SelectableField] served@2:b+ storage@3:b+
  subresources@5:CustomResourceSubresources;
CustomResourceSubresourceScale labelSelectorPath@3:s? specReplicasPath@1:s+ statusReplicasPath@2:s+;
CustomResourceSubresourceStatus;
CustomResourceSubresources scale@2:CustomResourceSubresourceScale
  status@1:CustomResourceSubresourceStatus;
CustomResourceValidation openAPIV3Schema@1:JSONSchemaProps;
DaemonEndpoint Port@1:i+;
apps/v1 DaemonSet apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:DaemonSetSpec+
  status@3:DaemonSetStatus+;
DaemonSetCondition lastTransitionTime@3:t+ message@5:s reason@4:s status@2:s+ type@1:s+=;
DaemonSetSpec minReadySeconds@4:i revisionHistoryLimit@6:i? selector@1:LabelSelector?+
  template@2:PodTemplateSpec+ updateStrategy@3:DaemonSetUpdateStrategy+;
DaemonSetStatus collisionCount@9:i? conditions@10:[DaemonSetCondition|type]^type
  currentNumberScheduled@1:i+ desiredNumberScheduled@3:i+ numberAvailable@7:i
  numberMisscheduled@2:i+ numberReady@4:i+ numberUnavailable@8:i observedGeneration@5:l
  updatedNumberScheduled@6:i;
DaemonSetUpdateStrategy rollingUpdate@2:RollingUpdateDaemonSet type@1:s;
DeleteOptions apiVersion:s dryRun@5:[s] gracePeriodSeconds@1:l?
  ignoreStoreReadErrorWithClusterBreakingPotential@6:b? kind:s orphanDependents@3:b?
  preconditions@2:Preconditions propagationPolicy@4:s?;
apps/v1 Deployment apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:DeploymentSpec+
  status@3:DeploymentStatus+;
DeploymentCondition lastTransitionTime@7:t+ lastUpdateTime@6:t+ message@5:s reason@4:s status@2:s+
  type@1:s+=;
DeploymentSpec minReadySeconds@5:i paused@7:b progressDeadlineSeconds@9:i? replicas@1:i?
  revisionHistoryLimit@6:i? selector@2:LabelSelector?+ strategy@4:DeploymentStrategy+~
  template@3:PodTemplateSpec+;
DeploymentStatus availableReplicas@4:i collisionCount@8:i?
  conditions@6:[DeploymentCondition|type]^type observedGeneration@1:l readyReplicas@7:i
  replicas@2:i terminatingReplicas@9:i? unavailableReplicas@5:i updatedReplicas@3:i;
DeploymentStrategy rollingUpdate@2:RollingUpdateDeployment type@1:s;
Device allNodes@7:b? allowMultipleAllocations@12:b? attributes@2:{DeviceAttribute}
  bindingConditions@10:[s] bindingFailureConditions@11:[s] bindsToNode@9:b?
  capacity@3:{DeviceCapacity} consumesCounters@4:[DeviceCounterConsumption] name@1:s+
  nodeAllocatableResourceMappings@13:{NodeAllocatableResourceMapping} nodeName@5:s?
  nodeSelector@6:NodeSelector taints@8:[DeviceTaint];
DeviceAllocationConfiguration opaque@3.1:OpaqueDeviceConfiguration requests@2:[s] source@1:s+;
DeviceAllocationResult config@2:[DeviceAllocationConfiguration]
  results@1:[DeviceRequestAllocationResult];
DeviceAttribute bool@3:b? bools@7:[b] int@2:l? ints@6:[l] string@4:s? strings@8:[s] version@5:s?
  versions@9:[s];
DeviceCapacity requestPolicy@2:CapacityRequestPolicy value@1:q+;
DeviceClaim config@3:[DeviceClaimConfiguration] constraints@2:[DeviceConstraint]
  requests@1:[DeviceRequest]+;
DeviceClaimConfiguration opaque@2.1:OpaqueDeviceConfiguration requests@1:[s];
resource.k8s.io/v1 DeviceClass apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:DeviceClassSpec+;
DeviceClassConfiguration opaque@1.1:OpaqueDeviceConfiguration;
DeviceClassSpec config@2:[DeviceClassConfiguration] extendedResourceName@4:s?
  selectors@1:[DeviceSelector];
DeviceConstraint distinctAttribute@3:s? matchAttribute@2:s? requests@1:[s];
DeviceCounterConsumption counterSet@1:s+ counters@2:{Counter};
DeviceRequest exactly@2:ExactDeviceRequest firstAvailable@3:[DeviceSubRequest] name@1:s+;
DeviceRequestAllocationResult adminAccess@5:b? bindingConditions@7:[s]
  bindingFailureConditions@8:[s] consumedCapacity@10:{q} device@4:s+ driver@2:s+ pool@3:s+
  request@1:s+ shareID@9:s? tolerations@6:[DeviceToleration];
DeviceSelector cel@1:CELDeviceSelector;
DeviceSubRequest allocationMode@4:s capacity@7:CapacityRequirements count@5:l deviceClassName@2:s+
  name@1:s+ selectors@3:[DeviceSelector] tolerations@6:[DeviceToleration];
DeviceTaint effect@3:s+ key@1:s+ timeAdded@4:t value@2:s;
DeviceToleration effect@4:s key@1:s operator@2:s tolerationSeconds@5:l? value@3:s;
DownwardAPIProjection items@1:[DownwardAPIVolumeFile];
DownwardAPIVolumeFile fieldRef@2:ObjectFieldSelector mode@4:i? path@1:s+
  resourceFieldRef@3:ResourceFieldSelector;
DownwardAPIVolumeSource defaultMode@2:i? items@1:[DownwardAPIVolumeFile];
EmptyDirVolumeSource medium@1:s sizeLimit@2:q;
Endpoint addresses@1:[s|]+ conditions@2:EndpointConditions+ deprecatedTopology@5:{s}
  hints@8:EndpointHints hostname@3:s? nodeName@6:s? targetRef@4:ObjectReference zone@7:s?;
EndpointAddress! hostname@3:s ip@1:s+ nodeName@4:s? targetRef@2:ObjectReference;
EndpointConditions ready@1:b? serving@2:b? terminating@3:b?;
EndpointHints forNodes@2:[ForNode] forZones@1:[ForZone];
EndpointPort.core.v1! appProtocol@4:s? name@1:s port@2:i+ protocol@3:s;
EndpointPort.discovery.v1! appProtocol@4:s? name@1:s? port@3:i? protocol@2:s?;
discovery.k8s.io/v1 EndpointSlice addressType@4:s+ apiVersion:s endpoints@2:[Endpoint]+ kind:s
  metadata@1:ObjectMeta+ ports@3:[EndpointPort.discovery.v1]+;
EndpointSubset addresses@1:[EndpointAddress] notReadyAddresses@2:[EndpointAddress]
  ports@3:[EndpointPort.core.v1];
v1 Endpoints apiVersion:s kind:s metadata@1:ObjectMeta+ subsets@2:[EndpointSubset];
EnvFromSource configMapRef@2:ConfigMapEnvSource prefix@1:s secretRef@3:SecretEnvSource;
EnvVar name@1:s+= value@2:s valueFrom@3:EnvVarSource;
EnvVarSource configMapKeyRef@3:ConfigMapKeySelector fieldRef@1:ObjectFieldSelector
  fileKeyRef@5:FileKeySelector resourceFieldRef@2:ResourceFieldSelector
  secretKeyRef@4:SecretKeySelector;
EphemeralContainer args@1.4:[s] command@1.3:[s] env@1.7:[EnvVar|name]^name
  envFrom@1.19:[EnvFromSource] image@1.2:s imagePullPolicy@1.14:s lifecycle@1.12:Lifecycle
  livenessProbe@1.10:Probe name@1.1:s+=
  ports@1.6:[ContainerPort|containerPort,protocol]^containerPort readinessProbe@1.11:Probe
  resizePolicy@1.23:[ContainerResizePolicy] resources@1.8:ResourceRequirements+
  restartPolicy@1.24:s? restartPolicyRules@1.25:[ContainerRestartRule]
  securityContext@1.15:SecurityContext startupProbe@1.22:Probe stdin@1.16:b stdinOnce@1.17:b
  targetContainerName@2:s terminationMessagePath@1.13:s terminationMessagePolicy@1.20:s tty@1.18:b
  volumeDevices@1.21:[VolumeDevice|devicePath]^devicePath
  volumeMounts@1.9:[VolumeMount|mountPath]^mountPath workingDir@1.5:s;
EphemeralVolumeSource volumeClaimTemplate@1:PersistentVolumeClaimTemplate;
v1 Event.core.v1 action@12:s apiVersion:s count@8:i eventTime@10:u+ firstTimestamp@6:t+
  involvedObject@2:ObjectReference+ kind:s lastTimestamp@7:t+ message@4:s metadata@1:ObjectMeta+
  reason@3:s related@13:ObjectReference reportingComponent@14:s+ reportingInstance@15:s+
  series@11:EventSeries.core.v1 source@5:EventSource+ type@9:s;
events.k8s.io/v1 Event.events.v1 action@6:s apiVersion:s deprecatedCount@15:i
  deprecatedFirstTimestamp@13:t+ deprecatedLastTimestamp@14:t+ deprecatedSource@12:EventSource+
  eventTime@2:u+ kind:s metadata@1:ObjectMeta+ note@10:s reason@7:s regarding@8:ObjectReference+
  related@9:ObjectReference reportingController@4:s reportingInstance@5:s
  series@3:EventSeries.events.v1 type@11:s;
EventSeries.core.v1 count@1:i lastObservedTime@2:u+;
EventSeries.events.v1 count@1:i+ lastObservedTime@2:u+;
EventSource component@1:s host@2:s;
policy/v1 Eviction apiVersion:s deleteOptions@2:DeleteOptions kind:s metadata@1:ObjectMeta+;
ExactDeviceRequest adminAccess@5:b? allocationMode@3:s capacity@7:CapacityRequirements count@4:l
  deviceClassName@1:s+ selectors@2:[DeviceSelector] tolerations@6:[DeviceToleration];
ExecAction command@1:[s];
ExemptPriorityLevelConfiguration lendablePercent@2:i? nominalConcurrencyShares@1:i?;
ExpressionWarning fieldRef@2:s+ warning@3:s+;
ExternalDocumentation description@1:s url@2:s;
ExternalMetricSource metric@1:MetricIdentifier+ target@2:MetricTarget+;
ExternalMetricStatus current@2:MetricValueStatus+ metric@1:MetricIdentifier+;
FCVolumeSource fsType@3:s lun@2:i? readOnly@4:b targetWWNs@1:[s] wwids@5:[s];
FieldSelectorAttributes rawSelector@1:s requirements@2:[FieldSelectorRequirement];
FieldSelectorRequirement key@1:s+ operator@2:s+ values@3:[s];
FileKeySelector! key@3:s+ optional@4:b? path@2:s+ volumeName@1:s+;
FlexPersistentVolumeSource driver@1:s+ fsType@2:s options@5:{s} readOnly@4:b
  secretRef@3:SecretReference;
FlexVolumeSource driver@1:s+ fsType@2:s options@5:{s} readOnly@4:b secretRef@3:LocalObjectReference;
FlockerVolumeSource datasetName@1:s datasetUUID@2:s;
FlowDistinguisherMethod type@1:s+;
flowcontrol.apiserver.k8s.io/v1 FlowSchema apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:FlowSchemaSpec+ status@3:FlowSchemaStatus+;
FlowSchemaCondition lastTransitionTime@3:t+ message@5:s reason@4:s status@2:s type@1:s;
FlowSchemaSpec distinguisherMethod@3:FlowDistinguisherMethod matchingPrecedence@2:i+
  priorityLevelConfiguration@1:PriorityLevelConfigurationReference+
  rules@4:[PolicyRulesWithSubjects];
FlowSchemaStatus conditions@1:[FlowSchemaCondition|type]^type;
ForNode name@1:s+;
ForZone name@1:s+;
GCEPersistentDiskVolumeSource fsType@2:s partition@3:i pdName@1:s+ readOnly@4:b;
GRPCAction port@1:i+ service@2:s?+;
GitRepoVolumeSource directory@3:s repository@1:s+ revision@2:s;
GlusterfsPersistentVolumeSource endpoints@1:s+ endpointsNamespace@4:s? path@2:s+ readOnly@3:b;
GlusterfsVolumeSource endpoints@1:s+ path@2:s+ readOnly@3:b;
GroupSubject name@1:s+;
HPAScalingPolicy periodSeconds@3:i+ type@1:s+ value@2:i+;
HPAScalingRules policies@2:[HPAScalingPolicy] selectPolicy@1:s? stabilizationWindowSeconds@3:i?
  tolerance@4:q;
HTTPGetAction host@3:s httpHeaders@5:[HTTPHeader] path@1:s port@2:x+ scheme@4:s;
HTTPHeader name@1:s+ value@2:s+;
HTTPIngressPath backend@2:IngressBackend+ path@1:s pathType@3:s?+;
HTTPIngressRuleValue paths@1:[HTTPIngressPath]+;
autoscaling/v1 HorizontalPodAutoscaler.autoscaling.v1 apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:HorizontalPodAutoscalerSpec.autoscaling.v1+
  status@3:HorizontalPodAutoscalerStatus.autoscaling.v1+;
autoscaling/v2 HorizontalPodAutoscaler.autoscaling.v2 apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:HorizontalPodAutoscalerSpec.autoscaling.v2+
  status@3:HorizontalPodAutoscalerStatus.autoscaling.v2+;
HorizontalPodAutoscalerBehavior scaleDown@2:HPAScalingRules scaleUp@1:HPAScalingRules;
HorizontalPodAutoscalerCondition lastTransitionTime@3:t+ message@5:s reason@4:s status@2:s+
  type@1:s+=;
HorizontalPodAutoscalerSpec.autoscaling.v1 maxReplicas@3:i+ minReplicas@2:i?
  scaleTargetRef@1:CrossVersionObjectReference.autoscaling.v1+ targetCPUUtilizationPercentage@4:i?;
HorizontalPodAutoscalerSpec.autoscaling.v2 behavior@5:HorizontalPodAutoscalerBehavior
  maxReplicas@3:i+ metrics@4:[MetricSpec] minReplicas@2:i?
  scaleTargetRef@1:CrossVersionObjectReference.autoscaling.v2+;
HorizontalPodAutoscalerStatus.autoscaling.v1 currentCPUUtilizationPercentage@5:i?
  currentReplicas@3:i+ desiredReplicas@4:i+ lastScaleTime@2:t observedGeneration@1:l?;
HorizontalPodAutoscalerStatus.autoscaling.v2
  conditions@6:[HorizontalPodAutoscalerCondition|type]^type currentMetrics@5:[MetricStatus]+
  currentReplicas@3:i desiredReplicas@4:i+ lastScaleTime@2:t observedGeneration@1:l?;
HostAlias hostnames@2:[s] ip@1:s+=;
HostIP ip@1:s+;
HostPathVolumeSource path@1:s+ type@2:s?;
networking.k8s.io/v1 IPAddress apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:IPAddressSpec+;
IPAddressSpec parentRef@1:ParentReference;
IPBlock cidr@1:s+ except@2:[s];
ISCSIPersistentVolumeSource chapAuthDiscovery@8:b chapAuthSession@11:b fsType@5:s
  initiatorName@12:s? iqn@2:s+ iscsiInterface@4:s lun@3:i+ portals@7:[s] readOnly@6:b
  secretRef@10:SecretReference targetPortal@1:s+;
ISCSIVolumeSource chapAuthDiscovery@8:b chapAuthSession@11:b fsType@5:s initiatorName@12:s?
  iqn@2:s+ iscsiInterface@4:s lun@3:i+ portals@7:[s] readOnly@6:b secretRef@10:LocalObjectReference
  targetPortal@1:s+;
ImageVolumeSource pullPolicy@2:s reference@1:s;
ImageVolumeStatus imageRef@1:s;
networking.k8s.io/v1 Ingress apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:IngressSpec+
  status@3:IngressStatus+;
IngressBackend resource@3:TypedLocalObjectReference service@4:IngressServiceBackend;
networking.k8s.io/v1 IngressClass apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:IngressClassSpec+;
IngressClassParametersReference apiGroup@1:s? kind@2:s+ name@3:s+ namespace@5:s? scope@4:s?+;
IngressClassSpec controller@1:s parameters@2:IngressClassParametersReference;
IngressLoadBalancerIngress hostname@2:s ip@1:s ports@4:[IngressPortStatus];
IngressLoadBalancerStatus ingress@1:[IngressLoadBalancerIngress];
IngressPortStatus error@3:s? port@1:i+ protocol@2:s+;
IngressRule host@1:s http@2.1:HTTPIngressRuleValue;
IngressServiceBackend name@1:s+ port@2:ServiceBackendPort+;
IngressSpec defaultBackend@1:IngressBackend ingressClassName@4:s? rules@3:[IngressRule]
  tls@2:[IngressTLS];
IngressStatus loadBalancer@1:IngressLoadBalancerStatus+;
IngressTLS hosts@1:[s] secretName@2:s;
JSONPatch expression@1:s;
JSONSchemaProps $ref@3:s? $schema@2:s additionalItems@33:(JSONSchemaProps)
  additionalProperties@30:(JSONSchemaProps) allOf@25:[JSONSchemaProps] anyOf@27:[JSONSchemaProps]
  default@8:* definitions@34:{JSONSchemaProps} dependencies@32:{(JSONSchemaProps)} description@4:s
  enum@20:[*] example@36:* exclusiveMaximum@10:b exclusiveMinimum@12:b
  externalDocs@35:ExternalDocumentation format@6:s id@1:s items@24:(JSONSchemaProps) maxItems@16:l?
  maxLength@13:l? maxProperties@21:l? maximum@9:n? minItems@17:l? minLength@14:l?
  minProperties@22:l? minimum@11:n? multipleOf@19:n? not@28:JSONSchemaProps nullable@37:b
  oneOf@26:[JSONSchemaProps] pattern@15:s patternProperties@31:{JSONSchemaProps}
  properties@29:{JSONSchemaProps} required@23:[s] title@7:s type@5:s uniqueItems@18:b
  x-kubernetes-embedded-resource@39:b x-kubernetes-int-or-string@40:b
  x-kubernetes-list-map-keys@41:[s] x-kubernetes-list-type@42:s? x-kubernetes-map-type@43:s?
  x-kubernetes-preserve-unknown-fields@38:b? x-kubernetes-validations@44:[ValidationRule|rule]^rule;
batch/v1 Job apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:JobSpec+ status@3:JobStatus+;
JobCondition lastProbeTime@3:t+ lastTransitionTime@4:t+ message@6:s reason@5:s status@2:s+
  type@1:s+;
JobSpec activeDeadlineSeconds@3:l? backoffLimit@7:i? backoffLimitPerIndex@12:i? completionMode@9:s?
  completions@2:i? managedBy@15:s? manualSelector@5:b? maxFailedIndexes@13:i? parallelism@1:i?
  podFailurePolicy@11:PodFailurePolicy podReplacementPolicy@14:s? selector@4:LabelSelector
  successPolicy@16:SuccessPolicy suspend@10:b? template@6:PodTemplateSpec+
  ttlSecondsAfterFinished@8:i?;
JobStatus active@4:i completedIndexes@7:s completionTime@3:t conditions@1:[JobCondition]^type
  failed@6:i failedIndexes@10:s? ready@9:i? startTime@2:t succeeded@5:i terminating@11:i?
  uncountedTerminatedPods@8:UncountedTerminatedPods;
JobTemplateSpec metadata@1:ObjectMeta+ spec@2:JobSpec+;
KeyToPath key@1:s+ mode@3:i? path@2:s+;
LabelSelector! matchExpressions@2:[LabelSelectorRequirement] matchLabels@1:{s};
LabelSelectorAttributes rawSelector@1:s requirements@2:[LabelSelectorRequirement];
LabelSelectorRequirement key@1:s+ operator@2:s+ values@3:[s];
coordination.k8s.io/v1 Lease apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:LeaseSpec+;
LeaseSpec acquireTime@3:u holderIdentity@1:s? leaseDurationSeconds@2:i? leaseTransitions@5:i?
  preferredHolder@7:s? renewTime@4:u strategy@6:s?;
Lifecycle postStart@1:LifecycleHandler preStop@2:LifecycleHandler stopSignal@3:s?;
LifecycleHandler exec@1:ExecAction httpGet@2:HTTPGetAction sleep@4:SleepAction
  tcpSocket@3:TCPSocketAction;
v1 LimitRange apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:LimitRangeSpec+;
LimitRangeItem default@4:{q} defaultRequest@5:{q} max@2:{q} maxLimitRequestRatio@6:{q} min@3:{q}
  type@1:s+;
LimitRangeSpec limits@1:[LimitRangeItem]+;
LimitResponse queuing@2:QueuingConfiguration type@1:s+;
LimitedPriorityLevelConfiguration borrowingLimitPercent@4:i? lendablePercent@3:i?
  limitResponse@2:LimitResponse+ nominalConcurrencyShares@1:i?+;
LinuxContainerUser gid@2:l+ supplementalGroups@3:[l] uid@1:l+;
LoadBalancerIngress hostname@2:s ip@1:s ipMode@3:s? ports@4:[PortStatus];
LoadBalancerStatus ingress@1:[LoadBalancerIngress];
LocalObjectReference! name@1:s=;
authorization.k8s.io/v1 LocalSubjectAccessReview apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:SubjectAccessReviewSpec+ status@3:SubjectAccessReviewStatus+;
LocalVolumeSource fsType@2:s? path@1:s+;
ManagedFieldsEntry apiVersion@3:s fieldsType@6:s fieldsV1@7:* manager@1:s operation@2:s
  subresource@8:s time@4:t;
MatchCondition expression@2:s+ name@1:s+=;
MatchResources! excludeResourceRules@4:[NamedRuleWithOperations] matchPolicy@7:s?
  namespaceSelector@1:LabelSelector objectSelector@2:LabelSelector
  resourceRules@3:[NamedRuleWithOperations];
MetricIdentifier name@1:s+ selector@2:LabelSelector;
MetricSpec containerResource@7:ContainerResourceMetricSource external@5:ExternalMetricSource
  object@2:ObjectMetricSource pods@3:PodsMetricSource resource@4:ResourceMetricSource type@1:s+;
MetricStatus containerResource@7:ContainerResourceMetricStatus external@5:ExternalMetricStatus
  object@2:ObjectMetricStatus pods@3:PodsMetricStatus resource@4:ResourceMetricStatus type@1:s+;
MetricTarget averageUtilization@4:i? averageValue@3:q type@1:s+ value@2:q;
MetricValueStatus averageUtilization@3:i? averageValue@2:q value@1:q;
ModifyVolumeStatus status@2:s+ targetVolumeAttributesClassName@1:s;
admissionregistration.k8s.io/v1 MutatingAdmissionPolicy apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:MutatingAdmissionPolicySpec+;
admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding apiVersion:s kind:s
  metadata@1:ObjectMeta+ spec@2:MutatingAdmissionPolicyBindingSpec+;
MutatingAdmissionPolicyBindingSpec matchResources@3:MatchResources paramRef@2:ParamRef
  policyName@1:s;
MutatingAdmissionPolicySpec failurePolicy@5:s? matchConditions@6:[MatchCondition|name]^name
  matchConstraints@2:MatchResources mutations@4:[Mutation] paramKind@1:ParamKind
  reinvocationPolicy@7:s variables@3:[Variable];
MutatingWebhook admissionReviewVersions@8:[s]+
  clientConfig@2:WebhookClientConfig.admissionregistration.v1+ failurePolicy@4:s?
  matchConditions@12:[MatchCondition|name]^name matchPolicy@9:s? name@1:s+=
  namespaceSelector@5:LabelSelector objectSelector@11:LabelSelector reinvocationPolicy@10:s?
  rules@3:[RuleWithOperations] sideEffects@6:s?+ timeoutSeconds@7:i?;
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration apiVersion:s kind:s
  metadata@1:ObjectMeta+ webhooks@2:[MutatingWebhook|name]^name;
Mutation applyConfiguration@3:ApplyConfiguration jsonPatch@4:JSONPatch patchType@2:s+;
NFSVolumeSource path@2:s+ readOnly@3:b server@1:s+;
NamedRuleWithOperations! apiGroups@2.2.1:[s] apiVersions@2.2.2:[s] operations@2.1:[s]
  resourceNames@1:[s] resources@2.2.3:[s] scope@2.2.4:s?;
v1 Namespace apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:NamespaceSpec+
  status@3:NamespaceStatus+;
NamespaceCondition lastTransitionTime@4:t+ message@6:s reason@5:s status@2:s+ type@1:s+=;
NamespaceSpec finalizers@1:[s];
NamespaceStatus conditions@2:[NamespaceCondition|type]^type phase@1:s;
NetworkDeviceData hardwareAddress@3:s interfaceName@1:s ips@2:[s];
networking.k8s.io/v1 NetworkPolicy apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:NetworkPolicySpec+;
NetworkPolicyEgressRule ports@1:[NetworkPolicyPort] to@2:[NetworkPolicyPeer];
NetworkPolicyIngressRule from@2:[NetworkPolicyPeer] ports@1:[NetworkPolicyPort];
NetworkPolicyPeer ipBlock@3:IPBlock namespaceSelector@2:LabelSelector podSelector@1:LabelSelector;
NetworkPolicyPort endPort@3:i? port@2:x protocol@1:s?;
NetworkPolicySpec egress@3:[NetworkPolicyEgressRule] ingress@2:[NetworkPolicyIngressRule]
  podSelector@1:LabelSelector+ policyTypes@4:[s];
v1 Node apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:NodeSpec+ status@3:NodeStatus+;
NodeAddress address@2:s+ type@1:s+=;
NodeAffinity preferredDuringSchedulingIgnoredDuringExecution@2:[PreferredSchedulingTerm]
  requiredDuringSchedulingIgnoredDuringExecution@1:NodeSelector;
NodeAllocatableResourceClaimStatus containers@2:[s|] resourceClaimName@1:s+ resources@3:{q}+;
NodeAllocatableResourceMapping allocationMultiplier@2:q capacityKey@1:s?;
NodeCondition lastHeartbeatTime@3:t+ lastTransitionTime@4:t+ message@6:s reason@5:s status@2:s+
  type@1:s+=;
NodeConfigSource configMap@2:ConfigMapNodeConfigSource;
NodeConfigStatus active@2:NodeConfigSource assigned@1:NodeConfigSource error@4:s
  lastKnownGood@3:NodeConfigSource;
NodeDaemonEndpoints kubeletEndpoint@1:DaemonEndpoint+;
NodeFeatures supplementalGroupsPolicy@1:b?;
NodeRuntimeHandler features@2:NodeRuntimeHandlerFeatures name@1:s+;
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts@1:b? userNamespaces@2:b?;
NodeSelector! nodeSelectorTerms@1:[NodeSelectorTerm]+;
NodeSelectorRequirement key@1:s+ operator@2:s+ values@3:[s];
NodeSelectorTerm! matchExpressions@1:[NodeSelectorRequirement]
  matchFields@2:[NodeSelectorRequirement];
NodeSpec configSource@6:NodeConfigSource externalID@2:s podCIDR@1:s podCIDRs@7:[s|]^ providerID@3:s
  taints@5:[Taint] unschedulable@4:b;
NodeStatus addresses@5:[NodeAddress|type]^type allocatable@2:{q} capacity@1:{q}
  conditions@4:[NodeCondition|type]^type config@11:NodeConfigStatus
  daemonEndpoints@6:NodeDaemonEndpoints+ declaredFeatures@14:[s] features@13:NodeFeatures
  images@8:[ContainerImage] nodeInfo@7:NodeSystemInfo+ phase@3:s
  runtimeHandlers@12:[NodeRuntimeHandler] volumesAttached@10:[AttachedVolume] volumesInUse@9:[s];
NodeSwapStatus capacity@1:l?;
NodeSystemInfo architecture@10:s+ bootID@3:s+ containerRuntimeVersion@6:s+ kernelVersion@4:s+
  kubeProxyVersion@8:s+ kubeletVersion@7:s+ machineID@1:s+ operatingSystem@9:s+ osImage@5:s+
  swap@11:NodeSwapStatus systemUUID@2:s+;
NonResourceAttributes path@1:s verb@2:s;
NonResourcePolicyRule nonResourceURLs@6:[s|]+ verbs@1:[s|]+;
NonResourceRule nonResourceURLs@2:[s] verbs@1:[s]+;
ObjectFieldSelector! apiVersion@1:s fieldPath@2:s+;
ObjectMeta annotations@12:{s} creationTimestamp@8:t deletionGracePeriodSeconds@10:l?
  deletionTimestamp@9:t finalizers@14:[s|]^ generateName@2:s generation@7:l labels@11:{s}
  managedFields@17:[ManagedFieldsEntry] name@1:s namespace@3:s
  ownerReferences@13:[OwnerReference|uid]^uid resourceVersion@6:s selfLink@4:s uid@5:s;
ObjectMetricSource describedObject@1:CrossVersionObjectReference.autoscaling.v2+
  metric@3:MetricIdentifier+ target@2:MetricTarget+;
ObjectMetricStatus current@2:MetricValueStatus+
  describedObject@3:CrossVersionObjectReference.autoscaling.v2+ metric@1:MetricIdentifier+;
ObjectReference! apiVersion@5:s fieldPath@7:s kind@1:s name@3:s namespace@2:s resourceVersion@6:s
  uid@4:s;
OpaqueDeviceConfiguration driver@1:s+ parameters@2:*+;
Overhead podFixed@1:{q};
OwnerReference! apiVersion@5:s+ blockOwnerDeletion@7:b? controller@6:b? kind@1:s+ name@3:s+
  uid@4:s+=;
ParamKind! apiVersion@1:s kind@2:s;
ParamRef! name@1:s namespace@2:s parameterNotFoundAction@4:s? selector@3:LabelSelector;
ParentReference group@1:s name@4:s namespace@3:s resource@2:s;
v1 PersistentVolume apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:PersistentVolumeSpec+
  status@3:PersistentVolumeStatus+;
v1 PersistentVolumeClaim apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:PersistentVolumeClaimSpec+ status@3:PersistentVolumeClaimStatus+;
PersistentVolumeClaimCondition lastProbeTime@3:t+ lastTransitionTime@4:t+ message@6:s reason@5:s
  status@2:s+ type@1:s+=;
PersistentVolumeClaimSpec accessModes@1:[s] dataSource@7:TypedLocalObjectReference
  dataSourceRef@8:TypedObjectReference resources@2:VolumeResourceRequirements+
  selector@4:LabelSelector storageClassName@5:s? volumeAttributesClassName@9:s? volumeMode@6:s?
  volumeName@3:s;
PersistentVolumeClaimStatus accessModes@2:[s] allocatedResourceStatuses@7:{s}
  allocatedResources@5:{q} capacity@3:{q} conditions@4:[PersistentVolumeClaimCondition|type]^type
  currentVolumeAttributesClassName@8:s? modifyVolumeStatus@9:ModifyVolumeStatus phase@1:s;
PersistentVolumeClaimTemplate metadata@1:ObjectMeta+ spec@2:PersistentVolumeClaimSpec+;
PersistentVolumeClaimVolumeSource claimName@1:s+ readOnly@2:b;
PersistentVolumeSpec accessModes@3:[s] awsElasticBlockStore@2.2:AWSElasticBlockStoreVolumeSource
  azureDisk@2.16:AzureDiskVolumeSource azureFile@2.13:AzureFilePersistentVolumeSource
  capacity@1:{q} cephfs@2.9:CephFSPersistentVolumeSource cinder@2.8:CinderPersistentVolumeSource
  claimRef@4:ObjectReference csi@2.22:CSIPersistentVolumeSource fc@2.10:FCVolumeSource
  flexVolume@2.12:FlexPersistentVolumeSource flocker@2.11:FlockerVolumeSource
  gcePersistentDisk@2.1:GCEPersistentDiskVolumeSource glusterfs@2.4:GlusterfsPersistentVolumeSource
  hostPath@2.3:HostPathVolumeSource iscsi@2.7:ISCSIPersistentVolumeSource
  local@2.20:LocalVolumeSource mountOptions@7:[s] nfs@2.5:NFSVolumeSource
  nodeAffinity@9:VolumeNodeAffinity persistentVolumeReclaimPolicy@5:s
  photonPersistentDisk@2.17:PhotonPersistentDiskVolumeSource
  portworxVolume@2.18:PortworxVolumeSource quobyte@2.15:QuobyteVolumeSource
  rbd@2.6:RBDPersistentVolumeSource scaleIO@2.19:ScaleIOPersistentVolumeSource storageClassName@6:s
  storageos@2.21:StorageOSPersistentVolumeSource volumeAttributesClassName@10:s? volumeMode@8:s?
  vsphereVolume@2.14:VsphereVirtualDiskVolumeSource;
PersistentVolumeStatus lastPhaseTransitionTime@4:t message@2:s phase@1:s reason@3:s;
PhotonPersistentDiskVolumeSource fsType@2:s pdID@1:s+;
v1 Pod apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:PodSpec+ status@3:PodStatus+;
PodAffinity preferredDuringSchedulingIgnoredDuringExecution@2:[WeightedPodAffinityTerm]
  requiredDuringSchedulingIgnoredDuringExecution@1:[PodAffinityTerm];
PodAffinityTerm labelSelector@1:LabelSelector matchLabelKeys@5:[s] mismatchLabelKeys@6:[s]
  namespaceSelector@4:LabelSelector namespaces@2:[s] topologyKey@3:s+;
PodAntiAffinity preferredDuringSchedulingIgnoredDuringExecution@2:[WeightedPodAffinityTerm]
  requiredDuringSchedulingIgnoredDuringExecution@1:[PodAffinityTerm];
PodCertificateProjection certificateChainPath@6:s credentialBundlePath@4:s keyPath@5:s keyType@2:s
  maxExpirationSeconds@3:i? signerName@1:s userAnnotations@7:{s};
PodCondition lastProbeTime@3:t+ lastTransitionTime@4:t+ message@6:s observedGeneration@7:l
  reason@5:s status@2:s+ type@1:s+=;
PodDNSConfig nameservers@1:[s] options@3:[PodDNSConfigOption] searches@2:[s];
PodDNSConfigOption name@1:s value@2:s?;
policy/v1 PodDisruptionBudget apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:PodDisruptionBudgetSpec+ status@3:PodDisruptionBudgetStatus+;
PodDisruptionBudgetSpec maxUnavailable@3:x minAvailable@1:x selector@2:LabelSelector%
  unhealthyPodEvictionPolicy@4:s?;
PodDisruptionBudgetStatus conditions@7:[Condition|type]^type currentHealthy@4:i+
  desiredHealthy@5:i+ disruptedPods@2:{t} disruptionsAllowed@3:i+ expectedPods@6:i+
  observedGeneration@1:l;
PodExtendedResourceClaimStatus requestMappings@1:[ContainerExtendedResourceRequest]+
  resourceClaimName@2:s+;
PodFailurePolicy rules@1:[PodFailurePolicyRule]+;
PodFailurePolicyOnExitCodesRequirement containerName@1:s? operator@2:s+ values@3:[i|]+;
PodFailurePolicyOnPodConditionsPattern status@2:s+ type@1:s+;
PodFailurePolicyRule action@1:s+ onExitCodes@2:PodFailurePolicyOnExitCodesRequirement
  onPodConditions@3:[PodFailurePolicyOnPodConditionsPattern];
PodIP ip@1:s+=;
PodOS name@1:s+;
PodReadinessGate conditionType@1:s+;
PodResourceClaim name@1:s+= resourceClaimName@3:s? resourceClaimTemplateName@4:s?;
PodResourceClaimStatus name@1:s+= resourceClaimName@2:s?;
PodSchedulingGate name@1:s+=;
PodSchedulingGroup podGroupName@1:s?;
PodSecurityContext appArmorProfile@11:AppArmorProfile fsGroup@5:l? fsGroupChangePolicy@9:s?
  runAsGroup@6:l? runAsNonRoot@3:b? runAsUser@2:l? seLinuxChangePolicy@13:s?
  seLinuxOptions@1:SELinuxOptions seccompProfile@10:SeccompProfile supplementalGroups@4:[l]
  supplementalGroupsPolicy@12:s? sysctls@7:[Sysctl] windowsOptions@8:WindowsSecurityContextOptions;
PodSpec activeDeadlineSeconds@5:l? affinity@18:Affinity automountServiceAccountToken@21:b?
  containers@2:[Container|name]+^name dnsConfig@26:PodDNSConfig dnsPolicy@6:s
  enableServiceLinks@30:b? ephemeralContainers@34:[EphemeralContainer|name]^name
  hostAliases@23:[HostAlias|ip]^ip hostIPC@13:b hostNetwork@11:b hostPID@12:b hostUsers@37:b?
  hostname@16:s hostnameOverride@41:s? imagePullSecrets@15:[LocalObjectReference|name]^name
  initContainers@20:[Container|name]^name nodeName@10:s nodeSelector@7:{s}! os@36:PodOS
  overhead@32:{q} preemptionPolicy@31:s? priority@25:i? priorityClassName@24:s
  readinessGates@28:[PodReadinessGate] resourceClaims@39:[PodResourceClaim|name]^name~
  resources@40:ResourceRequirements restartPolicy@3:s runtimeClassName@29:s? schedulerName@19:s
  schedulingGates@38:[PodSchedulingGate|name]^name schedulingGroup@43:PodSchedulingGroup
  securityContext@14:PodSecurityContext serviceAccount@9:s serviceAccountName@8:s
  setHostnameAsFQDN@35:b? shareProcessNamespace@27:b? subdomain@17:s
  terminationGracePeriodSeconds@4:l? tolerations@22:[Toleration]
  topologySpreadConstraints@33:[TopologySpreadConstraint|topologyKey,whenUnsatisfiable]^topologyKey
  volumes@1:[Volume|name]^name~;
PodStatus allocatedResources@19:{q} conditions@2:[PodCondition|type]^type
  containerStatuses@8:[ContainerStatus] ephemeralContainerStatuses@13:[ContainerStatus]
  extendedResourceClaimStatus@18:PodExtendedResourceClaimStatus hostIP@5:s hostIPs@16:[HostIP]^ip
  initContainerStatuses@10:[ContainerStatus] message@3:s
  nodeAllocatableResourceClaimStatuses@21:[NodeAllocatableResourceClaimStatus]
  nominatedNodeName@11:s observedGeneration@17:l phase@1:s podIP@6:s podIPs@12:[PodIP|ip]^ip
  qosClass@9:s reason@4:s resize@14:s resourceClaimStatuses@15:[PodResourceClaimStatus|name]^name~
  resources@20:ResourceRequirements startTime@7:t;
v1 PodTemplate apiVersion:s kind:s metadata@1:ObjectMeta+ template@2:PodTemplateSpec+;
PodTemplateSpec metadata@1:ObjectMeta+ spec@2:PodSpec+;
PodsMetricSource metric@1:MetricIdentifier+ target@2:MetricTarget+;
PodsMetricStatus current@2:MetricValueStatus+ metric@1:MetricIdentifier+;
PolicyRule apiGroups@2:[s] nonResourceURLs@5:[s] resourceNames@4:[s] resources@3:[s] verbs@1:[s]+;
PolicyRulesWithSubjects nonResourceRules@3:[NonResourcePolicyRule]
  resourceRules@2:[ResourcePolicyRule] subjects@1:[Subject.flowcontrol.v1]+;
PortStatus error@3:s? port@1:i+ protocol@2:s+;
PortworxVolumeSource fsType@2:s readOnly@3:b volumeID@1:s+;
Preconditions resourceVersion@2:s? uid@1:s?;
PreferredSchedulingTerm preference@2:NodeSelectorTerm+ weight@1:i+;
scheduling.k8s.io/v1 PriorityClass apiVersion:s description@4:s globalDefault@3:b kind:s
  metadata@1:ObjectMeta+ preemptionPolicy@5:s? value@2:i+;
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration apiVersion:s kind:s
  metadata@1:ObjectMeta+ spec@2:PriorityLevelConfigurationSpec+
  status@3:PriorityLevelConfigurationStatus+;
PriorityLevelConfigurationCondition lastTransitionTime@3:t+ message@5:s reason@4:s status@2:s
  type@1:s;
PriorityLevelConfigurationReference name@1:s+;
PriorityLevelConfigurationSpec exempt@3:ExemptPriorityLevelConfiguration
  limited@2:LimitedPriorityLevelConfiguration type@1:s+;
PriorityLevelConfigurationStatus conditions@1:[PriorityLevelConfigurationCondition|type]^type;
Probe exec@1.1:ExecAction failureThreshold@6:i grpc@1.4:GRPCAction httpGet@1.2:HTTPGetAction
  initialDelaySeconds@2:i periodSeconds@4:i successThreshold@5:i tcpSocket@1.3:TCPSocketAction
  terminationGracePeriodSeconds@7:l? timeoutSeconds@3:i;
ProjectedVolumeSource defaultMode@2:i? sources@1:[VolumeProjection]+;
QueuingConfiguration handSize@2:i+ queueLengthLimit@3:i+ queues@1:i+;
QuobyteVolumeSource group@5:s readOnly@3:b registry@1:s+ tenant@6:s user@4:s volume@2:s+;
RBDPersistentVolumeSource fsType@3:s image@2:s+ keyring@6:s monitors@1:[s]+ pool@4:s readOnly@8:b
  secretRef@7:SecretReference user@5:s;
RBDVolumeSource fsType@3:s image@2:s+ keyring@6:s monitors@1:[s]+ pool@4:s readOnly@8:b
  secretRef@7:LocalObjectReference user@5:s;
apps/v1 ReplicaSet apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:ReplicaSetSpec+
  status@3:ReplicaSetStatus+;
ReplicaSetCondition lastTransitionTime@3:t+ message@5:s reason@4:s status@2:s+ type@1:s+=;
ReplicaSetSpec minReadySeconds@4:i replicas@1:i? selector@2:LabelSelector?+
  template@3:PodTemplateSpec+;
ReplicaSetStatus availableReplicas@5:i conditions@6:[ReplicaSetCondition|type]^type
  fullyLabeledReplicas@2:i observedGeneration@3:l readyReplicas@4:i replicas@1:i+
  terminatingReplicas@7:i?;
v1 ReplicationController apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:ReplicationControllerSpec+ status@3:ReplicationControllerStatus+;
ReplicationControllerCondition lastTransitionTime@3:t+ message@5:s reason@4:s status@2:s+
  type@1:s+=;
ReplicationControllerSpec minReadySeconds@4:i replicas@1:i? selector@2:{s}!
  template@3:PodTemplateSpec;
ReplicationControllerStatus availableReplicas@5:i
  conditions@6:[ReplicationControllerCondition|type]^type fullyLabeledReplicas@2:i
  observedGeneration@3:l readyReplicas@4:i replicas@1:i+;
ResourceAttributes fieldSelector@8:FieldSelectorAttributes group@3:s
  labelSelector@9:LabelSelectorAttributes name@7:s namespace@1:s resource@5:s subresource@6:s
  verb@2:s version@4:s;
ResourceClaim.core.v1 name@1:s+= request@2:s;
resource.k8s.io/v1 ResourceClaim.resource.v1 apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:ResourceClaimSpec+ status@3:ResourceClaimStatus+;
ResourceClaimConsumerReference apiGroup@1:s name@4:s+ resource@3:s+ uid@5:s+=;
ResourceClaimSpec devices@1:DeviceClaim+;
ResourceClaimStatus allocation@1:AllocationResult
  devices@4:[AllocatedDeviceStatus|driver,device,pool,shareID]
  reservedFor@2:[ResourceClaimConsumerReference|uid]^uid;
resource.k8s.io/v1 ResourceClaimTemplate apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:ResourceClaimTemplateSpec+;
ResourceClaimTemplateSpec metadata@1:ObjectMeta+ spec@2:ResourceClaimSpec+;
ResourceFieldSelector! containerName@1:s divisor@3:q+ resource@2:s+;
ResourceHealth health@2:s message@6:s? resourceID@1:s+=;
ResourceMetricSource name@1:s+ target@2:MetricTarget+;
ResourceMetricStatus current@2:MetricValueStatus+ name@1:s+;
ResourcePolicyRule apiGroups@2:[s|]+ clusterScope@4:b namespaces@5:[s|]+ resources@3:[s|]+
  verbs@1:[s|]+;
ResourcePool generation@2:l+ name@1:s+ resourceSliceCount@3:l+;
v1 ResourceQuota apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:ResourceQuotaSpec+
  status@3:ResourceQuotaStatus+;
ResourceQuotaSpec hard@1:{q} scopeSelector@3:ScopeSelector scopes@2:[s];
ResourceQuotaStatus hard@1:{q} used@2:{q};
ResourceRequirements claims@3:[ResourceClaim.core.v1|name] limits@1:{q} requests@2:{q};
ResourceRule apiGroups@2:[s] resourceNames@4:[s] resources@3:[s] verbs@1:[s]+;
resource.k8s.io/v1 ResourceSlice apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:ResourceSliceSpec+;
ResourceSliceSpec allNodes@5:b? devices@6:[Device] driver@1:s+ nodeName@3:s?
  nodeSelector@4:NodeSelector perDeviceNodeSelection@7:b? pool@2:ResourcePool+
  sharedCounters@8:[CounterSet];
ResourceStatus name@1:s+= resources@2:[ResourceHealth|resourceID];
rbac.authorization.k8s.io/v1 Role apiVersion:s kind:s metadata@1:ObjectMeta+ rules@2:[PolicyRule]+;
rbac.authorization.k8s.io/v1 RoleBinding apiVersion:s kind:s metadata@1:ObjectMeta+
  roleRef@3:RoleRef+ subjects@2:[Subject.rbac.v1];
RoleRef! apiGroup@1:s+ kind@2:s+ name@3:s+;
RollingUpdateDaemonSet maxSurge@2:x maxUnavailable@1:x;
RollingUpdateDeployment maxSurge@2:x maxUnavailable@1:x;
RollingUpdateStatefulSetStrategy maxUnavailable@2:x partition@1:i?;
RuleWithOperations apiGroups@2.1:[s] apiVersions@2.2:[s] operations@1:[s] resources@2.3:[s]
  scope@2.4:s?;
node.k8s.io/v1 RuntimeClass apiVersion:s handler@2:s+ kind:s metadata@1:ObjectMeta+
  overhead@3:Overhead scheduling@4:Scheduling;
SELinuxOptions level@4:s role@2:s type@3:s user@1:s;
autoscaling/v1 Scale apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:ScaleSpec+
  status@3:ScaleStatus+;
ScaleIOPersistentVolumeSource fsType@9:s gateway@1:s+ protectionDomain@5:s readOnly@10:b
  secretRef@3:SecretReference?+ sslEnabled@4:b storageMode@7:s storagePool@6:s system@2:s+
  volumeName@8:s;
ScaleIOVolumeSource fsType@9:s gateway@1:s+ protectionDomain@5:s readOnly@10:b
  secretRef@3:LocalObjectReference?+ sslEnabled@4:b storageMode@7:s storagePool@6:s system@2:s+
  volumeName@8:s;
ScaleSpec replicas@1:i;
ScaleStatus replicas@1:i+ selector@2:s;
Scheduling nodeSelector@1:{s}! tolerations@2:[Toleration];
ScopeSelector! matchExpressions@1:[ScopedResourceSelectorRequirement];
ScopedResourceSelectorRequirement operator@2:s+ scopeName@1:s+ values@3:[s];
SeccompProfile localhostProfile@2:s? type@1:s+;
v1 Secret apiVersion:s data@2:{y} immutable@5:b? kind:s metadata@1:ObjectMeta+ stringData@4:{s}
  type@3:s;
SecretEnvSource name@1.1:s optional@2:b?;
SecretKeySelector! key@2:s+ name@1.1:s optional@3:b?;
SecretProjection items@2:[KeyToPath] name@1.1:s optional@4:b?;
SecretReference! name@1:s namespace@2:s;
SecretVolumeSource defaultMode@3:i? items@2:[KeyToPath] optional@4:b? secretName@1:s;
SecurityContext allowPrivilegeEscalation@7:b? appArmorProfile@12:AppArmorProfile
  capabilities@1:Capabilities privileged@2:b? procMount@9:s? readOnlyRootFilesystem@6:b?
  runAsGroup@8:l? runAsNonRoot@5:b? runAsUser@4:l? seLinuxOptions@3:SELinuxOptions
  seccompProfile@11:SeccompProfile windowsOptions@10:WindowsSecurityContextOptions;
SelectableField jsonPath@1:s+;
authorization.k8s.io/v1 SelfSubjectAccessReview apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:SelfSubjectAccessReviewSpec+ status@3:SubjectAccessReviewStatus+;
SelfSubjectAccessReviewSpec nonResourceAttributes@2:NonResourceAttributes
  resourceAttributes@1:ResourceAttributes;
authentication.k8s.io/v1 SelfSubjectReview apiVersion:s kind:s metadata@1:ObjectMeta+
  status@2:SelfSubjectReviewStatus+;
SelfSubjectReviewStatus userInfo@1:UserInfo+;
authorization.k8s.io/v1 SelfSubjectRulesReview apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:SelfSubjectRulesReviewSpec+ status@3:SubjectRulesReviewStatus+;
SelfSubjectRulesReviewSpec namespace@1:s;
v1 Service apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:ServiceSpec+ status@3:ServiceStatus+;
v1 ServiceAccount apiVersion:s automountServiceAccountToken@4:b?
  imagePullSecrets@3:[LocalObjectReference] kind:s metadata@1:ObjectMeta+
  secrets@2:[ObjectReference|name]^name;
ServiceAccountSubject name@2:s+ namespace@1:s+;
ServiceAccountTokenProjection audience@1:s expirationSeconds@2:l? path@3:s+;
ServiceBackendPort! name@1:s number@2:i;
networking.k8s.io/v1 ServiceCIDR apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:ServiceCIDRSpec+
  status@3:ServiceCIDRStatus+;
ServiceCIDRSpec cidrs@1:[s];
ServiceCIDRStatus conditions@1:[Condition|type]^type;
ServicePort appProtocol@6:s? name@1:s nodePort@5:i port@3:i+=0 protocol@2:s=TCP targetPort@4:x;
ServiceReference.admissionregistration.v1 name@2:s+ namespace@1:s+ path@3:s? port@4:i?;
ServiceReference.apiextensions.v1 name@2:s+ namespace@1:s+ path@3:s? port@4:i?;
ServiceReference.apiregistration.v1 name@2:s namespace@1:s port@3:i?;
ServiceSpec allocateLoadBalancerNodePorts@20:b? clusterIP@3:s clusterIPs@18:[s] externalIPs@5:[s]
  externalName@10:s externalTrafficPolicy@11:s healthCheckNodePort@12:i internalTrafficPolicy@22:s?
  ipFamilies@19:[s] ipFamilyPolicy@17:s? loadBalancerClass@21:s? loadBalancerIP@8:s
  loadBalancerSourceRanges@9:[s] ports@1:[ServicePort|port,protocol]^port
  publishNotReadyAddresses@13:b selector@2:{s}! sessionAffinity@7:s
  sessionAffinityConfig@14:SessionAffinityConfig trafficDistribution@23:s? type@4:s;
ServiceStatus conditions@2:[Condition|type]^type loadBalancer@1:LoadBalancerStatus+;
SessionAffinityConfig clientIP@1:ClientIPConfig;
SleepAction seconds@1:l+;
apps/v1 StatefulSet apiVersion:s kind:s metadata@1:ObjectMeta+ spec@2:StatefulSetSpec+
  status@3:StatefulSetStatus+;
StatefulSetCondition lastTransitionTime@3:t+ message@5:s reason@4:s status@2:s+ type@1:s+=;
StatefulSetOrdinals start@1:i+;
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted@1:s whenScaled@2:s;
StatefulSetSpec minReadySeconds@9:i ordinals@11:StatefulSetOrdinals
  persistentVolumeClaimRetentionPolicy@10:StatefulSetPersistentVolumeClaimRetentionPolicy
  podManagementPolicy@6:s replicas@1:i? revisionHistoryLimit@8:i? selector@2:LabelSelector?+
  serviceName@5:s+ template@3:PodTemplateSpec+ updateStrategy@7:StatefulSetUpdateStrategy+
  volumeClaimTemplates@4:[PersistentVolumeClaim];
StatefulSetStatus availableReplicas@11:i+ collisionCount@9:i?
  conditions@10:[StatefulSetCondition|type]^type currentReplicas@4:i currentRevision@6:s
  observedGeneration@1:l readyReplicas@3:i replicas@2:i+ updateRevision@7:s updatedReplicas@5:i;
StatefulSetUpdateStrategy rollingUpdate@2:RollingUpdateStatefulSetStrategy type@1:s;
storage.k8s.io/v1 StorageClass allowVolumeExpansion@6:b? allowedTopologies@8:[TopologySelectorTerm]
  apiVersion:s kind:s metadata@1:ObjectMeta+ mountOptions@5:[s] parameters@3:{s} provisioner@2:s+
  reclaimPolicy@4:s? volumeBindingMode@7:s?;
StorageOSPersistentVolumeSource fsType@3:s readOnly@4:b secretRef@5:ObjectReference volumeName@1:s
  volumeNamespace@2:s;
StorageOSVolumeSource fsType@3:s readOnly@4:b secretRef@5:LocalObjectReference volumeName@1:s
  volumeNamespace@2:s;
Subject.flowcontrol.v1 group@3:GroupSubject kind@1:s+ serviceAccount@4:ServiceAccountSubject
  user@2:UserSubject;
Subject.rbac.v1! apiGroup@2:s kind@1:s+ name@3:s+ namespace@4:s;
authorization.k8s.io/v1 SubjectAccessReview apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:SubjectAccessReviewSpec+ status@3:SubjectAccessReviewStatus+;
SubjectAccessReviewSpec extra@5:{[s]} groups@4:[s] nonResourceAttributes@2:NonResourceAttributes
  resourceAttributes@1:ResourceAttributes uid@6:s user@3:s;
SubjectAccessReviewStatus allowed@1:b+ denied@4:b evaluationError@3:s reason@2:s;
SubjectRulesReviewStatus evaluationError@4:s incomplete@3:b+ nonResourceRules@2:[NonResourceRule]+
  resourceRules@1:[ResourceRule]+;
SuccessPolicy rules@1:[SuccessPolicyRule]+;
SuccessPolicyRule succeededCount@2:i? succeededIndexes@1:s?;
Sysctl name@1:s+ value@2:s+;
TCPSocketAction host@2:s port@1:x+;
Taint effect@3:s+ key@1:s+ timeAdded@4:t value@2:s;
authentication.k8s.io/v1 TokenRequest.authentication.v1 apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:TokenRequestSpec+ status@3:TokenRequestStatus+;
TokenRequest.storage.v1 audience@1:s+ expirationSeconds@2:l?;
TokenRequestSpec audiences@1:[s]+ boundObjectRef@3:BoundObjectReference?+ expirationSeconds@4:l?+;
TokenRequestStatus expirationTimestamp@2:t+ token@1:s+;
authentication.k8s.io/v1 TokenReview apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:TokenReviewSpec+ status@3:TokenReviewStatus+;
TokenReviewSpec audiences@2:[s] token@1:s;
TokenReviewStatus audiences@4:[s] authenticated@1:b error@3:s user@2:UserInfo+;
Toleration effect@4:s key@1:s operator@2:s tolerationSeconds@5:l? value@3:s;
TopologySelectorLabelRequirement key@1:s+ values@2:[s]+;
TopologySelectorTerm! matchLabelExpressions@1:[TopologySelectorLabelRequirement];
TopologySpreadConstraint labelSelector@4:LabelSelector matchLabelKeys@8:[s] maxSkew@1:i+
  minDomains@5:i? nodeAffinityPolicy@6:s? nodeTaintsPolicy@7:s? topologyKey@2:s+=
  whenUnsatisfiable@3:s+=;
TypeChecking expressionWarnings@1:[ExpressionWarning];
TypedLocalObjectReference! apiGroup@1:s?+ kind@2:s+ name@3:s+;
TypedObjectReference apiGroup@1:s?+ kind@2:s+ name@3:s+ namespace@4:s?;
UncountedTerminatedPods failed@2:[s|] succeeded@1:[s|];
UserInfo extra@4:{[s]} groups@3:[s] uid@2:s username@1:s;
UserSubject name@1:s+;
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy apiVersion:s kind:s
  metadata@1:ObjectMeta+ spec@2:ValidatingAdmissionPolicySpec+
  status@3:ValidatingAdmissionPolicyStatus+;
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding apiVersion:s kind:s
  metadata@1:ObjectMeta+ spec@2:ValidatingAdmissionPolicyBindingSpec+;
ValidatingAdmissionPolicyBindingSpec matchResources@3:MatchResources paramRef@2:ParamRef
  policyName@1:s validationActions@4:[s|];
ValidatingAdmissionPolicySpec auditAnnotations@5:[AuditAnnotation] failurePolicy@4:s?
  matchConditions@6:[MatchCondition|name]^name matchConstraints@2:MatchResources
  paramKind@1:ParamKind validations@3:[Validation] variables@7:[Variable|name]^name;
ValidatingAdmissionPolicyStatus conditions@3:[Condition|type] observedGeneration@1:l
  typeChecking@2:TypeChecking;
ValidatingWebhook admissionReviewVersions@8:[s]+
  clientConfig@2:WebhookClientConfig.admissionregistration.v1+ failurePolicy@4:s?
  matchConditions@11:[MatchCondition|name]^name matchPolicy@9:s? name@1:s+=
  namespaceSelector@5:LabelSelector objectSelector@10:LabelSelector rules@3:[RuleWithOperations]
  sideEffects@6:s?+ timeoutSeconds@7:i?;
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration apiVersion:s kind:s
  metadata@1:ObjectMeta+ webhooks@2:[ValidatingWebhook|name]^name;
Validation expression@1:s+ message@2:s messageExpression@4:s reason@3:s?;
ValidationRule fieldPath@5:s message@2:s messageExpression@3:s optionalOldSelf@6:b? reason@4:s?
  rule@1:s+=;
Variable! expression@2:s+ name@1:s+=;
Volume awsElasticBlockStore@2.4:AWSElasticBlockStoreVolumeSource
  azureDisk@2.22:AzureDiskVolumeSource azureFile@2.18:AzureFileVolumeSource
  cephfs@2.14:CephFSVolumeSource cinder@2.13:CinderVolumeSource
  configMap@2.19:ConfigMapVolumeSource csi@2.28:CSIVolumeSource
  downwardAPI@2.16:DownwardAPIVolumeSource emptyDir@2.2:EmptyDirVolumeSource
  ephemeral@2.29:EphemeralVolumeSource fc@2.17:FCVolumeSource flexVolume@2.12:FlexVolumeSource
  flocker@2.15:FlockerVolumeSource gcePersistentDisk@2.3:GCEPersistentDiskVolumeSource
  gitRepo@2.5:GitRepoVolumeSource glusterfs@2.9:GlusterfsVolumeSource
  hostPath@2.1:HostPathVolumeSource image@2.30:ImageVolumeSource iscsi@2.8:ISCSIVolumeSource
  name@1:s+= nfs@2.7:NFSVolumeSource persistentVolumeClaim@2.10:PersistentVolumeClaimVolumeSource
  photonPersistentDisk@2.23:PhotonPersistentDiskVolumeSource
  portworxVolume@2.24:PortworxVolumeSource projected@2.26:ProjectedVolumeSource
  quobyte@2.21:QuobyteVolumeSource rbd@2.11:RBDVolumeSource scaleIO@2.25:ScaleIOVolumeSource
  secret@2.6:SecretVolumeSource storageos@2.27:StorageOSVolumeSource
  vsphereVolume@2.20:VsphereVirtualDiskVolumeSource;
storage.k8s.io/v1 VolumeAttachment apiVersion:s kind:s metadata@1:ObjectMeta+
  spec@2:VolumeAttachmentSpec+ status@3:VolumeAttachmentStatus+;
VolumeAttachmentSource inlineVolumeSpec@2:PersistentVolumeSpec persistentVolumeName@1:s?;
VolumeAttachmentSpec attacher@1:s+ nodeName@3:s+ source@2:VolumeAttachmentSource+;
VolumeAttachmentStatus attachError@3:VolumeError attached@1:b+ attachmentMetadata@2:{s}
  detachError@4:VolumeError;
storage.k8s.io/v1 VolumeAttributesClass apiVersion:s driverName@2:s+ kind:s metadata@1:ObjectMeta+
  parameters@3:{s};
VolumeDevice devicePath@2:s+= name@1:s+;
VolumeError errorCode@3:i? message@2:s time@1:t+;
VolumeMount mountPath@3:s+= mountPropagation@5:s? name@1:s+ readOnly@2:b recursiveReadOnly@7:s?
  subPath@4:s subPathExpr@6:s;
VolumeMountStatus mountPath@2:s+= name@1:s+ readOnly@3:b recursiveReadOnly@4:s?
  volumeStatus@5:VolumeStatus;
VolumeNodeAffinity required@1:NodeSelector;
VolumeNodeResources count@1:i?;
VolumeProjection clusterTrustBundle@5:ClusterTrustBundleProjection configMap@3:ConfigMapProjection
  downwardAPI@2:DownwardAPIProjection podCertificate@6:PodCertificateProjection
  secret@1:SecretProjection serviceAccountToken@4:ServiceAccountTokenProjection;
VolumeResourceRequirements limits@1:{q} requests@2:{q};
VolumeStatus image@1:ImageVolumeStatus;
VsphereVirtualDiskVolumeSource fsType@2:s storagePolicyID@4:s storagePolicyName@3:s volumePath@1:s+;
WebhookClientConfig.admissionregistration.v1 caBundle@2:y
  service@1:ServiceReference.admissionregistration.v1 url@3:s?;
WebhookClientConfig.apiextensions.v1 caBundle@2:y service@1:ServiceReference.apiextensions.v1
  url@3:s?;
WebhookConversion clientConfig@2:WebhookClientConfig.apiextensions.v1
  conversionReviewVersions@3:[s]+;
WeightedPodAffinityTerm podAffinityTerm@2:PodAffinityTerm+ weight@1:i+;
WindowsSecurityContextOptions gmsaCredentialSpec@2:s? gmsaCredentialSpecName@1:s? hostProcess@4:b?
  runAsUserName@3:s?`;
