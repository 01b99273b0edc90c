// Package kube connects the command line to a Kubernetes cluster.
package kube

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// AnnotationConnection marks the flags that choose the cluster. docs/cli.md describes these flags only
// once.
const AnnotationConnection = "cephtune.dev/connection"

// Connection holds the values of kubectl's flags that choose the cluster.
type Connection struct {
	flags *genericclioptions.ConfigFlags
}

// NewConnection returns a Connection whose flags have not been read yet.
func NewConnection() *Connection { return &Connection{flags: genericclioptions.NewConfigFlags(true)} }

// AddFlags adds the flags to a command.
func (c *Connection) AddFlags(cmd *cobra.Command) {
	flags := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	c.flags.AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{AnnotationConnection: {"true"}}
		if f.Name == "cache-dir" {
			f.DefValue = "~/.kube/cache" // With the user's home, help would differ between machines.
		}
	})
	cmd.Flags().AddFlagSet(flags)
}

// Connect creates a client from the flags, and returns the namespace that they choose. The client also lists into a [Table].
func (c *Connection) Connect() (client.WithWatch, string, error) {
	namespace, _, err := c.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, "", err
	}
	made, err := newTables(config, scheme)
	if err != nil {
		return nil, "", fmt.Errorf("connecting: %w", err)
	}
	return made, namespace, nil
}

// ServerVersion returns the version of the API server, such as v1.36.3.
func (c *Connection) ServerVersion() (string, error) {
	discovery, err := c.flags.ToDiscoveryClient()
	if err != nil {
		return "", fmt.Errorf("connecting: %w", err)
	}
	info, err := discovery.ServerVersion()
	if err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

// FollowLog follows the log of a container from its last line on. The stream ends when the context is
// done, the container has ended, or the connection breaks.
func (c *Connection) FollowLog(ctx context.Context, namespace, pod, container string) (io.ReadCloser, error) {
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	options := &corev1.PodLogOptions{Container: container, Follow: true, TailLines: new(int64(1))}
	return core.Pods(namespace).GetLogs(pod, options).Stream(ctx)
}

// Scheme returns a scheme with the kinds that the command line uses, without those of Rook and of the
// Prometheus operator: they are read as unstructured objects.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, authorizationv1.AddToScheme,
		storagev1.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}
