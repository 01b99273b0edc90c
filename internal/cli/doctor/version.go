package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/version"
)

// versionTimeout bounds all requests together, except the one for the version of Kubernetes; --request-timeout bounds
// each request.
const versionTimeout = 30 * time.Second

// versionOptions holds the values of the flags.
type versionOptions struct {
	client   bool
	operator string
	output   string
}

// Cluster is the source of the versions.
type Cluster interface {
	Connect() (client.WithWatch, string, error)
	ServerVersion() (string, error)
}

// NewVersionCommand returns the subcommand that shows the versions of this program, of the operator, of
// Kubernetes, and of the Ceph clusters.
func NewVersionCommand(connection Cluster) *cobra.Command {
	o := &versionOptions{}
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Show the versions of program, operator, Kubernetes and Ceph",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.UsageErrorf("unexpected argument %q", args[0])
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), versionTimeout)
			defer cancel()
			return o.run(ctx, connection, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.client, "client", false, "only the version of this program")
	flags.StringVar(&o.operator, "operator-namespace", kube.OperatorNamespace, "namespace of the operator")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	return cmd
}

func (o *versionOptions) run(ctx context.Context, connection Cluster, out io.Writer) error {
	found := &versions{Client: version.Version()}
	var unread error
	if !o.client {
		unread = found.read(ctx, connection, o.operator)
	}
	return cmp.Or(terminal.Write(out, o.output, found, found.show), unread)
}

func (v *versions) show(page *terminal.Page) {
	rows := [][]string{{"kubectl-cephtune", v.Client}}
	if v.Kubernetes != "" {
		rows = append(rows, []string{"Kubernetes", v.Kubernetes})
	}
	if v.API != "" {
		rows = append(rows, []string{"API", v.API})
	}
	for _, image := range v.Operator {
		rows = append(rows, []string{"operator", image})
	}
	for _, c := range v.CephClusters {
		rows = append(rows, []string{"Ceph of " + c.Namespace + "/" + c.Name, c.Version})
	}
	page.Table([]string{"PART", "VERSION"}, rows)
	for _, gap := range v.Unknown {
		page.Printf("%s\n", gap)
	}
}

// versions holds the versions that were found.
type versions struct {
	Client string `json:"client"`
	// Kubernetes is the version of the API server.
	Kubernetes string `json:"kubernetes,omitempty"`
	// API lists the versions of cephtune's API that the API server serves, according to the CRD of
	// CephTuningSweep.
	API string `json:"api,omitempty"`
	// Operator lists the images of the operator's Deployment.
	Operator     []string      `json:"operator,omitempty"`
	CephClusters []cephCluster `json:"cephClusters,omitempty"`
	// Unknown lists what could not be read, with the reason.
	Unknown []string `json:"unknown,omitempty"`
}

// cephCluster is a CephCluster of Rook.
type cephCluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Version is the version of Ceph that Rook reports, such as 20.2.4-0, or "not reported yet".
	Version string `json:"version"`
}

// read reads all versions. It fails only if it cannot connect, if the API server does not return its version,
// or if the context ends; it records other errors in Unknown.
func (v *versions) read(ctx context.Context, connection Cluster, operator string) error {
	c, _, err := connection.Connect()
	if err != nil {
		return err
	}
	if v.Kubernetes, err = connection.ServerVersion(); err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	v.readAPI(ctx, c)
	v.readOperator(ctx, c, operator)
	v.readClusters(ctx, c)
	return ctx.Err()
}

func (v *versions) unknown(component string, err error) {
	v.Unknown = append(v.Unknown, fmt.Sprintf("%s: unknown, because %v", component, err))
}

func (v *versions) readAPI(ctx context.Context, c client.Reader) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := c.Get(ctx, client.ObjectKey{Name: object.Sweep().Plural + "." + v1alpha1.GroupVersion.Group}, crd)
	if apierrors.IsNotFound(err) {
		v.Unknown = append(v.Unknown, "API: the CRDs of cephtune are not installed")
		return
	}
	if err != nil {
		v.unknown("API", err)
		return
	}
	names := served(crd)
	for i, name := range names {
		names[i] = v1alpha1.GroupVersion.Group + "/" + name
	}
	v.API = strings.Join(names, ", ")
}

func (v *versions) readOperator(ctx context.Context, c client.Reader, namespace string) {
	all, err := kube.Operators(ctx, c, namespace)
	if err != nil {
		v.unknown("operator", err)
		return
	}
	if len(all) == 0 {
		v.Unknown = append(v.Unknown, fmt.Sprintf("operator: not found in namespace %s: name its namespace with --operator-namespace", namespace))
	}
	for i := range all {
		v.Operator = append(v.Operator, kube.Images(&all[i])...)
	}
}

func (v *versions) readClusters(ctx context.Context, c client.Reader) {
	all, err := kube.CephClusters(ctx, c)
	if meta.IsNoMatchError(err) {
		v.Unknown = append(v.Unknown, "Ceph: Rook is not installed")
		return
	}
	if err != nil {
		v.unknown("Ceph", err)
		return
	}
	for _, o := range all {
		v.CephClusters = append(v.CephClusters, cephCluster{
			Namespace: o.GetNamespace(), Name: o.GetName(), Version: cmp.Or(text(&o, "status", "version", "version"), "not reported yet"),
		})
	}
}
