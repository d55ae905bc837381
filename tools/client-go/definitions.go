package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
)

// eventSink writes events as record.EventSink asks for it.
type eventSink struct {
	events typedcore.EventInterface
}

func (s *eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	return s.events.CreateWithEventNamespaceWithContext(context.Background(), event)
}

func (s *eventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.events.UpdateWithEventNamespaceWithContext(context.Background(), event)
}

func (s *eventSink) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	return s.events.PatchWithEventNamespaceWithContext(context.Background(), event, data)
}

func definitionSteps(r *run, ctx context.Context) {
	client := must1(clientset.NewForConfig(r.config)).ApiextensionsV1().CustomResourceDefinitions()
	lamps := schema.GroupVersionResource{Group: "go.example.com", Version: "v1", Resource: "lamps"}
	least := 1.5
	yes := true
	text := apiextensionsv1.JSONSchemaProps{Type: "string",
		Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"b"`)}}}
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "lamps.go.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "go.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "lamps", Kind: "Lamp",
				ShortNames: []string{"lp"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object",
						Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {
							Type: "object", Required: []string{"watts"},
							Properties: map[string]apiextensionsv1.JSONSchemaProps{
								"watts": {Type: "number", Minimum: &least},
								"mode":  {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"on"`)}},
								"tags":  {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}},
								"labels": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
									Allows: true, Schema: &text}},
								"any":  {Type: "object", XPreserveUnknownFields: &yes},
								"port": {XIntOrString: true},
							},
						}},
					}},
			}},
		},
	}
	r.step("create", func() (any, error) {
		got, err := client.Create(ctx, definition, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return got.Spec, nil
	})
	r.step("create again", func() (any, error) {
		return client.Create(ctx, definition,
			metav1.CreateOptions{})
	})
	r.step("establishes", func() (any, error) {
		err := wait.PollUntilContextTimeout(ctx, pollEvery, limit, true, func(context.Context) (bool,
			error) {
			_, err := r.dynamic.Resource(lamps).Namespace(namespace).List(ctx, metav1.ListOptions{})
			return err == nil, nil
		})
		return "served", err
	})
	objects := r.dynamic.Resource(lamps).Namespace(namespace)
	r.step("create an object", func() (any, error) {
		spec := `{"watts":2,"tags":["a"],"any":{"x":1},"labels":{"l":"b"},"port":"http","nope":1}`
		return objects.Create(ctx, lamp("valid", spec), metav1.CreateOptions{})
	})
	r.step("create an object that is not valid", func() (any, error) {
		return objects.Create(ctx, lamp("small", `{"watts":1,"tags":["c"]}`), metav1.CreateOptions{})
	})
	r.step("delete", func() (any, error) {
		must(client.Delete(ctx, "lamps.go.example.com", metav1.DeleteOptions{}))
		err := wait.PollUntilContextTimeout(ctx, pollEvery, limit, true, func(context.Context) (bool,
			error) {
			_, err := objects.List(ctx, metav1.ListOptions{})
			return err != nil, nil
		})
		return "gone", err
	})
}

func lamp(name, spec string) *unstructured.Unstructured {
	return object(fmt.Sprintf(`{"apiVersion":"go.example.com/v1","kind":"Lamp",
"metadata":{"name":%q},"spec":%s}`, name, spec))
}
