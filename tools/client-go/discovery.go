package main

import (
	"context"
	"fmt"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

func discoverySteps(r *run, _ context.Context) {
	aggregated := must1(discovery.NewDiscoveryClientForConfig(r.config))
	old := must1(discovery.NewDiscoveryClientForConfig(r.config))
	old.UseLegacyDiscovery = true
	discover(r, "aggregated", aggregated)
	discover(r, "list by list", old)

	r.step("version", func() (any, error) {
		version, err := aggregated.ServerVersion()
		if err != nil {
			return nil, err
		}
		return version.Major + "." + version.Minor, nil
	})
	r.step("OpenAPI v3", func() (any, error) {
		paths, err := aggregated.OpenAPIV3().Paths()
		if err != nil {
			return nil, err
		}
		var lines []string
		for path, document := range paths {
			if !strings.HasPrefix(path, "api") {
				continue
			}
			text, err := document.Schema("application/json")
			lines = append(lines, fmt.Sprintf("%s %v %v", path, len(text) > 100, err))
		}
		sort.Strings(lines)
		return strings.Join(lines, "\n"), nil
	})
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(aggregated))
	for _, kind := range []schema.GroupKind{{Group: "apps", Kind: "Deployment"}, {Kind: "Node"},
		{Group: "apps", Kind: "Nope"}} {
		r.step("mapping of "+kind.String(), func() (any, error) {
			mapping, err := mapper.RESTMapping(kind)
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(mapping.Resource, mapping.Scope.Name()), nil
		})
	}
	expander := restmapper.NewShortcutExpander(mapper, aggregated, nil)
	for _, short := range []string{"po", "deploy", "hpa", "crd", "all", "nope"} {
		r.step("resource of "+short, func() (any, error) {
			return expander.ResourceFor(schema.GroupVersionResource{Resource: short})
		})
	}
}

func discover(r *run, how string, client *discovery.DiscoveryClient) {
	r.step("groups, "+how, func() (any, error) {
		groups, err := client.ServerGroups()
		if err != nil {
			return nil, err
		}
		var lines []string
		for _, group := range groups.Groups {
			for _, version := range group.Versions {
				lines = append(lines, fmt.Sprint(version.GroupVersion, " ", version == group.PreferredVersion))
			}
		}
		return strings.Join(lines, "\n"), nil
	})
	r.step("resources, "+how, func() (any, error) {
		_, lists, err := client.ServerGroupsAndResources()
		return linesOf(lists), err
	})
	r.step("preferred namespaced resources, "+how, func() (any, error) {
		lists, err := client.ServerPreferredNamespacedResources()
		return linesOf(lists), err
	})
	r.step("resources of a version that there is not, "+how, func() (any, error) {
		return client.ServerResourcesForGroupVersion("apps/v9")
	})
}

func linesOf(lists []*metav1.APIResourceList) string {
	var lines []string
	for _, list := range lists {
		for _, resource := range list.APIResources {
			lines = append(lines, fmt.Sprintf("%s %s %s/%s/%s %v %v %v %v", list.GroupVersion, resource.Name,
				resource.Group, resource.Version,
				resource.Kind, resource.Namespaced, resource.Verbs, resource.ShortNames, resource.Categories))
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}
