package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	nopes       = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "nopes"}
)

func object(text string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	must(made.UnmarshalJSON([]byte(text)))
	return made
}

func configMap(name, value string) *unstructured.Unstructured {
	return object(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap",
"metadata":{"name":%q,"labels":{"app":"web"}},"data":{"a":%q}}`, name, value))
}

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},
"spec":{"selector":{"matchLabels":{"app":"web"}},
"template":{"metadata":{"labels":{"app":"web"}},
"spec":{"containers":[{"name":"c","image":"nginx"}]}}}}`

func dynamicSteps(r *run, ctx context.Context) {
	_, err := r.dynamic.Resource(namespaces).Create(ctx, object(
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+namespace+`"}}`),
		metav1.CreateOptions{})
	must(err)
	maps := r.dynamic.Resource(configMaps).Namespace(namespace)
	sets := r.dynamic.Resource(deployments).Namespace(namespace)

	r.step("create", func() (any, error) {
		return maps.Create(ctx, configMap("a", "1"),
			metav1.CreateOptions{})
	})
	r.step("create again", func() (any, error) {
		return maps.Create(ctx, configMap("a", "1"),
			metav1.CreateOptions{})
	})
	r.step("create without acting", func() (any, error) {
		return maps.Create(ctx, configMap("dry", "1"), metav1.CreateOptions{DryRun: []string{
			metav1.DryRunAll}})
	})
	r.step("create by a generated name", func() (any, error) {
		made := configMap("", "1")
		made.SetGenerateName("made-")
		got, err := maps.Create(ctx, made, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(strings.HasPrefix(got.GetName(), "made-"), len(got.GetName())), maps.Delete(ctx,
			got.GetName(), metav1.DeleteOptions{})
	})
	r.step("create what is not valid", func() (any, error) {
		return maps.Create(ctx, configMap("A_",
			"1"), metav1.CreateOptions{})
	})
	r.step("create with a field that there is not, strictly", func() (any, error) {
		made := configMap("strict", "1")
		made.Object["nope"] = true
		return maps.Create(ctx, made, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	})
	r.step("create of a resource that there is not", func() (any, error) {
		return r.dynamic.Resource(nopes).Namespace(namespace).Create(ctx, configMap("a", "1"),
			metav1.CreateOptions{})
	})
	r.step("get", func() (any, error) { return maps.Get(ctx, "a", metav1.GetOptions{}) })
	r.step("get what there is not", func() (any, error) {
		return maps.Get(ctx, "nope",
			metav1.GetOptions{})
	})
	r.step("update", func() (any, error) {
		got := must1(maps.Get(ctx, "a", metav1.GetOptions{}))
		must(unstructured.SetNestedField(got.Object, "2", "data", "a"))
		return maps.Update(ctx, got, metav1.UpdateOptions{})
	})
	r.step("update by an old version", func() (any, error) {
		made := configMap("a", "3")
		made.SetResourceVersion("1")
		return maps.Update(ctx, made, metav1.UpdateOptions{})
	})
	r.step("update, tried again after a conflict", func() (any, error) {
		stale := must1(maps.Get(ctx, "a", metav1.GetOptions{}))
		must1(maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"other":"x"}}`),
			metav1.PatchOptions{}))
		tries := 0
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			tries++
			if tries > 1 {
				stale = must1(maps.Get(ctx, "a", metav1.GetOptions{}))
			}
			must(unstructured.SetNestedField(stale.Object, "4", "data", "a"))
			_, err := maps.Update(ctx, stale, metav1.UpdateOptions{})
			return err
		})
		return fmt.Sprint(tries, " tries"), err
	})
	for _, patch := range []struct {
		name string
		kind types.PatchType
		body string
	}{
		{"merge", types.MergePatchType, `{"data":{"a":null,"m":"1"}}`},
		{"JSON", types.JSONPatchType, `[{"op":"add","path":"/data/j","value":"1"}]`},
		{"JSON, of what there is not", types.JSONPatchType, `[{"op":"remove","path":"/data/nope"}]`},
		{"strategic", types.StrategicMergePatchType, `{"metadata":{"labels":{"x":"y"}}}`},
		{"malformed", types.MergePatchType, `{"data":`},
	} {
		r.step("patch, "+patch.name, func() (any, error) {
			return maps.Patch(ctx, "a", patch.kind, []byte(patch.body), metav1.PatchOptions{})
		})
	}
	r.step("apply", func() (any, error) {
		return maps.Apply(ctx, "applied", configMap("applied", "1"),
			metav1.ApplyOptions{FieldManager: "one"})
	})
	r.step("apply in conflict", func() (any, error) {
		return maps.Apply(ctx, "applied", configMap("applied", "2"),
			metav1.ApplyOptions{FieldManager: "two"})
	})
	r.step("apply by force", func() (any, error) {
		return maps.Apply(ctx, "applied", configMap("applied", "2"),
			metav1.ApplyOptions{FieldManager: "two", Force: true})
	})
	r.step("managed fields", func() (any, error) {
		got := must1(maps.Get(ctx, "applied", metav1.GetOptions{}))
		var lines []string
		for _, entry := range got.GetManagedFields() {
			lines = append(lines, fmt.Sprint(entry.Manager, entry.Operation, string(entry.FieldsV1.Raw)))
		}
		return strings.Join(lines, "\n"), nil
	})
	r.step("list", func() (any, error) {
		got, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		return namesIn(got), err
	})
	r.step("list in pages", func() (any, error) {
		var names []string
		pages := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtimeObject,
			error) {
			return maps.List(ctx, options)
		}))
		pages.PageSize = 1
		err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtimeObject) error {
			names = append(names, item.(*unstructured.Unstructured).GetName())
			return nil
		})
		return strings.Join(names, " "), err
	})
	r.step("list by a field", func() (any, error) {
		got, err := maps.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=a"})
		return namesIn(got), err
	})
	r.step("list by a field that there is not", func() (any, error) {
		return maps.List(ctx,
			metav1.ListOptions{FieldSelector: "data.a=1"})
	})
	r.step("list by a version to come", func() (any, error) {
		err := r.typed.CoreV1().RESTClient().Get().MaxRetries(0).Namespace(namespace).Resource(
			"configmaps").Param("resourceVersion", "999999999").Do(ctx).Error()
		return apierrors.IsTimeout(err), nil
	})
	r.step("watch", func() (any, error) {
		got := must1(maps.List(ctx, metav1.ListOptions{}))
		watcher, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: got.GetResourceVersion()})
		if err != nil {
			return nil, err
		}
		defer watcher.Stop()
		must1(maps.Create(ctx, configMap("seen", "1"), metav1.CreateOptions{}))
		must1(maps.Patch(ctx, "seen", types.MergePatchType, []byte(`{"data":{"a":"2"}}`),
			metav1.PatchOptions{}))
		must(maps.Delete(ctx, "seen", metav1.DeleteOptions{}))
		return eventsOf(watcher, 3), nil
	})
	r.step("watch from a version that is gone", func() (any, error) {
		watcher, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: "1",
			AllowWatchBookmarks: true})
		if err != nil {
			return nil, err
		}
		defer watcher.Stop()
		return fmt.Sprint((<-watcher.ResultChan()).Type), nil
	})
	r.step("watch with initial events", func() (any, error) {
		yes := true
		watcher, err := maps.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes,
			AllowWatchBookmarks:  true,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, LabelSelector: "app=web"})
		if err != nil {
			return nil, err
		}
		defer watcher.Stop()
		return eventsOf(watcher, 3), nil
	})

	r.step("create a Deployment", func() (any, error) {
		return sets.Create(ctx, object(deployment),
			metav1.CreateOptions{})
	})
	r.step("status", func() (any, error) {
		got := must1(sets.Get(ctx, "web", metav1.GetOptions{}))
		must(unstructured.SetNestedField(got.Object, int64(2), "status", "replicas"))
		must(unstructured.SetNestedField(got.Object, int64(9), "spec", "replicas"))
		return sets.UpdateStatus(ctx, got, metav1.UpdateOptions{})
	})
	r.step("apply of the status", func() (any, error) {
		return sets.ApplyStatus(ctx, "web", object(
			`{"apiVersion":"apps/v1","kind":"Deployment",
"metadata":{"name":"web"},"status":{"replicas":3}}`),
			metav1.ApplyOptions{FieldManager: "status", Force: true})
	})
	r.step("a subresource", func() (any, error) {
		return sets.Get(ctx, "web", metav1.GetOptions{},
			"scale")
	})
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(must1(
		discovery.NewDiscoveryClientForConfig(r.config))))
	scales := must1(scale.NewForConfig(r.config, mapper, dynamicPath,
		scale.NewDiscoveryScaleKindResolver(must1(discovery.NewDiscoveryClientForConfig(
			r.config))))).Scales(namespace)
	r.step("scale client: get", func() (any, error) {
		return scales.Get(ctx,
			deployments.GroupResource(), "web", metav1.GetOptions{})
	})
	r.step("scale client: update", func() (any, error) {
		got := must1(scales.Get(ctx, deployments.GroupResource(), "web", metav1.GetOptions{}))
		got.Spec.Replicas = 5
		return scales.Update(ctx, deployments.GroupResource(), got, metav1.UpdateOptions{})
	})
	metadataClient := must1(metadata.NewForConfig(r.config)).Resource(deployments).Namespace(namespace)
	r.step("metadata client: get", func() (any, error) {
		return metadataClient.Get(ctx, "web",
			metav1.GetOptions{})
	})
	r.step("metadata client: list", func() (any, error) {
		got, err := metadataClient.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(got.Kind, got.APIVersion, len(got.Items), got.Items[0].Name), nil
	})
	r.step("metadata client: patch", func() (any, error) {
		return metadataClient.Patch(ctx, "web", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"p":"q"}}}`), metav1.PatchOptions{})
	})
	r.step("delete in the foreground", func() (any, error) {
		foreground := metav1.DeletePropagationForeground
		must(sets.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &foreground}))
		got, err := sets.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(got.GetFinalizers(), got.GetDeletionTimestamp() != nil), nil
	})
	r.step("delete by a wrong precondition", func() (any, error) {
		uid := types.UID("nope")
		return nil, maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
			UID: &uid}})
	})
	r.step("delete", func() (any, error) {
		return "deleted", maps.Delete(ctx, "a",
			metav1.DeleteOptions{})
	})
	r.step("delete again", func() (any, error) {
		return nil, maps.Delete(ctx, "a",
			metav1.DeleteOptions{})
	})
	r.step("delete a collection", func() (any, error) {
		must(maps.DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: "app=web"}))
		got, err := maps.List(ctx, metav1.ListOptions{})
		return namesIn(got), err
	})
}

func namesIn(list *unstructured.UnstructuredList) string {
	if list == nil {
		return ""
	}
	names := []string{list.GetKind()}
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return strings.Join(names, " ")
}

func eventsOf(watcher watch.Interface, count int) string {
	var lines []string
	for range count {
		event, open := <-watcher.ResultChan()
		if !open {
			return strings.Join(append(lines, "closed"), "\n")
		}
		seen := event.Object.(*unstructured.Unstructured)
		data, _, _ := unstructured.NestedMap(seen.Object, "data")
		lines = append(lines, fmt.Sprint(event.Type, " ", seen.GetName(), " ",
			string(must1(json.Marshal(data))), " ", seen.GetAnnotations()))
	}
	return strings.Join(lines, "\n")
}
