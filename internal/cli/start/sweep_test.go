package start

import (
	"cmp"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// cluster is one whose operator plans and ends sweeps at once. It records the created objects.
func cluster(t *testing.T, created *[]string, refusals ...string) client.WithWatch {
	only := &unstructured.Unstructured{}
	only.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephCluster"})
	only.SetNamespace("rook-ceph")
	only.SetName("my-cluster")
	return interceptor.NewClient(clitest.Holding(t, only), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			s, ok := o.(*v1alpha1.CephTuningSweep)
			if !ok {
				t.Fatalf("a %T is created", o)
			}
			*created = append(*created, string(s.Spec.Mode))
			if s.Name == "" {
				s.Name = s.GenerateName + "x7k2p"
			}
			s.Status.ObservedRunID, s.Status.ObservedGeneration = s.Spec.RunID, s.Generation
			if s.Spec.Mode == v1alpha1.SweepModePlan {
				s.Status.Plan = &v1alpha1.SweepPlan{
					Baseline:       []v1alpha1.BaselineValue{{Name: "osd_mclock_profile", Value: "balanced"}},
					Configurations: 1, MinimumRuns: 11, MaximumRuns: 48, Refusals: refusals, SmallestEffect: "6.8%",
					EstimatedDuration: &metav1.Duration{Duration: 2 * time.Hour}, RunDuration: &metav1.Duration{Duration: 150 * time.Second},
					EstimatedBytesWritten: new(resource.MustParse("12Gi")), RunBytesWritten: new(resource.MustParse("256Mi")),
				}
				if s.Spec.Strategy.Design == v1alpha1.DesignInterleaved && len(refusals) == 0 {
					asSessions(s.Status.Plan, cmp.Or(s.Spec.Strategy.Interleaved.Sessions, 3))
				}
			} else {
				s.Status.Verdict, s.Status.Summary = v1alpha1.VerdictEquivalent, "Nothing is better."
			}
			clitest.Complete(&s.Status.Conditions, "Nothing is better.")
			return c.Create(ctx, o)
		},
	})
}

// asSessions makes the design of a plan Interleaved.
func asSessions(p *v1alpha1.SweepPlan, sessions int32) {
	p.Design, p.Sessions, p.Pairs, p.MinimumRuns, p.MaximumRuns = v1alpha1.DesignInterleaved, sessions, 60, sessions, sessions
	p.EstimatedDuration, p.RunDuration = &metav1.Duration{Duration: 28 * time.Minute}, &metav1.Duration{Duration: 27 * time.Minute}
}

