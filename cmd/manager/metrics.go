package main

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/internal/metrics/exporter"
)

// newCollector returns the Prometheus collector for the states of CRs, locks and journals.
func newCollector(mgr ctrl.Manager, opts *options, p *platform) *exporter.Collector {
	return exporter.NewCollector(exporter.Options{
		Reader:   mgr.GetClient(),
		Clusters: opts.settings.Clusters,
		Rook:     p.rook,
		Lock:     p.lock,
		Journals: p.journals,
		Outages:  p.journals.ForOutages(),
		Leads:    mgr.Elected(),
		Log:      mgr.GetLogger().WithName("metrics"),
		Now:      time.Now,
	})
}
