package diagnosis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/task"
)

// This file has the checks of the network between the client of a layered diagnosis and OSDs, by the handshakes of TCP
// connects. The kernels of both ends answer them, not their processes. OSDs on the client's own node are left out, because
// they are reached without a network.

const (
	// networkShare is ours: a write waits for the round trip to its primary, and then for at least one between OSDs. If that
	// takes as long, half of a write is round trips.
	networkShare = 0.25
	// leastLoss is ours: Linux repeats a lost packet after 200 ms or more if nothing follows it, so 0.1 % cost each
	// operation that waits for an answer 0.2 ms, about as much as a round trip.
	leastLoss = 0.001
	// mostOptionBytes are those of TCP's options (RFC 9293). Segments may differ by them on paths with the same MTU.
	mostOptionBytes = 40
	// loopbackMTU is that of Linux's loopback interface, which shows that an OSD is on the client's node.
	loopbackMTU = 65536
	// mostConnects is more than a runner makes to a peer in a window.
	mostConnects = 100
)

// Peers returns the OSDs to which the client of a layered diagnosis connects. Of many OSDs, they are one of each host, then
// another one of each, and so on.
func (f Facts) Peers() (all []task.Peer) {
	rank, ofHost := map[int]int{}, map[string]int{}
	for _, osd := range f.OSDMap.OSDs {
		if peer := (task.Peer{OSD: osd.ID, Address: osd.Address}); osd.Up && peer.Valid() {
			host := f.hostOf(osd.ID)
			rank[osd.ID] = ofHost[host]
			ofHost[host]++
			all = append(all, peer)
		}
	}
	slices.SortStableFunc(all, func(a, b task.Peer) int { return cmp.Compare(rank[a.OSD], rank[b.OSD]) })
	return all[:min(len(all), task.MostPeers)]
}

// hostOf returns the host of an OSD; "" if unknown.
func (f Facts) hostOf(osd int) string {
	i := slices.IndexFunc(f.Devices, func(d ceph.OSDDevice) bool { return d.ID == osd })
	if i < 0 {
		return ""
	}
	return f.Devices[i].Host
}

// RoundTrip returns the round trip of an operation to its primary in the mean over these placement groups, in seconds; 0 if
// it was measured to none of the primaries.
func RoundTrip(trips []task.RoundTrip, pgs []ceph.PG) float64 {
	sum, n := 0.0, 0
	for _, pg := range pgs {
		i := slices.IndexFunc(trips, func(t task.RoundTrip) bool { return t.OSD == pg.Primary && plausible(t) && t.MedianSeconds > 0 })
		if i >= 0 {
			sum, n = sum+trips[i].MedianSeconds, n+1
		}
	}
	return sum / float64(max(n, 1))
}

// plausible reports whether a runner may have reported this: users of the namespace could have changed it.
func plausible(t task.RoundTrip) bool {
	return t.Connects > 0 && t.Lost >= 0 && t.Failed >= 0 && t.Lost+t.Failed <= t.Connects && t.Connects <= mostConnects && t.MedianSeconds >= 0 && t.MedianSeconds <= 1
}

// route is how the connects from the client to an OSD on another node went, in all windows.
type route struct {
	osd               int
	host              string
	answered, lost    int
	segmentBytes, mtu uint32
}

func (r route) String() string { return fmt.Sprintf("osd.%d on %s", r.osd, r.host) }

// network has the paths by OSD, and the round trips in each window. It has no path to a silent OSD, which never answered.
type network struct {
	paths   []route
	windows []map[string][]timed
	silent  int
}

// network returns what connects from the client to OSDs on other nodes tell. Those after an OSD's last answer do not: Ceph served
// the window, so the OSD has another address since it was restarted, or a firewall lets only some clients pass.
func (f Facts) network() (n network) {
	if f.Host == nil {
		return n
	}
	byOSD, unanswered := map[int]route{}, map[int]int{}
	for _, trips := range f.Host.RoundTrips {
		var window []timed
		for _, t := range trips {
			host := f.hostOf(t.OSD)
			if host == "" || host == f.Host.Node || t.PathMTUBytes >= loopbackMTU || !plausible(t) {
				continue
			}
			unanswered[t.OSD] += t.Lost
			if t.MedianSeconds > 0 {
				p := byOSD[t.OSD]
				answered := t.Connects - t.Lost - t.Failed
				byOSD[t.OSD] = route{t.OSD, host, p.answered + answered, p.lost + unanswered[t.OSD], t.SegmentBytes, t.PathMTUBytes}
				unanswered[t.OSD] = 0
				window = append(window, timed{t.OSD, t.MedianSeconds})
			}
		}
		n.windows = append(n.windows, map[string][]timed{"": window})
	}
	for _, osd := range slices.Sorted(maps.Keys(byOSD)) {
		n.paths = append(n.paths, byOSD[osd])
	}
	n.silent = len(unanswered) - len(byOSD)
	return n
}

func (f Facts) knowLoss() bool  { return len(f.network().paths) > 0 }
func (f Facts) knowSizes() bool { return len(f.network().paths) > 1 }

// knowRoundTrips reports whether round trips can be compared: with each other, or with the time of a write.
func (f Facts) knowRoundTrips() bool {
	n := f.network()
	return f.fastest() > 0 && len(compared(n.windows)) > 0 || len(n.paths) > 0 && f.networkOfWrites() != nil
}

