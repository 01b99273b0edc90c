package rbdbench

import "github.com/cephtune/cephtune/internal/engine/load"

const (
	// pilotSeconds is the shortest pilot whose rate is trusted: the first seconds fill caches,
	// or wait for connections.
	pilotSeconds = 5
	// aimedSeconds is the intended duration of the next pilot. It exceeds pilotSeconds, so that
	// a pilot that turns out faster is still trusted.
	aimedSeconds = 2 * pilotSeconds
	// pilotFactor is the largest ratio of the size of a pilot to the size of the one before.
	pilotFactor = 8
	// maxPilots is the largest number of pilots. The last one may be 32768 times as large as the
	// first.
	maxPilots = 6
	// speedUp is the factor by which a run may be faster than its pilot and still be long enough
	// to be valid. A run can be faster because another load has ended since, or because the
	// pilot has filled the caches.
	speedUp = 2
	// shortestAim is the shortest time that a phase is sized for.
	shortestAim = speedUp * minimumSeconds
	// firstRounds is how many operations of each thread the first pilot has; firstBytes limits
	// its size if operations are large. rbd bench's clock has steps of some milliseconds, so the
	// pilot must take longer than that.
	firstRounds, firstBytes = 256, 64 << 20
	// maxTotal is the largest size of a measurement. It equals the limit of the API.
	maxTotal = 100 << 40
)

// NeedsPilot implements load.Piloted.
func (b *phase) NeedsPilot() bool { return b.total == 0 }

// NextPilot implements load.Piloted. The size of the measurement is the number of bytes that take
// the planned duration at the rate of the last pilot, in whole rounds of all threads.
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

// lasting returns how many bytes take the given time at the rate of a pilot; infinite for a
// pilot that took no time.
func lasting(pilot load.Pilot, seconds float64) float64 {
	return float64(pilot.Bytes) / max(pilot.Seconds, 0) * seconds
}

func wholeRounds(bytes float64, round int64) int64 {
	return (max(int64(bytes), 1) + round - 1) / round * round
}
