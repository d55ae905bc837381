// Runs client-go against the API server of KUBECONFIG, and prints each step with what it saw as a
// line of JSON: {"name": "dynamic: create", "answer": "…"}. test/clients/ compares the lines from
// two servers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// run is what the steps share.
type run struct {
	config  *rest.Config
	dynamic dynamic.Interface
	typed   kubernetes.Interface
	group   string
}

const namespace = "client-go"

// limit is for a step that waits.
const limit = 20 * time.Second

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(err)
	config.QPS, config.Burst = 1000, 1000
	config.WarningHandler = rest.NoWarnings{}
	r := &run{config: config, dynamic: must1(dynamic.NewForConfig(config)),
		typed: must1(kubernetes.NewForConfig(config))}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, group := range []struct {
		name string
		run  func(*run, context.Context)
	}{
		{"discovery", discoverySteps},
		{"dynamic", dynamicSteps},
		{"informer", informerSteps},
		{"typed", typedSteps},
		{"definitions", definitionSteps},
	} {
		r.group = group.name
		group.run(r, ctx)
	}
}

// step prints what work gives, or its error.
func (r *run) step(name string, work func() (any, error)) {
	value, err := work()
	var answer string
	if text, ok := value.(string); ok && err == nil {
		answer = text
	} else if err == nil {
		answer = string(must1(json.MarshalIndent(stripped(value), "", " ")))
	} else if status, ok := err.(interface{ Status() metav1.Status }); ok {
		answer = fmt.Sprintf("! %v (%d %s)", err, status.Status().Code, status.Status().Reason)
	} else {
		answer = fmt.Sprintf("! %T %v", err, err)
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]string{"name": r.group + ": " + name,
		"answer": answer}))
}

// stripped is the object without what differs from run to run and names no rule: who owns which
// fields is compared by kubectl's steps.
func stripped(value any) any {
	if object, err := meta.Accessor(value); err == nil && object != nil {
		object.SetManagedFields(nil)
	}
	return value
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}
