package start

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/compare"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/load"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/words"
)

// defaultCopies is that of spec.diagnosis.layers.
const defaultCopies = 3

// diagnosing has the flags of the subcommand diagnose.
type diagnosing struct {
	starter
	cluster  string
	pool     string
	duration words.Seconds
	layers   bool
	copies   int32
	compare  string
}

// NewDiagnoseCommand returns the subcommand that diagnoses a cluster.
func NewDiagnoseCommand(connect object.Connect) *cobra.Command {
	o := &diagnosing{duration: words.Seconds(time.Minute)}
	cmd := &cobra.Command{
		Use:   "diagnose",
		Short: "Find out why Ceph is slow",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			if o.compare != "" {
				earlier, err := compare.ReadDiagnosis(cmd.Context(), connect, cmd.InOrStdin(), o.compare)
				if err != nil {
					return err
				}
				o.then = func(ctx context.Context, ended client.Object) error {
					if o.output == "table" {
						if _, err := io.WriteString(cmd.OutOrStdout(), "\n"); err != nil {
							return err
						}
					}
					return earlier.Compare(ctx, ended.GetName(), cmd.OutOrStdout(), o.output)
				}
			}
			return inFlags(o.start(cmd, connect))
		},
	}
	o.build = o.benchmark
	flags := cmd.Flags()
	flags.StringVar(&o.cluster, "ceph-cluster", "", "CephCluster, as NAMESPACE/NAME; needed if there are several, or if you may not list them")
	flags.StringVar(&o.pool, "pool", "", "pool that seems slow: look for causes in it, too")
	flags.Var(&o.duration, "duration", "how long Ceph is watched, from 30s to 10m")
	flags.BoolVar(&o.layers, "layers", false, "also measure where a write and a read spend their time, with a small load on two scratch pools")
	flags.Int32Var(&o.copies, "copies", defaultCopies, "with --layers, the number of copies of a write, from 2 to 6")
	flags.StringVar(&o.compare, "compare", "", "earlier diagnosis, as compare names it: show what is new, gone and still there")
	_ = cmd.RegisterFlagCompletionFunc("compare", compare.Complete(connect)) // It fails only for flags that do not exist.
	o.addStart(cmd, nil)
	for _, name := range []string{"expect", "scope", "live"} { // A diagnosis has no verdict, and no clients.
		if err := flags.MarkHidden(name); err != nil {
			panic(err)
		}
	}
	return cmd
}

func (o *diagnosing) check(args []string) error {
	args, err := o.checkStart(args, nil)
	switch namespace, name, named := strings.Cut(o.cluster, "/"); {
	case err != nil:
		return err
	case len(args) > 0:
		return exit.UsageErrorf("unexpected argument %q: name the pool with --pool", args[0])
	case o.cluster != "" && (!named || namespace == "" || name == ""):
		return exit.UsageErrorf("--ceph-cluster %q: want NAMESPACE/NAME", o.cluster)
	case time.Duration(o.duration) < 30*time.Second || time.Duration(o.duration) > 10*time.Minute:
		return exit.UsageErrorf("--duration: want 30s to 10m")
	case o.copies < 2 || o.copies > 6:
		return exit.UsageErrorf("--copies: want 2 to 6")
	case o.compare != "" && !o.wait:
		return exit.UsageErrorf("--compare needs the findings: remove --wait=false")
	case o.copies != defaultCopies && !o.layers:
		return exit.UsageErrorf("--copies is for --layers: add it, or remove --copies")
	}
	return nil
}

// benchmark returns the benchmark that the flags describe.
func (o *diagnosing) benchmark(ctx context.Context, c client.Client, _ io.Writer) (client.Object, error) {
	wanted := &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "diagnose-"},
		Spec: v1alpha1.CephBenchmarkSpec{
			Diagnosis: &v1alpha1.Diagnosis{Pool: v1alpha1.PoolName(o.pool), Duration: metav1.Duration{Duration: time.Duration(o.duration)}},
		},
	}
	if o.layers {
		wanted.Spec.Diagnosis.Layers = &v1alpha1.DiagnosisLayers{Copies: o.copies}
	}
	wanted.Spec.ClusterRef.Namespace, wanted.Spec.ClusterRef.Name, _ = strings.Cut(o.cluster, "/")
	return wanted, load.FillCluster(ctx, c, wanted)
}
