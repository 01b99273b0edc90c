package runner

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cephtune/cephtune/internal/task"
)

// listener accepts connections, as an OSD does, sends a banner, and counts what clients send.
func listener(t *testing.T) (address string, accepted, received *atomic.Int64) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	accepted, received = new(atomic.Int64), new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			_, _ = c.Write([]byte("ceph v2\n"))
			n, _ := c.Read(make([]byte, 64))
			received.Add(int64(n))
			_ = c.Close()
		}
	}()
	return l.Addr().String(), accepted, received
}

// The kernel times connects to a listener and to a port that refuses them. Their number is bounded, and nothing is sent.
func TestRoundTrips(t *testing.T) {
	address, accepted, received := listener(t)
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	got := roundTrips(t.Context(), []task.Peer{{OSD: 4, Address: address}, {OSD: 7, Address: closed.Addr().String()}}, time.Millisecond)
	trip := got[0]
	if !(trip.MedianSeconds > 0 && trip.MedianSeconds < 1) || trip.SegmentBytes < 500 || trip.PathMTUBytes < trip.SegmentBytes {
		t.Errorf("%+v", trip)
	}
	got[0].MedianSeconds, got[0].SegmentBytes, got[0].PathMTUBytes = 0, 0, 0
	want := []task.RoundTrip{{OSD: 4, Connects: mostRounds}, {OSD: 7, Connects: mostRounds, Failed: mostRounds}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	eventually(t, "the listener to accept all connections", func() bool { return accepted.Load() == mostRounds })
	if n := received.Load(); n > 0 {
		t.Errorf("%d bytes were sent", n)
	}
}

// An engine that ends stops the connects, and what did not end does not count.
func TestRoundTripsEnd(t *testing.T) {
	address, _, _ := listener(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if diff := cmp.Diff([]task.RoundTrip{{OSD: 1}}, roundTrips(ctx, []task.Peer{{OSD: 1, Address: address}}, time.Hour)); diff != "" {
		t.Error(diff)
	}
	if got := roundTrips(t.Context(), nil, time.Hour); got != nil {
		t.Errorf("%+v without peers", got)
	}
}

func TestCount(t *testing.T) {
	for name, tc := range map[string]struct {
		info *unix.TCPInfo
		want task.RoundTrip
		trip []float64
	}{
		"an answer":            {info: &unix.TCPInfo{Rtt: 250, Snd_mss: 1448, Pmtu: 1500}, want: task.RoundTrip{Connects: 1, SegmentBytes: 1448, PathMTUBytes: 1500}, trip: []float64{250e-6}},
		"a second packet":      {info: &unix.TCPInfo{Rtt: 250, Total_retrans: 1}, want: task.RoundTrip{Connects: 1, Lost: 1}},
		"neither":              {info: &unix.TCPInfo{}, want: task.RoundTrip{Connects: 1, Failed: 1}},
		"nothing of a connect": {want: task.RoundTrip{Connects: 1, Failed: 1}},
	} {
		var got task.RoundTrip
		trip := count(&got, tc.info)
		if diff := cmp.Diff(tc.want, got) + cmp.Diff(tc.trip, trip); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