func TestSweepGolden(t *testing.T) {
	const profile = "osd_mclock_profile=balanced,high_client_ops --objective p99 --rate-iops 1000 --bs 4Ki"
	for name, c := range map[string]struct {
		line, stdin, created string
		refusals             []string
		silent               bool // there is no terminal
	}{
		"answered with yes":        {line: profile, stdin: "y\n", created: "Plan,"},
		"answered with no":         {line: profile, stdin: "n\n", created: "Plan"},
		"not answered":             {line: profile, created: "Plan"},
		"without a terminal":       {line: profile, silent: true},
		"with yes":                 {line: profile + " --yes --name mine", silent: true, created: "Plan,"},
		"not what is expected":     {line: profile + " --yes --expect Superior", silent: true, created: "Plan,"},
		"refused":                  {line: profile + " --yes", refusals: []string{"The administrator does not allow varying osd_mclock_profile."}, created: "Plan"},
		"the plan alone":           {line: profile + " --plan", silent: true, created: "Plan"},
		"created and not followed": {line: profile + " --yes --wait=false -o yaml", silent: true, created: "Plan,"},
		"what would be created":    {line: profile + " --mask class:ssd --budget 4h --minimum-effect 20% --dry-run -o yaml", silent: true},
		"quick, as a file":         {line: profile + " --quick --dry-run", silent: true},
		"quick, the plan":          {line: profile + " --quick --plan", silent: true, created: "Plan"},
		"quick, but not allowed": {line: profile + " --quick --yes", refusals: []string{"strategy.design Interleaved is not possible: Option osd_mclock_profile may not be switched " +
			"under a load."}, created: "Plan"},
		"several sessions":             {line: profile + " --design Interleaved", stdin: "n\n", created: "Plan"},
		"blocks":                       {line: profile + " --design blocks --dry-run", silent: true},
		"quick for pg_num, the plan":   {line: "pg_num=64,128 --quick --plan", silent: true, created: "Plan"},
		"quick for pg_num, as a file":  {line: "pg_num=64,128 --quick --dry-run", silent: true},
		"quick for classes":            {line: "--storage-class fast,slow --quick --dry-run", silent: true},
		"quick for sequential reads":   {line: "osd_client_message_cap=1,256 --mode read --quick --plan", silent: true, created: "Plan"},
		"quick, and blocks":            {line: profile + " --quick --design blocks --plan", silent: true, created: "Plan"},
		"usage switch a number of PGs": {line: "pg_num=64,128 --design interleaved --yes"},
		"usage a design":               {line: profile + " --design factorial --yes"},
		"placement groups in place":    {line: "--pool X pg_num=64,128 --dry-run -o yaml", silent: true},
		"placement groups, asked":      {line: "--pool X pg_num=64,128", stdin: "no\n", created: "Plan"},
		"of the load, by any word":     {line: "iodepth=1,32 bs=4k,64Ki clients=1,2 --rw randread --baseline depth=1,bs=4Ki --engine fio --dry-run", silent: true},
		"of the load, asked":           {line: "depth=1,32", stdin: "no\n", created: "Plan"},
		"an option that is not set":    {line: "osd_client_message_cap=unset,256 --dry-run", silent: true},
		"copies or chunks":             {line: "redundancy=2,4+2 --replicas 3 --engine fio --dry-run", silent: true},
		"classes and a depth":          {line: "depth=1,32 --storage-class fast,slow --dry-run", silent: true},
		"classes alone":                {line: "--storage-class fast,slow --dry-run", silent: true},
		"usage classes as a setting":   {line: "storageClass=fast,slow --yes"},
		"usage a baseline of classes":  {line: "--storage-class fast,slow --baseline depth=1 --dry-run"},
		"usage a misspelled option":    {line: "pg_nmu=8,16 --yes"},
		"usage nothing":                {line: "--yes"},
		"usage no values":              {line: "pg_num --yes"},
		"usage an empty value":         {line: "pg_num=8,,16 --yes"},
		"usage a value twice":          {line: "pg_num=8,8 --yes"},
		"usage a setting twice":        {line: "pg_num=8 pg_num=16 --yes"},
		"usage jobs of rados bench":    {line: "jobs=1,2 --engine rados --yes"},
		"usage an objective":           {line: "pg_num=8 --objective speed --yes"},
		"usage p99 without a rate":     {line: "pg_num=8 --objective p99 --yes"},
		"p99 of a closed loop":         {line: "pg_num=8 --objective p99 --closed-loop --dry-run", silent: true},
		"usage p99 of rados bench":     {line: "pg_num=8 --engine rados --objective p99 --yes"},
		"usage a latency of rbd bench": {line: "pg_num=8 --engine rbd --objective mean --yes"},
		"usage a mask of no OSDs":      {line: "pg_num=8 --mask class:ssd --yes"},
		"usage another baseline":       {line: "pg_num=8 --baseline size=3 --yes"},
		"usage a number of OSDs":       {line: "osdCount=3,6 --yes"},
		"usage a verdict":              {line: "pg_num=8 --expect Passed --yes"},
	} {
		t.Run(name, func(t *testing.T) {
			var created []string
			asks := func(io.Reader) bool { return !c.silent }
			cmd := NewSweepCommand(clitest.Connecting(cluster(t, &created, c.refusals...)), nil, asks)
			got := clitest.Execute(t, cmd, c.line, c.stdin)
			got.Stdout = withoutClock(got.Stdout)
			clitest.Golden(t, "sweep/"+strings.ReplaceAll(name, ",", ""), "$ sweep "+c.line+"\n"+got.String(), *update)
			if now := strings.Join(created, ","); now != c.created {
				t.Errorf("created with the modes %q, want %q", now, c.created)
			}
		})
	}
}

// TestAnInterruptedQuestionIsNo checks that an interrupt counts as the answer no.
func TestAnInterruptedQuestionIsNo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, never := io.Pipe()
	t.Cleanup(func() { _ = never.Close() })
	if confirmed, err := confirmed(ctx, in, io.Discard); confirmed || err == nil {
		t.Errorf("%v, %v", confirmed, err)
	}
}

// TestTheAPIServerTakesEverySetting checks that the schema fills in what flags leave out, and that
// the API server accepts everything that the command accepts.
func TestTheAPIServerTakesEverySetting(t *testing.T) {
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(apiserver.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clitest.Namespace}}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"osd_mclock_profile=balanced,high_client_ops --objective p99 --rate-iops 1000",
		"osd_client_message_cap=Unset,256 osd_mclock_profile=balanced --mask class:ssd --storage-class a",
		"redundancy=2,2+1 --replicas 3",
		"depth=1,32 --storage-class a,b",
		"pg_num=8,16 --baseline pg_num=32",
		"pg_num=8,16 --pool replicapool --engine rbd",
		"depth=1,2 bs=4Ki,64Ki clients=1,2 --engine rados",
		"depth=1,2 bs=4Ki,64Ki --engine rbd",
		"depth=1,2 bs=4Ki,64Ki jobs=1,2 --engine fio --objective p999 --closed-loop",
		"rate-iops=100,200 --engine fio --objective p99 --baseline rate-iops=100",
		"compression_mode=none,aggressive",
		"osd_client_message_cap=1,256 --quick",
		"osd_client_message_cap=1,256 --quick --design blocks",
		"pg_num=64,128 --quick",
		"osd_client_message_cap=1,256 --design interleaved",
		"osd_client_message_cap=1,256 --design blocks",
	} {
		got := clitest.Execute(t, NewSweepCommand(clitest.Connecting(c), nil, nil), line+" --ceph-cluster a/b --dry-run=server", "")
		filled := "confirmationBlocks: 8"
		if strings.Contains(got.Stdout, "design: Blocks") && strings.Contains(line, "--quick") {
			filled = "confirmationBlocks: 3"
		}
		if got.Err != nil || !strings.Contains(got.Stdout, filled) {
			t.Errorf("%s: %v\n%s", line, got.Err, got.Stdout)
		}
	}
}
