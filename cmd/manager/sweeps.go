package main

import (
	"math/rand/v2"
	_ "time/tzdata" // A sweep's spec.maintenanceWindow has a time zone, and the image contains no time zones.

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/controllers/cephtuningsweep"
	"github.com/cephtune/cephtune/internal/tuning"
)

// addSweeps adds the controller of CephTuningSweeps to the manager. The argument benchmarks is the
// controller of CephBenchmarks, which has the clients of executions.
func addSweeps(mgr ctrl.Manager, opts *options, p *platform, benchmarks cephtuningsweep.Clients) error {
	return cephtuningsweep.New(cephtuningsweep.Options{
		Shared:     p.shared(mgr, opts, cephtuningsweep.Name, cephtuningsweep.KeepEvery),
		Rook:       p.rook,
		Namespaces: p.places,
		Kubernetes: string(p.kubernetes),
		Clients:    benchmarks,
		Deadline:   tuning.DefaultDeadline,
		Pace:       cephtuningsweep.DefaultPace(),
		Draw:       rand.Uint64,
	}).SetupWithManager(mgr)
}
