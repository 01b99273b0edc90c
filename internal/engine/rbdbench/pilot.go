package rbdbench

import "github.com/cephtune/cephtune/internal/engine/load"

const (
	// pilotSeconds is the shortest pilot (a short run before the measurement) whose rate is trusted. If no
	// further pilot is allowed, the last pilot is trusted even if it is shorter. In the first seconds, a run
	// fills caches or waits for connections.
	pilotSeconds = 5
	// aimedSeconds is the intended duration of the next pilot. It exceeds pilotSeconds, so that a pilot
	// that is faster than expected is still trusted.
	aimedSeconds = 2 * pilotSeconds
	// pilotFactor is the largest ratio of the sizes of two successive pilots.
	pilotFactor = 8
	// maxPilots is the largest number of pilots. The last pilot may be 32768 times as large as the first.
	maxPilots = 6
	// speedUp is how many times faster than its pilot a run may be without becoming too short to be valid.
	// A run may be faster because another load has ended since, or because the pilot has filled caches.
	speedUp = 2
	// shortestAim is the shortest planned duration, in seconds, of a measurement that pilots determine.
	shortestAim = speedUp * minimumSeconds
	// firstRounds is the number of operations of each thread in the first pilot. firstBytes limits that
	// pilot if operations are large. The first pilot must take longer than a step of rbd bench's clock,
	// which is some milliseconds.
	firstRounds, firstBytes = 256, 64 << 20
	// maxTotal is the largest size of a measurement, in bytes. It equals the API's limit of ioTotal.
	maxTotal = 100 << 40
)

// NeedsPilot implements load.Piloted.
func (b *phase) NeedsPilot() bool { return b.total == 0 }

// NextPilot implements load.Piloted. The size of the measurement is the number of bytes that take the
// planned duration at the rate of the last pilot, but about maxTotal at most. If that pilot took no time, the
// measurement has the pilot's size. Sizes are whole rounds; in a round, each thread does one operation.
func (b *phase) NextPilot(pilots []load.Pilot) (bytes int64, done bool) {
	round := b.ioBytes * int64(b.spec.IOThreads)
	if len(pilots) == 0 {
		return max(round, min(firstRounds*round, firstBytes)/round*round), false
	}
	last := pilots[len(pilots)-1]
	if last.Seconds < pilotSeconds && len(pilots) < maxPilots && last.Bytes < maxTotal/pilotFactor {
		return wholeRounds(min(lasting(last, aimedSeconds), pilotFactor*float64(last.Bytes)), round), false
	}
	if last.Seconds <= 0 {
		return max(last.Bytes, round), true
	}
	return wholeRounds(min(lasting(last, b.seconds), maxTotal), round), true
}

// lasting returns how many bytes take the given time at the rate of a pilot. It returns infinity for a
// pilot that took no time.
func lasting(pilot load.Pilot, seconds float64) float64 {
	return float64(pilot.Bytes) / max(pilot.Seconds, 0) * seconds
}

func wholeRounds(bytes float64, round int64) int64 {
	return (max(int64(bytes), 1) + round - 1) / round * round
}
