// Package manifest reads objects from files, as kubectl's -f does.
package manifest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
	"github.com/cephtune/cephtune/internal/cli/words"
)

// limit is the largest file that is read, in bytes. A sweep has at most about 100 KiB. A benchmark
// keeps at most 20 sessions of 20 runs. The results of a run have at most half a MiB; base64 makes them
// a third larger.
const limit = 288 << 20

// One reads the only benchmark or sweep of a file; "-" is standard input. An unknown field is an
// error, because a misspelled field would otherwise be ignored silently.
func One(path string, stdin io.Reader) (client.Object, error) {
	all, err := documents(path, stdin, serializer.EnableStrict)
	if err != nil {
		return nil, err
	}
	return only(path, all)
}

// Open reads a file, as [object.Open] reads a cluster: it returns a reader of the file's objects, and its only sweep or,
// without a sweep, its only benchmark. The benchmarks of a sweep's trials do not count.
func Open(path string, stdin io.Reader) (client.Reader, client.Object, error) {
	all, err := All(path, stdin)
	if err != nil {
		return nil, nil, err
	}
	main := slices.DeleteFunc(slices.Clone(all), func(o client.Object) bool {
		return object.StateOf(o).Kind.Name != object.Sweep().Name
	})
	if len(main) == 0 {
		main = all
	}
	found, err := only(path, main)
	return file(all), found, err
}

// file reads the objects of a file as if they were in a cluster. It knows the kinds that hold results.
type file []client.Object

// Get implements client.Reader.
func (f file) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return fmt.Errorf("a file has no %s", key)
}

// List implements client.Reader.
func (f file) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	chosen := (&client.ListOptions{}).ApplyOptions(options)
	for _, o := range f {
		if o.GetNamespace() != chosen.Namespace || chosen.LabelSelector != nil && !chosen.LabelSelector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		switch list := list.(type) {
		case *corev1.ConfigMapList:
			if cm, ok := o.(*corev1.ConfigMap); ok {
				list.Items = append(list.Items, *cm)
			}
		case *v1alpha1.CephBenchmarkList:
			if b, ok := o.(*v1alpha1.CephBenchmark); ok {
				list.Items = append(list.Items, *b)
			}
		}
	}
	return nil
}

// only returns the only benchmark or sweep among the objects of a file.
func only(path string, all []client.Object) (client.Object, error) {
	var found client.Object
	for _, o := range all {
		if object.StateOf(o).Kind.Name == "" {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s has more than one CephBenchmark or CephTuningSweep: want one", wholefile.Name(path))
		}
		found = o
	}
	if found == nil {
		return nil, fmt.Errorf("%s has no CephBenchmark and no CephTuningSweep", wholefile.Name(path))
	}
	return found, nil
}

// All reads every object of a file. The file may have several documents, and Lists as kubectl writes
// them. All ignores unknown fields, because the file may come from a later version of cephtune.
func All(path string, stdin io.Reader) ([]client.Object, error) { return documents(path, stdin) }

func documents(path string, stdin io.Reader, options ...serializer.CodecFactoryOptionsMutator) ([]client.Object, error) {
	text, err := wholefile.Read(path, stdin, limit)
	if err != nil {
		return nil, err
	}
	scheme, err := kube.Scheme()
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, options...).UniversalDeserializer()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var all []client.Object
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", wholefile.Name(path), err)
		}
		if asJSON, err := yaml.YAMLToJSON(document); err == nil && string(asJSON) == "null" {
			continue // The document is empty, or has only comments.
		}
		objects, err := decode(decoder, document)
		if err != nil {
			return nil, fmt.Errorf("%s: %s%s", wholefile.Name(path), words.Plain(err.Error()), words.Hint(err.Error()))
		}
		all = append(all, objects...)
	}
}

func decode(decoder runtime.Decoder, document []byte) ([]client.Object, error) {
	decoded, _, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return nil, err
	}
	if list, found := decoded.(*corev1.List); found {
		var all []client.Object
		for _, item := range list.Items {
			objects, err := decode(decoder, item.Raw)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
		return all, nil
	}
	o, ok := decoded.(client.Object)
	if !ok {
		return nil, fmt.Errorf("got a %T", decoded)
	}
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return []client.Object{o}, nil
}