func (f Facts) networkOfWrites() *v1alpha1.OperationLayer {
	for _, t := range f.Layers {
		if t.Operation == v1alpha1.LayeredWrite {
			return t.Network
		}
	}
	return nil
}

// slowRoundTrip names OSDs whose round trip is longer than that of others, as slowOSDs does, if that is wakeShare of the
// fastest operation. Otherwise it looks at what all OSDs take of a write.
func slowRoundTrip(f Facts) *v1alpha1.Finding {
	seen := f.network()
	var evidence []string
	var osds []int
	for _, s := range slower(compared(seen.windows), wakeShare*f.fastest()) {
		i := slices.IndexFunc(seen.paths, func(r route) bool { return r.osd == s.osd })
		osds = append(osds, s.osd)
		evidence = append(evidence, fmt.Sprintf("%v: %s, others %s; %.1f times (%.1f to %.1f), in %d windows",
			seen.paths[i], milliseconds(s.seconds), milliseconds(s.others), s.seconds/s.others, s.low, s.high, len(s.ratios)))
	}
	if len(osds) > 0 && f.fastest() > 0 {
		slices.Sort(osds)
		return found(likely, "Look at what is between: routes, switches, the link's speed (`ethtool`), and CPUs of their nodes, which also answer handshakes.", evidence,
			"From node %s, the round trip to %s takes longer than to others.", f.Host.Node, names(osds))
	}
	n := f.networkOfWrites()
	if n == nil || len(seen.paths) == 0 || number(n.Low) <= networkShare {
		return nil
	}
	return found(possible, "Look at routes and switches between the nodes, at the overlay of the pod network (host networking has none), and at C-states.",
		[]string{fmt.Sprintf("%s, by TCP handshakes; round trips between OSDs were not measured", milliseconds(number(n.Seconds)))},
		"One round trip between client and primary takes %.0f %% (%.0f to %.0f %%) of a write, which waits for another one between OSDs.",
		100*number(n.Share), 100*number(n.Low), 100*number(n.High))
}

// networkLoss names OSDs that left more than leastLoss of the connects without an answer for a second, by an exact binomial
// test. All OSDs, and their sum, share its error (Bonferroni).
func networkLoss(f Facts) *v1alpha1.Finding {
	all := f.network().paths
	var evidence []string
	test := func(name string, answered, lost int) {
		chance := distuv.Binomial{N: float64(answered + lost), P: leastLoss}
		if lost > 0 && chance.Survival(float64(lost-1)) <= alpha/float64(len(all)+1) {
			evidence = append(evidence, fmt.Sprintf("%s: %d of %d connects had no answer within a second", name, lost, answered+lost))
		}
	}
	answered, lost := 0, 0
	for _, p := range all {
		answered, lost = answered+p.answered, lost+p.lost
		test(p.String(), p.answered, p.lost)
	}
	test("all OSDs together", answered, lost)
	if len(evidence) == 0 {
		return nil
	}
	return found(likely, "Look at errors and drops of interfaces (`ip -s link`), at switches and cables, and whether a firewall or a full queue of the OSD (`nstat -az TcpExtListenDrops`) drops packets.",
		evidence, "Packets between node %s and OSDs are lost, or not answered. Each costs an operation 200 ms or more.", f.Host.Node)
}

// mtuMismatch finds paths on which packets have different sizes. Handshakes tell what both ends agree on, not whether such
// packets arrive.
func mtuMismatch(f Facts) *v1alpha1.Finding {
	bySize := map[uint32][]route{}
	for _, p := range f.network().paths {
		bySize[p.segmentBytes] = append(bySize[p.segmentBytes], p)
	}
	sizes := slices.Sorted(maps.Keys(bySize))
	if len(sizes) == 0 || sizes[len(sizes)-1]-sizes[0] <= mostOptionBytes {
		return nil
	}
	var evidence []string
	for _, size := range sizes {
		paths := bySize[size]
		evidence = append(evidence, fmt.Sprintf("segments of %d bytes, path MTU %d: %d OSDs, such as %v", size, paths[0].mtu, len(paths), paths[0]))
	}
	return found(likely, "Give all interfaces, bridges and the pod network the same MTU, and test it: `ping -M do -s SIZE` with the MTU less 28 bytes.", evidence,
		"From node %s, packets to some OSDs are smaller than to others: MTUs differ.", f.Host.Node)
}

// uncheckedNetwork says what is not known of the network.
func uncheckedNetwork(f Facts) string {
	n := f.network()
	switch {
	case f.Host == nil || len(f.Host.RoundTrips) == 0:
		return "The network between nodes: round trip, loss and MTU. Only slow heartbeats, which Ceph reports, would have been found."
	case len(n.paths) == 0 && n.silent > 0:
		return fmt.Sprintf("The network between nodes: no OSD answered handshakes of node %s, where the client ran.", f.Host.Node)
	case len(n.paths) == 0:
		return fmt.Sprintf("The network between nodes: no OSD is known to be on another one than %s, where the client ran.", f.Host.Node)
	}
	text := fmt.Sprintf("The network between OSDs, and whether large packets pass: handshakes were timed with %d OSDs only", len(n.paths))
	if len(compared(n.windows)) == 0 {
		text += ", too few to compare"
	}
	if n.silent > 0 {
		text += fmt.Sprintf("; %d more did not answer", n.silent)
	}
	return text + "."
}
