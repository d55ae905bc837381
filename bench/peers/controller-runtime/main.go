// Command controllerpeer measures a controller of controller-runtime on the work "controller" of
// ../README.md, with JSON on the wire:
//
//	go run . URL EVENTS
//
// A reconcile reads its Pod through the manager's client, which answers with a deep copy from the
// cache, as is usual. CPU and wall time run from the first reconcile of an update to the one that
// makes the last version of every Pod reconciled.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/go-logr/logr"
)

// What ../watch-server.mjs serves.
const (
	count        = 1000
	firstVersion = 2_000_000
)

type lastVersions struct {
	client     client.Client
	events     int
	left       int
	done       [count]bool
	reconciles int
	start      time.Time
	startCPU   float64
	finished   func()
}

func (r *lastVersions) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var pod corev1.Pod
	if err := r.client.Get(ctx, request.NamespacedName, &pod); err != nil {
		return ctrl.Result{}, err
	}
	version, err := strconv.Atoi(pod.ResourceVersion)
	if err != nil {
		return ctrl.Result{}, err
	}
	event := version - firstVersion
	if event < 0 || r.left == 0 {
		return ctrl.Result{}, nil
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(pod.Name, "web-frontend-"), 16, 32)
	if err != nil {
		return ctrl.Result{}, err
	}
	if event%count != int(index) || pod.Spec.NodeName != fmt.Sprintf("node-%d", event*7%1000) {
		fmt.Fprintf(os.Stderr, "%s at %d has %s, which the server never sent\n", pod.Name, version,
			pod.Spec.NodeName)
		os.Exit(1)
	}
	if r.reconciles == 0 {
		r.start, r.startCPU = time.Now(), cpuMicros()
	}
	r.reconciles++
	if event < r.events-count || r.done[index] {
		return ctrl.Result{}, nil
	}
	r.done[index] = true
	if r.left--; r.left == 0 {
		out, err := json.Marshal(map[string]any{
			"peer": "controller-runtime", "work": "controller", "n": r.events,
			"ns":         float64(time.Since(r.start).Nanoseconds()) / float64(r.events),
			"cpu":        1000 * (cpuMicros() - r.startCPU) / float64(r.events),
			"reconciles": r.reconciles,
		})
		must(err)
		fmt.Println(string(out))
		r.finished()
	}
	return ctrl.Result{}, nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: controllerpeer URL EVENTS")
		os.Exit(2)
	}
	events, err := strconv.Atoi(os.Args[2])
	if err != nil || events < count {
		fmt.Fprintf(os.Stderr, "EVENTS expected %d at least, got %s\n", count, os.Args[2])
		os.Exit(2)
	}
	os.Setenv("KUBE_FEATURE_WatchListClient", "false")
	log.SetLogger(logr.Discard())
	manager, err := ctrl.NewManager(
		&rest.Config{Host: os.Args[1], ContentConfig: rest.ContentConfig{ContentType: "application/json",
			AcceptContentTypes: "application/json"}},
		ctrl.Options{
			Metrics: metricsserver.Options{BindAddress: "0"},
			// The server serves lists and watches of Pods only, so a static mapper replaces discovery.
			MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
				version := schema.GroupVersion{Version: "v1"}
				mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{version})
				mapper.Add(version.WithKind("Pod"), meta.RESTScopeNamespace)
				return mapper, nil
			},
		})
	must(err)
	ctx, cancel := context.WithCancel(context.Background())
	reconciler := &lastVersions{client: manager.GetClient(), events: events, left: count,
		finished: cancel}
	must(ctrl.NewControllerManagedBy(manager).For(&corev1.Pod{}).Complete(reconciler))
	must(manager.Start(ctx))
}

func cpuMicros() float64 {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Sec+u.Stime.Sec)*1e6 + float64(u.Utime.Usec+u.Stime.Usec)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
