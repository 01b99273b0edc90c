// Package sweepspec stands between a CephTuningSweep and its planner: it turns a spec
// into what package sweep plans and measures, and what that concludes into a status.
//
//	spec, what Ceph has now → Draft    → status.plan: what is fixed when a run begins
//	spec, status.plan       → PlanOf   → a plan of package sweep
//	status.runs             ↔ ReadLedger, WriteLedger ↔ the planner's ledger
//	a slot                  → Child    → a CephBenchmark of exactly one run
//	that, when it has ended → Observe  → the next entry of the ledger
//	a conclusion            → Conclude → verdict, table, sentence and patches
//
// The package is pure: it reads no clock and no cluster. Callers pass the state of Ceph.
package sweepspec

import (
	"errors"
	"fmt"
)

// ErrSpec is wrapped by errors about a spec that cannot be swept. Their messages are
// for the user.
var ErrSpec = errors.New("the sweep cannot be planned")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSpec, fmt.Sprintf(format, args...))
}
