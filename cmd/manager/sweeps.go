package main

import (
	"math/rand/v2"
	"time"
	_ "time/tzdata" // A sweep's spec.maintenanceWindow has a time zone, and the image contains no time zones.

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/controllers/cephtuningsweep"
	"github.com/cephtune/cephtune/internal/tuning"
)

// addSweeps adds the controller of CephTuningSweeps to the manager. The argument benchmarks is the
// controller of CephBenchmarks, which provides the clients' courses.
func addSweeps(mgr ctrl.Manager, opts *options, p *platform, benchmarks cephtuningsweep.Courses) error {
	return cephtuningsweep.New(cephtuningsweep.Options{
		Client:     mgr.GetClient(),
		Reader:     p.benchmarks,
		Recorder:   mgr.GetEventRecorder(cephtuningsweep.Name),
		Settings:   &opts.settings,
		Rook:       p.rook,
		Ceph:       p.sidecar,
		Lock:       p.lock,
		Journals:   p.journals,
		Outages:    p.journals.ForOutages(),
		Namespaces: p.places,
		MasterKey:  p.masterKey,
		Writer:     p.writer,
		Kubernetes: string(p.kubernetes),
		KeepEvery:  cephtuningsweep.KeepEvery,
		Doubts:     p.doubts,
		Deadline:   tuning.DefaultDeadline,
		Pace:       cephtuningsweep.DefaultPace(),
		Counts:     p.counts,
		Now:        time.Now,
		Draw:       rand.Uint64,
		Courses:    benchmarks,
		Budget:     p.budget,
	}).SetupWithManager(mgr)
}
