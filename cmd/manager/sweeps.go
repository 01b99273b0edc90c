package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"time"
	_ "time/tzdata" // The image has no time zones of its own, which windows are in.

	"k8s.io/apimachinery/pkg/util/uuid"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/controllers/cephtuningsweep"
	"github.com/cephtune/cephtune/internal/tuning"
)

// addSweeps adds the controller of CephTuningSweeps.
func addSweeps(mgr ctrl.Manager, opts *options, p *platform) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this manager: %w", err)
	}
	return cephtuningsweep.New(cephtuningsweep.Options{
		Client:     mgr.GetClient(),
		Reader:     p.direct,
		Recorder:   mgr.GetEventRecorder(cephtuningsweep.Name),
		Settings:   &opts.settings,
		Rook:       newRook(p.direct),
		Ceph:       p.sidecar,
		Lock:       p.lock,
		Journals:   p.journals,
		Namespaces: p.places,
		Writer:     host + "/" + string(uuid.NewUUID()),
		Patience:   tuning.DefaultPatience,
		Pace:       cephtuningsweep.DefaultPace(),
		Counts:     p.counts,
		Now:        time.Now,
		Draw:       rand.Uint64,
	}).SetupWithManager(mgr)
}
