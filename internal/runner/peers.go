package runner

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/task"
)

const (
	// connectEvery is the time between rounds of connects, and mostRounds bounds their number in a measurement.
	connectEvery = 2 * time.Second
	mostRounds   = 8
	// connectTimeout is later than Linux first repeats a packet that asks for a connection, which is after a second.
	connectTimeout = 1500 * time.Millisecond
)

// roundTrips connects to one peer after another, in rounds, until ctx is done. It sends nothing, and closes each connection at
// once: OSDs are not to be burdened. The kernel measures the time of the handshake, so waits of this process do not count.
func roundTrips(ctx context.Context, peers []task.Peer, every time.Duration) []task.RoundTrip {
	if len(peers) == 0 {
		return nil
	}
	trips, seconds := make([]task.RoundTrip, len(peers)), make([][]float64, len(peers))
	next := time.NewTicker(every)
	defer next.Stop()
	for round := 0; round < mostRounds && ctx.Err() == nil; round++ {
		select {
		case <-next.C:
		case <-ctx.Done():
			continue
		}
		for turn := range peers {
			i := (round + turn) % len(peers) // After a pause, the first connect may take longer: each round begins with another peer.
			if info, err := connect(ctx, peers[i].Address); err == nil || ctx.Err() == nil {
				seconds[i] = append(seconds[i], count(&trips[i], info)...)
			}
		}
	}
	for i, peer := range peers {
		trips[i].OSD, trips[i].MedianSeconds = peer.OSD, stats.Median(seconds[i])
	}
	return trips
}

// connect returns what the kernel knows of a new connection, or of one without an answer; nil if it knows nothing. It keeps a
// second descriptor, because the Dialer closes its own in time. If this process had to wait for a CPU meanwhile, the kernel may
// have an answer nevertheless.
func connect(ctx context.Context, address string) (*unix.TCPInfo, error) {
	kept := -1
	keep := func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { kept, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
		return errors.Join(err, failed)
	}
	connection, err := (&net.Dialer{Timeout: connectTimeout, KeepAlive: -1, Control: keep}).DialContext(ctx, "tcp", address)
	if err == nil {
		defer connection.Close() //nolint:errcheck // Nothing was written.
	}
	if kept < 0 {
		return nil, err
	}
	defer unix.Close(kept) //nolint:errcheck // The same.
	info, unknown := unix.GetsockoptTCPInfo(kept, unix.IPPROTO_TCP, unix.TCP_INFO)
	if unknown != nil {
		return nil, err
	}
	return info, err
}

// count adds a connect to a peer's. It returns the round trip in seconds, if one was measured.
func count(t *task.RoundTrip, info *unix.TCPInfo) []float64 {
	t.Connects++
	switch {
	case info != nil && info.Total_retrans > 0:
		t.Lost++
	case info != nil && info.Rtt > 0:
		t.SegmentBytes, t.PathMTUBytes = info.Snd_mss, info.Pmtu
		return []float64{float64(info.Rtt) / 1e6}
	default:
		t.Failed++
	}
	return nil
}
