// Package config has no code. Its tests render the manifests as kustomize does, and check the rights,
// the caps, the pods and the network policies in them.
package config

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// folders returns the folders that kustomize renders.
func folders(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/kustomization.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no folders, %v", err)
	}
	var all []string
	for _, file := range files {
		all = append(all, filepath.Dir(file))
	}
	return all
}

// render returns the objects of a folder.
func render(t *testing.T, folder string) []unstructured.Unstructured {
	t.Helper()
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatalf("render %s: %v", folder, err)
	}
	var objects []unstructured.Unstructured
	for _, resource := range rendered.Resources() {
		text, err := resource.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		object := unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			t.Fatalf("%s of %s: %v", resource.CurId(), folder, err)
		}
		objects = append(objects, object)
	}
	return objects
}

// as decodes an object into a type.
func as[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	target := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, target, true); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return target
}

// only returns the one object of a kind.
func only[T any](t *testing.T, objects []unstructured.Unstructured, kind string) *T {
	t.Helper()
	var found *T
	for i := range objects {
		if objects[i].GetKind() != kind {
			continue
		}
		if found != nil {
			t.Fatalf("there are several of kind %s", kind)
		}
		found = as[T](t, &objects[i])
	}
	if found == nil {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
