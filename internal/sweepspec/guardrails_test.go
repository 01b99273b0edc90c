package sweepspec

import (
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestForeignClients(t *testing.T) {
	most := []v1alpha1.ForeignClientLimit{{Pool: "p", Metric: v1alpha1.ForeignOSDLatency, AtMost: "50ms"}}
	least := []v1alpha1.ForeignClientLimit{{Pool: "q", Metric: v1alpha1.ForeignIOPS, AtMost: "1M"}, {Pool: "p", Metric: v1alpha1.ForeignIOPS, AtLeast: "1k"}}
	bandwidth := []v1alpha1.ForeignClientLimit{{Pool: "p", Metric: v1alpha1.ForeignBandwidth, AtMost: "1Mi"}}
	use := func(latency, iops float64) ForeignSample {
		return ForeignSample{Pools: map[v1alpha1.PoolName]PoolUse{"p": {OSDLatencySeconds: latency, OperationsPerSecond: iops, BytesPerSecond: 4096 * iops}}}
	}
	for name, tc := range map[string]struct {
		limits  []v1alpha1.ForeignClientLimit
		samples []ForeignSample
		want    string
	}{
		"nothing asked for":       {nil, []ForeignSample{use(9, 0), use(9, 0)}, ""},
		"nothing seen":            {most, nil, ""},
		"one bad sample":          {most, []ForeignSample{use(0.1, 0)}, ""},
		"two bad samples":         {most, []ForeignSample{use(0.01, 0), use(0.1, 0), use(0.2, 0)}, "OSDLatency of pool p is 200ms in 2 consecutive samples; at most 50ms is allowed."},
		"a good one between":      {most, []ForeignSample{use(0.1, 0), use(0.01, 0), use(0.1, 0)}, ""},
		"over now":                {most, []ForeignSample{use(0.1, 0), use(0.1, 0), use(0.01, 0)}, ""},
		"the limit itself":        {most, []ForeignSample{use(0.05, 0), use(0.05, 0)}, ""},
		"no data":                 {most, []ForeignSample{use(0.1, 0), {}, use(0.1, 0)}, "OSDLatency of pool p is 100ms in 2 consecutive samples; at most 50ms is allowed."},
		"too little is left":      {least, []ForeignSample{use(0, 900), use(0, 0)}, "IOPS of pool p is 0 IOPS in 2 consecutive samples; at least 1k is required."},
		"enough is left":          {least, []ForeignSample{use(0, 1000), use(0, 2000)}, ""},
		"too much of a bandwidth": {bandwidth, []ForeignSample{use(0, 1024), use(0, 1024)}, "Bandwidth of pool p is 4 MiB/s in 2 consecutive samples; at most 1Mi is allowed."},
	} {
		t.Run(name, func(t *testing.T) {
			breach, err := Breached(tc.limits, tc.samples)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if breach != nil {
				got = breach.Message
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	if _, err := Breached([]v1alpha1.ForeignClientLimit{{Metric: v1alpha1.ForeignIOPS, AtMost: "x"}}, nil); err == nil {
		t.Error("a limit that is none was taken")
	}
}
