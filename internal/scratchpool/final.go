package scratchpool

import (
	"errors"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
)

// Final returns the outcome for an error that ends the benchmark. Such an error says that the pool cannot
// be placed as requested, that Rook refuses it, or that it is gone although earlier runs have used it. Final returns false
// for other errors and for nil.
func Final(err error) (kstatus.Outcome, bool) {
	if problem, ok := errors.AsType[*placement.Error](err); ok {
		return kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: problem.Error() + "."}, true
	}
	problem, ok := errors.AsType[*rook.Error](err)
	switch {
	case ok && problem.Reason == rook.ReasonScratchPoolGone:
		return kstatus.Outcome{Reason: v1alpha1.ReasonScratchPoolGone, Message: problem.Error() + "."}, true
	case ok && problem.Reason == rook.ReasonPoolRefused:
		return kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: problem.Error() + "."}, true
	}
	return kstatus.Outcome{}, false
}
