package rbdbench

import "github.com/cephtune/cephtune/internal/engine/load"

const (
	// pilotSeconds is how long a pilot has to take to be believed: what the first
	// seconds write goes into caches, or waits for connections to be made.
	pilotSeconds = 5
	// aimedSeconds is how long the next pilot is meant to take. It is more, so that one
	// that is faster than the last is still believed.
	aimedSeconds = 2 * pilotSeconds
	// pilotFactor is by how much each pilot is larger than the one before at most.
	pilotFactor = 8
	// maxPilots bounds their number: with the last one the size grew 32768-fold.
	maxPilots = 6
	// speedUp is by how much a run may be faster than its pilot and still be long
	// enough to count: a pilot can have shared the cluster with something that has ended
	// since, or have filled the caches that the run finds filled.
	speedUp = 2
	// shortestAim is the shortest time that a phase is sized for.
	shortestAim = speedUp * minimumSeconds
	// firstRounds is how many operations of each thread the first pilot has, where
	// they are small; firstBytes is where it stops growing with them. The tool's
	// clock has steps of some milliseconds, so it must not be done in less.
	firstRounds, firstBytes = 256, 64 << 20
	// maxTotal bounds what is measured with, as the API bounds what may be asked for.
	maxTotal = 100 << 40
)

// NeedsPilot implements load.Piloted.
func (b *phase) NeedsPilot() bool { return b.total == 0 }

// NextPilot implements load.Piloted. The measurement takes as long as duration at the rate of
// the last pilot, in whole rounds of all threads.
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

// lasting are the bytes that take so long at the rate of a pilot; without end for a
// pilot in no time at all.
func lasting(pilot load.Pilot, seconds float64) float64 {
	return float64(pilot.Bytes) / max(pilot.Seconds, 0) * seconds
}

func wholeRounds(bytes float64, round int64) int64 {
	return (max(int64(bytes), 1) + round - 1) / round * round
}
