package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

func TestLineOf(t *testing.T) {
	for image, want := range map[string]int{
		"ghcr.io/cephtune/tools:0.1.0-ceph18":               18,
		"registry.local:5000/mirror/tools:0.1.0-ceph19":     19,
		"ghcr.io/cephtune/tools:0.1.0":                      defaultLine,
		"ghcr.io/cephtune/tools:0.1.0-ceph20@sha256:abcdef": 20,
		"quay.io/ceph/ceph:v19.2.3-20250717":                19,
		"quay.io/ceph/ceph:v20":                             20,
		"ghcr.io/cephtune/tools:dev":                        0,
		"ghcr.io/cephtune/tools":                            0,
		"ghcr.io/cephtune/tools@sha256:abcdef":              0,
		"registry.local:5000/storage-tools:1.2.3":           0,
		"registry.local:5000/fio:v3":                        0,
		"":                                                  0,
	} {
		got, named := lineOf(image)
		if got != want || named != (want > 0) {
			t.Errorf("%s: %d, %v, want %d", image, got, named, want)
		}
	}
}

func TestToolsImage(t *testing.T) {
	for name, c := range map[string]struct {
		tools, clusterTools, version string
		state                        State
		text, fix                    string
		findings                     int
	}{
		"the same":              {"r/tools:0.1.0-ceph19", "", "19.2.3-0", OK, "has Ceph 19, like the cluster", "", 1},
		"older":                 {"r/tools:0.1.0-ceph18", "", "20.2.4-0", Note, "has Ceph 18, but the cluster has Ceph 20: older tools", "images/tools/build 20", 1},
		"newer":                 {"r/tools:0.1.0", "", "19.2.3-0", Note, "has Ceph 20, but the cluster has Ceph 19: newer clients", "tag: RELEASE-ceph19", 1},
		"of its own":            {"r/tools:0.1.0", "r/tools:0.1.0-ceph18", "18.2.7-0", OK, "tools:0.1.0-ceph18 has Ceph 18, like the cluster", "", 1},
		"of its own, and newer": {"r/tools:0.1.0-ceph18", "r/tools:0.1.0-ceph20", "20.2.4-0", OK, "has Ceph 20, like the cluster", "", 2},
		"a tag that says nothing": {
			"r/tools:dev", "", "20.2.4-0", Note, "The tag of r/tools:dev names no version of Ceph. The cluster has Ceph 20",
			"kubectl -n cephtune-system exec deployment/cephtune-manager -c ceph -- ceph --version", 1,
		},
		"one of its own that does not": {"r/tools:0.1.0", "r/tools:dev", "20.2.4-0", Note, "The tag of r/tools:dev names no version", "ends with -ceph20", 1},
		"a cluster without versions":   {"r/tools:dev", "", "", "", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := &examination{namespace: "bench", operator: kube.OperatorNamespace}
			e.toolsImage(settings.Cluster{Namespace: "rook-ceph", Name: "my-cluster", ToolsImage: c.clusterTools}, &settings.Settings{Images: settings.Images{Tools: c.tools}}, c.version, "cephtune-manager")
			if len(e.findings) != c.findings {
				t.Fatalf("%+v, want %d findings", e.findings, c.findings)
			}
			if c.findings == 0 {
				return
			}
			if got := e.findings[0]; got.State != c.state || !strings.Contains(got.Text, c.text) || !strings.Contains(got.Fix, c.fix) || (c.fix == "") != (got.Fix == "") {
				t.Errorf("%+v, want %+v", got, c)
			}
			if c.findings > 1 && !strings.Contains(e.findings[1].Text, "The manager uses it for CephCluster rook-ceph/my-cluster, which has Ceph 20.") {
				t.Errorf("%+v", e.findings[1])
			}
		})
	}
}

// The tag with only a release belongs to the default line of the images.
func TestDefaultLine(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(apiserver.Root(t), "images", "references.env"))
	if err != nil || !strings.Contains(string(text), "\nCEPH_LINE="+strconv.Itoa(defaultLine)+"\n") {
		t.Errorf("%v: images/references.env has another default than %d", err, defaultLine)
	}
}
