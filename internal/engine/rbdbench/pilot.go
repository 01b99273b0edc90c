package rbdbench

import "github.com/cephtune/cephtune/internal/engine/load"

const (
	// pilotSeconds is how long a pilot has to take to be believed.
	pilotSeconds = 3
	// pilotFactor is by how much each pilot is larger than the one before.
	pilotFactor = 8
	// maxPilots bounds their number: with the last one the size grew 32768-fold.
	maxPilots = 6
	// firstRounds is how many operations of each thread the first pilot has, where
	// they are small; firstBytes is where it stops growing with them. The tool's
	// clock has steps of some milliseconds, so it must not be done in less.
	firstRounds, firstBytes = 256, 64 << 20
	// maxTotal bounds what is measured with, as the API bounds what may be asked for.
	maxTotal = 100 << 40
)

// NeedsPilot implements load.Piloted.
func (b *phase) NeedsPilot() bool { return b.total == 0 }

// NextPilot implements load.Piloted. What is measured with takes as long as duration
// at the rate of the last pilot, in whole rounds of all threads.
func (b *phase) NextPilot(pilots []load.Pilot) (bytes int64, done bool) {
	round := b.ioBytes * int64(b.spec.IOThreads)
	if len(pilots) == 0 {
		return max(round, min(firstRounds*round, firstBytes)/round*round), false
	}
	last := pilots[len(pilots)-1]
	if last.Seconds < pilotSeconds && len(pilots) < maxPilots && last.Bytes < maxTotal/pilotFactor {
		return last.Bytes * pilotFactor, false
	}
	if last.Seconds <= 0 {
		return max(last.Bytes, round), true
	}
	wanted := min(float64(last.Bytes)/last.Seconds*b.seconds, maxTotal)
	return (max(int64(wanted), 1) + round - 1) / round * round, true
}
