package v1alpha1

// Rules that several fields share, and names for expressions in rules. hack/one-line-rules replaces $name by the text
// of +let name.

// whole says whether a size is a whole number of bytes, and bytes is that number.
//
// +let whole = quantity(string(self)).isInteger()
// +let bytes = quantity(string(self)).asInteger()
//
// background is the name of the phase that is the background load, or a name that no phase has.
//
// +let background = self.?backgroundLoad.phase.orValue('-')
// +let templateBackground = self.template.?backgroundLoad.phase.orValue('-')
//
// phaseHasRate says whether the phase p of fio, or each of its jobs, has a fixed rate; fioHasRate says it of self.
//
// +let phaseHasRate =
//    (has(p.fio.rateIOPS) ||
//      has(p.fio.rateBandwidth) ||
//      (has(p.fio.jobs) && p.fio.jobs.all(j, has(j.rateIOPS) || has(j.rateBandwidth))))
// +let fioHasRate =
//    (has(self.rateIOPS) ||
//      has(self.rateBandwidth) ||
//      (has(self.jobs) && self.jobs.all(j, has(j.rateIOPS) || has(j.rateBandwidth))))
//
// The metrics of rados bench; those of an outage; and those that are times, as regular expressions.
//
// +let radosBenchMetrics = ['Bandwidth', 'IOPS', 'LatencyMean', 'LatencyMax']
// +let outageMetrics = 'TimeToClean|Before|Outage|Recovery|After'
// +let times = '^(Latency|P[59]|TimeToClean)'
//
// Whether atMost and atLeast, if they are set, are times or other numbers.
//
// +let limitsAreTimes = [has(self.atMost) ? string(self.atMost) : '0s',
//      has(self.atLeast) ? string(self.atLeast) : '0s'].all(v, v.endsWith('s'))
// +let limitsAreNumbers = [has(self.atMost) ? string(self.atMost) : '0',
//      has(self.atLeast) ? string(self.atLeast) : '0'].all(v, !v.endsWith('s') && isQuantity(v))
//
// mayChange says whether an edit may change what is fixed for a run: with a schedule if no run is unfinished, and without
// one if the edit requests another run. An edit that adds a schedule requests no run, although it resets runID. cronField
// is a field of a cron expression, where N stands for a number.
//
// +let mayChange = (has(self.spec.schedule)
//      ? !has(oldSelf.status) || !has(oldSelf.status.startTime) || (has(oldSelf.status.conditions) &&
//          oldSelf.status.conditions.exists(c, c.type in ['Complete', 'Failed'] && c.status == 'True'))
//      : self.spec.runID != oldSelf.spec.runID)
// +let cronField = '^(([*?]|N(-N)?)(/[1-9][0-9]?)?,)*([*?]|N(-N)?)(/[1-9][0-9]?)?$'
//
// Sizes.
//
// +let operationSize = message="must be between 512 and 64Mi, in whole bytes",
//   rule="$whole && $bytes >= 512 && $bytes <= 67108864"
// +let multipleOf512 = message="must be a multiple of 512, but not of 1000: 4k means 4000 bytes here; for the 4096
//    bytes that fio calls 4k, write 4Ki",
//   rule="!$whole || $bytes < 512 || ($bytes % 512 == 0 && $bytes % 1000 != 0)"
// +let bytesPerSecond = message="must be between 1Ki and 1Ti bytes per second",
//   rule="$whole && $bytes >= 1024 && $bytes <= 1099511627776"
// +let amount = message="must be between 1Mi and 100Ti, in whole bytes",
//   rule="$whole && $bytes >= 1048576 && $bytes <= 109951162777600"
// +let volumeSize = message="must be between 64Mi and 100Ti, in whole bytes",
//   rule="$whole && $bytes >= 67108864 && $bytes <= 109951162777600"
// +let radosOperationSize = message="must be between 1Ki and 64Mi, in whole bytes",
//   rule="$whole && $bytes >= 1024 && $bytes <= 67108864"
// +let radosObjectSize = message="must be between 1Ki and 128Mi, in whole bytes",
//   rule="$whole && $bytes >= 1024 && $bytes <= 134217728"
// +let memorySize = message="must be between 128Mi and 1Ti",
//   rule="quantity(string(self)).compareTo(quantity('128Mi')) >= 0 &&
//      quantity(string(self)).compareTo(quantity('1Ti')) <= 0"
// +let datasetSize = message="must be Auto, or a size of at least 1Mi such as 20Gi",
//   rule="string(self) == 'Auto' || (isQuantity(string(self)) && $whole && $bytes >= 1048576)"
// +let imageObjectSize = message="must be a power of two between 4Ki and 32Mi, written as such, for example 4Mi",
//   rule="string(self) in ['4Ki', '8Ki', '16Ki', '32Ki', '64Ki', '128Ki', '256Ki', '512Ki', '1Mi', '2Mi', '4Mi',
//        '8Mi', '16Mi', '32Mi']"
