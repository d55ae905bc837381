package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

const pollEvery = 20 * time.Millisecond

var create = metav1.CreateOptions{}

func template(labels map[string]string) corev1.PodTemplateSpec {
	port := intstr.FromString("http")
	no := false
	user := int64(1000)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "c", Image: "nginx:1", Args: []string{"-v", ""},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
				Env: []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "S",
					ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k", Optional: &no}}}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
					"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
					Path: "/", Port: port}}, PeriodSeconds: 5},
				SecurityContext: &corev1.SecurityContext{RunAsUser: &user, AllowPrivilegeEscalation: &no},
				VolumeMounts:    []corev1.VolumeMount{{Name: "v", MountPath: "/v"}},
			}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "a"}}}}},
			SecurityContext: &corev1.PodSecurityContext{SupplementalGroups: []int64{1, 2, 3}},
			Tolerations:     []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}},
		},
	}
}

func typedSteps(r *run, ctx context.Context) {
	labels := map[string]string{"app": "typed"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	core, apps := r.typed.CoreV1(), r.typed.AppsV1()
	replicas := int32(2)

	r.step("create a Secret", func() (any, error) {
		return core.Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Name: "s"}, Data: map[string][]byte{"k": {0, 255}},
			StringData: map[string]string{"t": "text"}}, create)
	})
	r.step("create a ConfigMap with binary data", func() (any, error) {
		return core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "b"}, BinaryData: map[string][]byte{"k": {1, 2}}}, create)
	})
	r.step("create what is not valid", func() (any, error) {
		return core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "A_"}}, create)
	})
	r.step("create a Deployment", func() (any, error) {
		return apps.Deployments(namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Name: "typed"},
			Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector,
				Template: template(labels)}}, create)
	})
	r.step("update a Deployment", func() (any, error) {
		got := must1(apps.Deployments(namespace).Get(ctx, "typed", metav1.GetOptions{}))
		got.Spec.Template.Spec.Containers[0].Image = "nginx:2"
		unavailable := intstr.FromString("30%")
		got.Spec.Strategy.RollingUpdate.MaxUnavailable = &unavailable
		return apps.Deployments(namespace).Update(ctx, got, metav1.UpdateOptions{})
	})
	r.step("update the status of a Deployment", func() (any, error) {
		got := must1(apps.Deployments(namespace).Get(ctx, "typed", metav1.GetOptions{}))
		got.Status = appsv1.DeploymentStatus{ObservedGeneration: got.Generation, Replicas: 2,
			Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue,
				LastUpdateTime: metav1.Unix(1700000000, 0)}}}
		return apps.Deployments(namespace).UpdateStatus(ctx, got, metav1.UpdateOptions{})
	})
	r.step("scale of a Deployment", func() (any, error) {
		return apps.Deployments(namespace).UpdateScale(ctx, "typed",
			&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "typed", Namespace: namespace},
				Spec: autoscalingv1.ScaleSpec{Replicas: 4}}, metav1.UpdateOptions{})
	})
	r.step("update by an old version", func() (any, error) {
		got := must1(apps.Deployments(namespace).Get(ctx, "typed", metav1.GetOptions{}))
		got.ResourceVersion = "1"
		return apps.Deployments(namespace).Update(ctx, got, metav1.UpdateOptions{})
	})
	r.step("apply a Deployment", func() (any, error) {
		return apps.Deployments(namespace).Apply(ctx, appsapply.Deployment("typed",
			namespace).WithLabels(map[string]string{"x": "y"}), metav1.ApplyOptions{FieldManager: "go"})
	})
	r.step("extract what was applied", func() (any, error) {
		got := must1(apps.Deployments(namespace).Get(ctx, "typed", metav1.GetOptions{}))
		return appsapply.ExtractDeployment(got, "go")
	})
	r.step("apply in conflict", func() (any, error) {
		return apps.Deployments(namespace).Apply(ctx, appsapply.Deployment("typed",
			namespace).WithSpec(appsapply.DeploymentSpec().WithReplicas(9)),
			metav1.ApplyOptions{FieldManager: "go"})
	})
	r.step("apply a ConfigMap with an owner", func() (any, error) {
		owner := must1(apps.Deployments(namespace).Get(ctx, "typed", metav1.GetOptions{}))
		return core.ConfigMaps(namespace).Apply(ctx, coreapply.ConfigMap("owned",
			namespace).WithOwnerReferences(metaapply.OwnerReference().
			WithAPIVersion("apps/v1").WithKind("Deployment").WithName("typed").WithUID(owner.UID)),
			metav1.ApplyOptions{FieldManager: "go"})
	})
	r.step("create a StatefulSet", func() (any, error) {
		got, err := apps.StatefulSets(namespace).Create(ctx, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "typed"}, Spec: appsv1.StatefulSetSpec{
				Selector: selector, Template: template(labels), ServiceName: "typed",
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
					ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeClaimSpec{
						AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
						Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
							"storage": resource.MustParse("1.5Gi")}}}}}}}, create)
		if err != nil {
			return nil, err
		}
		// JSON has kind and version within, protobuf has not.
		got.Spec.VolumeClaimTemplates[0].TypeMeta = metav1.TypeMeta{}
		return got, nil
	})
	r.step("create a Job", func() (any, error) {
		pod := template(nil)
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		return r.typed.BatchV1().Jobs(namespace).Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Name: "typed"}, Spec: batchv1.JobSpec{Template: pod}}, create)
	})
	r.step("create a Service", func() (any, error) {
		return core.Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Name: "typed"}, Spec: corev1.ServiceSpec{
			Selector: labels, ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80,
				TargetPort: intstr.FromString("http")}}}}, create)
	})
	r.step("create an Ingress", func() (any, error) {
		prefix := networkingv1.PathTypePrefix
		return r.typed.NetworkingV1().Ingresses(namespace).Create(ctx,
			&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "typed"},
				Spec: networkingv1.IngressSpec{
					Rules: []networkingv1.IngressRule{{Host: "a.example",
						IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
							Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix,
								Backend: networkingv1.IngressBackend{
									Service: &networkingv1.IngressServiceBackend{Name: "typed",
										Port: networkingv1.ServiceBackendPort{Number: 80}}}}}}}}}}}, create)
	})
	r.step("create an autoscaler", func() (any, error) {
		cpu := int32(70)
		return r.typed.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(ctx,
			&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "typed"},
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3,
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "typed",
						APIVersion: "apps/v1"},
					Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
						Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu",
							Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
								AverageUtilization: &cpu}}}}}}, create)
	})
	r.step("create a Role", func() (any, error) {
		return r.typed.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{
			Name: "typed"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"},
			APIGroups: []string{""}, Resources: []string{"pods"}}}}, create)
	})
	r.step("create a disruption budget", func() (any, error) {
		most := intstr.FromInt32(1)
		return r.typed.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx,
			&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "typed"},
				Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector, MaxUnavailable: &most}}, create)
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "typed"}, Spec: template(nil).Spec}
	r.step("create a Pod", func() (any, error) {
		return core.Pods(namespace).Create(ctx, pod,
			create)
	})
	r.step("bind a Pod", func() (any, error) {
		must(core.Pods(namespace).Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "typed"},
			Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, create))
		got := must1(core.Pods(namespace).Get(ctx, "typed", metav1.GetOptions{}))
		return fmt.Sprint(got.Spec.NodeName, got.Status.Conditions[0].Type,
			got.Status.Conditions[0].Status), nil
	})
	r.step("update the status of a Pod", func() (any, error) {
		got := must1(core.Pods(namespace).Get(ctx, "typed", metav1.GetOptions{}))
		got.Status.Phase = corev1.PodRunning
		got.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(
				1700000000, 0)}}}}
		return core.Pods(namespace).UpdateStatus(ctx, got, metav1.UpdateOptions{})
	})
	r.step("ephemeral containers", func() (any, error) {
		got := must1(core.Pods(namespace).Get(ctx, "typed", metav1.GetOptions{}))
		got.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "busybox"},
			TargetContainerName:      "c"}}
		after, err := core.Pods(namespace).UpdateEphemeralContainers(ctx, "typed", got,
			metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
		return after.Spec.EphemeralContainers, nil
	})
	r.step("evict a Pod", func() (any, error) {
		seconds := int64(0)
		return "evicted", core.Pods(namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Name: "typed", Namespace: namespace},
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &seconds}})
	})
	r.step("logs of a Pod that there is not", func() (any, error) {
		_, err := core.Pods(namespace).GetLogs("nope", &corev1.PodLogOptions{}).DoRaw(ctx)
		return nil, err
	})
	r.step("review of access", func() (any, error) {
		return r.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: "get", Resource: "pods"}}}, create)
	})
	r.step("token of an account", func() (any, error) {
		must1(core.ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Name: "typed"}}, create))
		seconds := int64(1200)
		got, err := core.ServiceAccounts(namespace).CreateToken(ctx, "typed",
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
				ExpirationSeconds: &seconds}}, create)
		if err != nil {
			return nil, err
		}
		review, err := r.typed.AuthenticationV1().TokenReviews().Create(ctx,
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: got.Status.Token}},
			create)
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(len(strings.Split(got.Status.Token, ".")), review.Status.Authenticated,
			review.Status.User.Username, review.Status.User.Groups), nil
	})
	r.step("events of the old recorder", func() (any, error) {
		broadcaster := record.NewBroadcaster(record.WithContext(ctx))
		defer broadcaster.Shutdown()
		broadcaster.StartRecordingToSink(&eventSink{core.Events(namespace)})
		broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "go"}).Event(reference(),
			corev1.EventTypeNormal, "Tested", "a message")
		return eventsFrom(r, ctx, "Tested")
	})
	r.step("events of the new recorder", func() (any, error) {
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: r.typed.EventsV1()})
		defer broadcaster.Shutdown()
		must(broadcaster.StartRecordingToSinkWithContext(ctx))
		broadcaster.NewRecorder(scheme.Scheme, "go").Eventf(reference(), nil, corev1.EventTypeWarning,
			"Again", "Testing", "a %s", "note")
		return eventsFrom(r, ctx, "Again")
	})
	r.step("leader election", func() (any, error) {
		lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: namespace,
			Name: "leader"}, Client: r.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		seen := &told{}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: lock,
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
			RetryPeriod:     100 * time.Millisecond,
			ReleaseOnCancel: true, Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					seen.add("leads")
					stop()
				},
				OnStoppedLeading: func() { seen.add("stopped") },
			}})
		lease, err := r.typed.CoordinationV1().Leases(namespace).Get(context.Background(), "leader",
			metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(seen.has("leads"), *lease.Spec.HolderIdentity, *lease.Spec.LeaseDurationSeconds,
			*lease.Spec.LeaseTransitions), nil
	})
	r.step("delete by a precondition", func() (any, error) {
		uid := types.UID("nope")
		background := metav1.DeletePropagationBackground
		return nil, apps.Deployments(namespace).Delete(ctx, "typed",
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid},
				PropagationPolicy: &background})
	})
	r.step("delete with a policy", func() (any, error) {
		orphan := metav1.DeletePropagationOrphan
		must(apps.Deployments(namespace).Delete(ctx, "typed", metav1.DeleteOptions{
			PropagationPolicy: &orphan}))
		got, err := apps.Deployments(namespace).Get(ctx, "typed", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return got.Finalizers, nil
	})
	r.step("delete a collection", func() (any, error) {
		must(core.ConfigMaps(namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{}))
		got, err := core.ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return len(got.Items), nil
	})
}

func reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace,
		Name: "b", UID: "u"}
}

// eventsFrom waits for the event with this reason.
func eventsFrom(r *run, ctx context.Context, reason string) (any, error) {
	var line string
	err := wait.PollUntilContextTimeout(ctx, pollEvery, limit, true, func(context.Context) (bool,
		error) {
		found, err := r.typed.CoreV1().Events(namespace).List(ctx,
			metav1.ListOptions{FieldSelector: "reason=" + reason})
		for _, each := range found.Items {
			line = fmt.Sprint(each.Type, each.Message, each.Source.Component, each.ReportingController,
				each.Action, each.Count, !each.EventTime.IsZero(), each.InvolvedObject)
		}
		return line != "", err
	})
	return line, err
}
