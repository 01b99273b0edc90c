package sweepspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// digestVersion is the version of the rules of Digest. Increase it when the same spec gets another digest,
// for example because of a new field with a default. A test checks the digest of an example spec.
const digestVersion = "v4"

// decisive has the fields of a spec that affect the verdict, except clusterRef, which is immutable. Other
// fields, such as suspend, window or historyLimit, may be edited during a sweep.
type decisive struct {
	Mode           v1alpha1.SweepMode         `json:"mode"`
	Template       v1alpha1.BenchmarkTemplate `json:"template"`
	Parameters     []v1alpha1.Parameter       `json:"parameters"`
	Configurations []v1alpha1.Configuration   `json:"configurations"`
	Baseline       *v1alpha1.Baseline         `json:"baseline"`
	Objective      v1alpha1.Objective         `json:"objective"`
	Constraints    []v1alpha1.Constraint      `json:"constraints"`
	Strategy       v1alpha1.Strategy          `json:"strategy"`
	Confidence     string                     `json:"confidence"`
	Quiescence     v1alpha1.Quiescence        `json:"quiescence"`
	Budget         v1alpha1.Budget            `json:"budget"`
	MaxFailedRuns  *int32                     `json:"maxFailedRuns"`
}

// Digest returns a short text that differs if any input of the verdict differs. Admission refuses changes of
// these inputs unless runID changes. But a user can change runID, edit the spec, and set the old runID again.
// Without the digest, the operator would then combine the edited spec with the old runs.
func Digest(spec *Spec) (string, error) {
	text, err := json.Marshal(decisive{
		Mode: spec.Mode, Template: spec.Template, Parameters: spec.Parameters, Configurations: spec.Configurations,
		Baseline: spec.Baseline, Objective: spec.Objective, Constraints: spec.Constraints, Strategy: spec.Strategy,
		Confidence: confidenceText(spec.Confidence), Quiescence: spec.Quiescence, Budget: spec.Budget, MaxFailedRuns: spec.Guardrails.MaxFailedRuns,
	})
	if err != nil {
		return "", fmt.Errorf("digest of the spec: %w", err)
	}
	sum := sha256.Sum256(text)
	return digestVersion + ":" + hex.EncodeToString(sum[:]), nil
}

// Edited reports whether a spec differs from the planned one in an input of the verdict. If the plan has no
// digest, or a digest by other rules, another version of the operator made the plan. Edited then returns
// false. This is safe, because the operator checks each change to Ceph again. Without a plan, Edited returns
// false too.
func Edited(spec *Spec, planned *v1alpha1.SweepPlan) (bool, error) {
	if planned == nil || !strings.HasPrefix(planned.SpecDigest, digestVersion+":") {
		return false, nil
	}
	now, err := Digest(spec)
	return err == nil && now != planned.SpecDigest, err
}
