package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func pods(n, shift int) []*corev1.Pod {
	ns, nm := names(n)
	list := make([]*corev1.Pod, n)
	for i := range list {
		list[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns[i], Name: nm[i],
				Labels: map[string]string{"app": fmt.Sprintf("app-%d", i%500)}},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", (i+shift)%1000)},
		}
	}
	return list
}

func indexerWorkloads(sizes []int) {
	for _, n := range sizes {
		first, moved, keys := pods(n, 0), pods(n, 1), joined(n)
		newIndexer := func() cache.Indexer {
			return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
				cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
				"node": func(o any) ([]string, error) {
					return []string{o.(*corev1.Pod).Spec.NodeName}, nil
				},
			})
		}
		fill := func(s cache.Indexer, list []*corev1.Pod) {
			for _, pod := range list {
				s.Update(pod)
			}
		}
		report("indexer-add", n, n, func() { fill(newIndexer(), first) })
		s := newIndexer()
		fill(s, first)
		report("indexer-update-same", n, n, func() { fill(s, first) })
		report("indexer-update-move", n, 2*n, func() { fill(s, moved); fill(s, first) })
		report("indexer-by-index", n, 20_000, func() {
			for i := 0; i < 20_000; i++ {
				s.ByIndex("node", "node-"+strconv.Itoa(i%1000))
			}
		})
		report("indexer-get", n, 1_000_000, func() {
			for i := 0; i < 1_000_000; i++ {
				s.GetByKey(keys[i%n])
			}
		})
		// Not in the order in which they lie in memory.
		order := make([]int32, 1_000_000)
		for i := range order {
			order[i] = int32(i * 61_837 % n)
		}
		report("indexer-get-random", n, 1_000_000, func() {
			for _, i := range order {
				s.GetByKey(keys[i])
			}
		})
	}
}

func decodeWorkloads(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(data, pod); err != nil {
		panic(err)
	}
	proto, _ := pod.Marshal()
	const n = 20_000
	typed := scheme.Codecs.UniversalDeserializer()
	report("decode-json", len(data), n, func() {
		for range n {
			typed.Decode(data, nil, nil)
		}
	})
	report("decode-unstructured", len(data), n, func() {
		for range n {
			unstructured.UnstructuredJSONScheme.Decode(data, nil, nil)
		}
	})
	report("decode-protobuf", len(proto), n, func() {
		for range n {
			(&corev1.Pod{}).Unmarshal(proto)
		}
	})
}

// informerWorkload counts update notifications from the first to the EVENTS-th.
func informerWorkload(url, events string) {
	want, err := strconv.Atoi(events)
	if err != nil {
		panic(err)
	}
	os.Setenv("KUBE_FEATURE_WatchListClient", "false")
	content := rest.ContentConfig{ContentType: "application/json",
		AcceptContentTypes: "application/json"}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(&rest.Config{Host: url,
		ContentConfig: content}), 0)
	var seen int
	var start time.Time
	var startCPU float64
	finished := make(chan struct{})
	factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) {
			if seen == 0 {
				start, startCPU = time.Now(), cpuMicros()
			}
			if seen++; seen == want {
				emit("informer", want, map[string]any{
					"ns":  float64(time.Since(start).Nanoseconds()) / float64(want),
					"cpu": 1000 * (cpuMicros() - startCPU) / float64(want),
				})
				close(finished)
			}
		}})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.Start(ctx.Done())
	<-finished
}

func cpuMicros() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec)*1e6 + float64(u.Utime.Usec+u.Stime.Usec)
}
