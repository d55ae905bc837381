package main

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
)

// names returns n namespaces and names; the i-th key is namespaces[i]+"/"+names[i], about 35
// characters.
func names(n int) (namespaces, keys []string) {
	namespaces, keys = make([]string, n), make([]string, n)
	for i := range keys {
		namespaces[i] = fmt.Sprintf("team-%03d", i%200)
		keys[i] = fmt.Sprintf("web-frontend-%08x-%05x", uint32(i)*2654435761, i)
	}
	return
}

func joined(n int) []string {
	ns, nm := names(n)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = ns[i] + "/" + nm[i]
	}
	return keys
}

func queueWorkloads(sizes []int) {
	for _, n := range sizes {
		ns, nm := names(n)
		keys := joined(n)
		ops := max(n, 1_000_000)
		q := workqueue.NewTyped[string]()
		report("cycle-same", n, ops, func() {
			for i := 0; i < ops; i++ {
				q.Add(keys[i%n])
				item, _ := q.Get()
				q.Done(item)
			}
		})
		report("cycle-fresh", n, ops, func() {
			for i := 0; i < ops; i++ {
				q.Add(ns[i%n] + "/" + nm[i%n])
				item, _ := q.Get()
				q.Done(item)
			}
		})
		report("burst-fresh", n, 3*n, func() {
			q := workqueue.NewTyped[string]()
			for i := range nm {
				q.Add(ns[i] + "/" + nm[i])
			}
			drain(q)
		})
		requests := workqueue.NewTyped[types.NamespacedName]()
		report("cycle-request", n, ops, func() {
			for i := 0; i < ops; i++ {
				requests.Add(types.NamespacedName{Namespace: ns[i%n], Name: nm[i%n]})
				item, _ := requests.Get()
				requests.Done(item)
			}
		})
		report("burst-request", n, 3*n, func() {
			q := workqueue.NewTyped[types.NamespacedName]()
			for i := range nm {
				q.Add(types.NamespacedName{Namespace: ns[i], Name: nm[i]})
			}
			drain(q)
		})
		report("dedup-fresh", n, 12*n, func() {
			q := workqueue.NewTyped[string]()
			for range 10 {
				for i := range nm {
					q.Add(ns[i] + "/" + nm[i])
				}
			}
			drain(q)
		})
	}
	for _, n := range sizes {
		keys := joined(n)
		report("add-after", n, n, func() {
			clock := testingclock.NewFakeClock(time.Now())
			q := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
				Clock: clock})
			for i, key := range keys {
				q.AddAfter(key, time.Duration(1+(i*7919)%60000)*time.Millisecond)
			}
			clock.Step(61 * time.Second)
			for range keys {
				item, _ := q.Get()
				q.Done(item)
			}
			q.ShutDown()
		})
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond,
			1000*time.Second)
		report("limiter", n, 1_000_000, func() {
			for i := 0; i < 1_000_000; i++ {
				limiter.When(keys[i%n])
				if i%4 == 3 {
					limiter.Forget(keys[i%n])
				}
			}
		})
	}
}

func drain[T comparable](q workqueue.TypedInterface[T]) {
	for q.Len() > 0 {
		item, _ := q.Get()
		q.Done(item)
	}
}
