package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

type runtimeObject = runtime.Object

var dynamicPath = dynamic.LegacyAPIPathResolverFunc

// told records the notifications of a handler.
type told struct {
	sync.Mutex
	lines []string
}

func (t *told) add(parts ...any) {
	t.Lock()
	defer t.Unlock()
	t.lines = append(t.lines, fmt.Sprint(parts...))
}

func (t *told) text() string {
	t.Lock()
	defer t.Unlock()
	return strings.Join(t.lines, "\n")
}

func (t *told) has(line string) bool {
	return strings.Contains(t.text(), line)
}

func nameOf(object any) string {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	return must1(meta.Accessor(object)).GetName()
}

func (t *told) handler() cache.ResourceEventHandlerDetailedFuncs {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { t.add("add ", nameOf(object), " ", initial) },
		UpdateFunc: func(_, object any) { t.add("update ", nameOf(object)) },
		DeleteFunc: func(object any) { t.add("delete ", nameOf(object)) },
	}
}

func informerSteps(r *run, ctx context.Context) {
	maps := r.dynamic.Resource(configMaps).Namespace(namespace)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, name := range []string{"i", "j"} {
		must1(maps.Create(ctx, configMap(name, "1"), metav1.CreateOptions{}))
	}
	onlyOurs := func(options *metav1.ListOptions) { options.LabelSelector = "app=web" }
	follow(r, ctx, "dynamic", dynamicinformer.NewFilteredDynamicInformer(r.dynamic, configMaps,
		namespace, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, onlyOurs).Informer())
	typed := informers.NewSharedInformerFactoryWithOptions(r.typed, 0,
		informers.WithNamespace(namespace), informers.WithTweakListOptions(onlyOurs))
	follow(r, ctx, "typed", typed.Core().V1().ConfigMaps().Informer())
	r.step("lister of the typed informer", func() (any, error) {
		found, err := typed.Core().V1().ConfigMaps().Lister().ConfigMaps(namespace).List(
			labels.Everything())
		var names []string
		for _, each := range found {
			names = append(names, each.Name+"="+each.Data["a"])
		}
		sort.Strings(names)
		return strings.Join(names, " "), err
	})
	follow(r, ctx, "metadata", metadatainformer.NewFilteredMetadataInformer(must1(
		metadata.NewForConfig(r.config)), configMaps, namespace, 0,
		cache.Indexers{}, onlyOurs).Informer())
	must(maps.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "app=web"}))
}

// follow starts the informer and records its notifications step by step.
func follow(r *run, ctx context.Context, name string, informer cache.SharedIndexInformer) {
	maps := r.dynamic.Resource(configMaps).Namespace(namespace)
	seen := &told{}
	must1(informer.AddEventHandler(seen.handler()))
	go informer.RunWithContext(ctx)
	until := func(line string) error {
		return wait.PollUntilContextTimeout(ctx, pollEvery, limit, true, func(context.Context) (bool,
			error) {
			return seen.has(line), nil
		})
	}
	r.step(name+": initial objects", func() (any, error) {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return nil, fmt.Errorf("not synced")
		}
		if err := until("add j"); err != nil {
			return seen.text(), err
		}
		keys := informer.GetStore().ListKeys()
		sort.Strings(keys)
		return strings.Join(keys, " "), until("add i")
	})
	r.step(name+": changes", func() (any, error) {
		must1(maps.Create(ctx, configMap("k", "1"), metav1.CreateOptions{}))
		must1(maps.Patch(ctx, "k", types.MergePatchType, []byte(`{"data":{"a":"2"}}`),
			metav1.PatchOptions{}))
		must1(maps.Patch(ctx, "i", types.MergePatchType, []byte(
			`{"metadata":{"labels":{"app":"other"}}}`), metav1.PatchOptions{}))
		must(maps.Delete(ctx, "k", metav1.DeleteOptions{}))
		must1(maps.Patch(ctx, "i", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"web"}}}`),
			metav1.PatchOptions{}))
		err := until("add i false")
		lines := strings.Split(seen.text(), "\n")
		sort.Strings(lines[:2])
		return strings.Join(lines, "\n"), err
	})
}
