// Package sweepspec connects a CephTuningSweep with its planner. It turns a spec into a plan for package
// sweep, trials into benchmarks, and conclusions into a status.
//
//	spec, values in Ceph    → Draft    → status.plan: the choices that are fixed when a sweep begins
//	spec, status.plan       → PlanOf   → a plan of package sweep
//	status.trials           ↔ ReadLedger, WriteLedger ↔ the planner's ledger
//	a trial (the next trial) → Child    → a CephBenchmark of exactly one run
//	an ended CephBenchmark  → Observe  → the next entry of the ledger
//	a conclusion            → Conclude → verdict, table, sentence and patches
//
// The package is pure: it reads no clock and no cluster. Callers pass the time and the state of Ceph.
package sweepspec

import (
	"errors"
	"fmt"
)

// ErrSpec is wrapped by errors about a spec from which no sweep can be planned. The error messages are
// for the user.
var ErrSpec = errors.New("the sweep cannot be planned")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSpec, fmt.Sprintf(format, args...))
}
