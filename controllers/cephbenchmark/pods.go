package cephbenchmark

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/kstatus"
)

// podsWaiting returns why the clients do not run yet, or false if all of them do.
func podsWaiting(seen facts) (kstatus.Outcome, bool) {
	if len(seen.pods) == 0 && seen.hint != "" {
		return kstatus.Outcome{Reason: v1alpha1.ReasonClientsRefused, Message: "Kubernetes refuses to make the clients' pods: " + seen.hint}, true
	}
	for i := range seen.pods {
		if o, waits := clientview.PodWaiting(&seen.pods[i]); waits {
			o.Message = fmt.Sprintf("Pod %s: %s", seen.pods[i].Name, o.Message)
			return o, true
		}
	}
	running, wanted := len(clientview.Addresses(seen.pods)), int(seen.spec.Template.Clients.Count)
	switch {
	case running >= wanted:
		return seen.backgroundWaiting()
	case seen.hint != "":
		return kstatus.Outcome{
			Reason:  v1alpha1.ReasonClientsNotStarted,
			Message: fmt.Sprintf("%d of %d clients run. Kubernetes warns: %s", running, wanted, seen.hint),
		}, true
	}
	return preparing(fmt.Sprintf("%d of %d clients run.", running, wanted)), true
}

// backgroundWaiting returns why the background load does not run yet, or false if it does or is
// not wanted.
func (f facts) backgroundWaiting() (kstatus.Outcome, bool) {
	for i := range f.background.pods {
		if o, waits := clientview.PodWaiting(&f.background.pods[i]); waits {
			o.Message = fmt.Sprintf("Pod %s, of the background load: %s", f.background.pods[i].Name, o.Message)
			return o, true
		}
	}
	switch {
	case !f.hasBackground() || len(clientview.Addresses(f.background.pods)) > 0:
		return kstatus.Outcome{}, false
	case f.hint != "":
		return kstatus.Outcome{
			Reason: v1alpha1.ReasonClientsNotStarted, Message: "The pod of the background load does not run. Kubernetes warns: " + f.hint,
		}, true
	}
	return preparing("The pod of the background load is being started."), true
}
