package clitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// lister returns a function that lists into tables, too, as the API server does: with the columns of the CRDs.
func lister(t testing.TB) func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
	t.Helper()
	return func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		table, asked := list.(*kube.Table)
		if !asked {
			return c.List(ctx, list, options...)
		}
		kind := table.GroupVersionKind()
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, all, options...); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(apiserver.Root(t), "config", "crd", "bases", fmt.Sprintf("%s_%ss.yaml", kind.Group, strings.ToLower(kind.Kind))))
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err = errors.Join(err, yaml.Unmarshal(text, crd)); err != nil {
			return err
		}
		convertor, err := tableconvertor.New(crd.Spec.Versions[0].AdditionalPrinterColumns)
		if err != nil {
			return err
		}
		made, err := convertor.ConvertToTable(ctx, all, nil)
		if err != nil {
			return err
		}
		for i, item := range all.Items {
			if made.Rows[i].Object.Raw, err = json.Marshal(meta.AsPartialObjectMetadata(&item)); err != nil {
				return err
			}
		}
		sent, err := json.Marshal(made)
		return errors.Join(err, json.Unmarshal(sent, table))
	}
}
