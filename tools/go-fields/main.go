// Prints which members of Kubernetes' built-in types Go writes where they have no value: by their Go type and their json tag, which OpenAPI
// does not tell. scripts/derive-types.ts runs it and adds what it prints to its table.
//
// {"io.k8s.api.apps.v1.DeploymentSpec": {"paused": "", "replicas": "?", "template": "+"}}:
// "?" a pointer, so that a zero value is one · "+" written also where there is none · "" left out where it is the zero value.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type fields map[string]string

func main() {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	found := map[string]fields{}
	for _, known := range all.AllKnownTypes() {
		visit(known, found)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}

// visit notes the type's members, and those of the types below it.
func visit(t reflect.Type, found map[string]fields) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		visit(t.Elem(), found)
	case reflect.Struct:
		name := modelName(t)
		if found[name] == nil {
			found[name] = fields{}
			members(t, found[name], found)
		}
	}
}

// modelName is the name that the type has in OpenAPI: io.k8s.api.apps.v1.Deployment for k8s.io/api/apps/v1.
func modelName(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	domain, top, _ := strings.Cut(host, ".")
	return top + "." + domain + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

func members(t reflect.Type, into fields, found map[string]fields) {
	for at := range t.NumField() {
		field := t.Field(at)
		tag := strings.Split(field.Tag.Get("json"), ",")
		if tag[0] == "" && len(tag) == 1 || tag[0] == "-" {
			continue
		}
		if tag[0] == "" {
			members(field.Type, into, found)
			continue
		}
		into[tag[0]] = mark(field.Type, tag[1:])
		visit(field.Type, found)
	}
}

func mark(t reflect.Type, options []string) string {
	has := func(wanted string) bool {
		for _, option := range options {
			if option == wanted {
				return true
			}
		}
		return false
	}
	pointer, written := "", "+"
	if t.Kind() == reflect.Pointer {
		pointer = "?"
	}
	// To Go a struct is never empty, but it may be zero.
	if has("omitzero") || has("omitempty") && t.Kind() != reflect.Struct {
		written = ""
	}
	return pointer + written
}
