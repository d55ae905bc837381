// Prints what OpenAPI does not tell of the members of Kubernetes' built-in types: which of them Go
// writes where they have no value, by their Go type and their json tag, and their numbers in
// protobuf. scripts/derive-types.ts runs it and adds what it prints to its table.
//
// {"io.k8s.api.apps.v1.DeploymentSpec": {"paused": {"number": "7"}, "replicas": {"mark": "?",
// "number": "1"}}}: "?" a pointer, so that a zero value is one · "+" written also where there is
// none · "" left out where it is the zero value. Of a member of an embedded struct the number is a
// path: "1.2". kind and apiVersion have none.
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

type field struct {
	Mark   string `json:"mark"`
	Number string `json:"number"`
}

type fields map[string]field

func main() {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme,
		apiregistration.AddToScheme} {
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
			members(t, "", found[name], found)
		}
	}
}

// modelName is the name that the type has in OpenAPI: io.k8s.api.apps.v1.Deployment for
// k8s.io/api/apps/v1.
func modelName(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	domain, top, _ := strings.Cut(host, ".")
	return top + "." + domain + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

// none is the path of a struct that protobuf does not have: the kind and the version of an object.
const none = "-"

// members notes the type's members; prefix is the path of the struct in protobuf, where it is
// embedded.
func members(t reflect.Type, prefix string, into fields, found map[string]fields) {
	for at := range t.NumField() {
		member := t.Field(at)
		tag := strings.Split(member.Tag.Get("json"), ",")
		if tag[0] == "" && len(tag) == 1 || tag[0] == "-" {
			continue
		}
		number := ""
		if parts := strings.Split(member.Tag.Get("protobuf"), ","); len(parts) > 1 && prefix != none {
			number = prefix + parts[1]
		}
		if tag[0] == "" {
			under := none
			if number != "" {
				under = number + "."
			}
			members(member.Type, under, into, found)
			continue
		}
		into[tag[0]] = field{mark(member.Type, tag[1:]), number}
		visit(member.Type, found)
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
