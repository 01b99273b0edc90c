// Package openloop generates load at a rate, on an absolute timeline. The time at which an operation is due does
// not depend on earlier operations, and its latency counts from that time. So a stall of the storage delays all
// operations that are due during the stall, as it delays clients that arrive at that rate. A closed loop, and fio
// at a rate, would submit only a few operations in the meantime. docs/proposals/open-loop.md has the reasons.
package openloop

import (
	"errors"
	"fmt"
	"time"
)

// Engine is the interface through which the operations reach the storage.
type Engine string

// The engines, with the names that fio has for them.
const (
	RBD    Engine = "rbd"
	RADOS  Engine = "rados"
	LibAIO Engine = "libaio"
)

// Load describes the work of one client.
type Load struct {
	Engine Engine `json:"engine"`
	// User and Pool are those of Ceph, for RBD and RADOS.
	User string `json:"user,omitempty"`
	Pool string `json:"pool,omitempty"`
	// Sync opens files so that each write waits for the disk: "sync" (O_SYNC), "dsync" (O_DSYNC) or "".
	Sync string `json:"sync,omitempty"`
	// RampSeconds pass before the measurement, which takes Seconds.
	RampSeconds float64 `json:"rampSeconds,omitempty"`
	Seconds     float64 `json:"seconds"`
	// Copies run at the same time.
	Copies []Copy `json:"copies"`
	// Histograms requests the latencies of each second, and Windows those of each five seconds.
	Histograms bool `json:"histograms,omitempty"`
	Windows    bool `json:"windows,omitempty"`
}

// Copy is one copy of a job. It has a connection of its own, and its own schedule for each direction.
type Copy struct {
	// Target is the path of a file or device, the name of an image, or the prefix of the names of objects.
	Target string `json:"target"`
	// Offset and Size bound the bytes of the target on which the copy works.
	Offset int64 `json:"offset,omitempty"`
	Size   int64 `json:"size"`
	// ObjectBytes is the size of each object, for RADOS.
	ObjectBytes int64 `json:"objectBytes,omitempty"`
	Reads       bool  `json:"reads,omitempty"`
	Writes      bool  `json:"writes,omitempty"`
	Random      bool  `json:"random,omitempty"`
	// Blocks are the sizes of operations, with their weights.
	Blocks []Block `json:"blocks"`
	// IOPS or BytesPerSecond is the rate of each direction, as with fio. With ReadShare, IOPS is the rate of reads and
	// writes together, and ReadShare the share of reads: above 0 and below 1.
	IOPS           float64 `json:"iops,omitempty"`
	ReadShare      float64 `json:"readShare,omitempty"`
	BytesPerSecond float64 `json:"bytesPerSecond,omitempty"`
	Poisson        bool    `json:"poisson,omitempty"`
	Seed           uint32  `json:"seed"`
}

// Block is a size of operations, with its share.
type Block struct {
	Bytes  int64   `json:"bytes"`
	Weight float64 `json:"weight"`
}

// These are the limits of a load.
const (
	// MaxRate limits the operations a second of one client. One thread submits all of them.
	MaxRate = 1e6
	// maxInFlight and minInFlight limit the operations in flight of one client. The limit is enough for a stall
	// of stallSeconds, unless maxInFlight or maxInFlightBytes is lower.
	maxInFlight, minInFlight = 1 << 15, 1 << 8
	maxInFlightBytes         = 1 << 29
	stallSeconds             = 12
)

// Validate returns an error that names the value that is missing or out of range.
func (l *Load) Validate() error {
	switch {
	case !(l.Seconds > 0 && l.RampSeconds >= 0):
		return errors.New("the duration must be above 0, and the ramp must not be below 0")
	case len(l.Copies) == 0:
		return errors.New("the load has no copy of a job")
	case !(l.rate() > 0 && l.rate() <= MaxRate):
		return fmt.Errorf("the client would make %.6g operations a second: the rates of all copies and directions must be above 0 and add up to at most %.6g. Use more clients", l.rate(), MaxRate)
	}
	for i := range l.Copies {
		if err := l.Copies[i].validate(); err != nil {
			return fmt.Errorf("copy %d: %w", i, err)
		}
	}
	return nil
}

func (c *Copy) validate() error {
	switch {
	case c.Target == "" || c.Offset < 0 || !c.Reads && !c.Writes:
		return errors.New("it needs a target and a direction")
	case len(c.Blocks) == 0 || (c.IOPS > 0) == (c.BytesPerSecond > 0):
		return errors.New("it needs block sizes, and either iops or bytesPerSecond")
	case (c.Poisson || c.ReadShare != 0) && c.IOPS == 0:
		return errors.New("poisson and readShare need iops")
	case !c.sharesRate():
		return errors.New("readShare must be above 0 and below 1, and needs reads and writes")
	}
	return c.validateBlocks()
}

// sharesRate reports whether readShare is unset, or a share of reads and writes.
func (c *Copy) sharesRate() bool {
	return c.ReadShare == 0 || c.ReadShare > 0 && c.ReadShare < 1 && c.Reads && c.Writes
}

func (c *Copy) validateBlocks() error {
	for _, b := range c.Blocks {
		largest := c.Size
		if c.ObjectBytes > 0 {
			largest = min(largest, c.ObjectBytes)
		}
		if b.Bytes <= 0 || b.Bytes > largest || !(b.Weight > 0) {
			return fmt.Errorf("blocks of %d bytes do not fit into %d bytes", b.Bytes, largest)
		}
	}
	return nil
}

// MeanBlock returns the mean size of the operations of a copy.
func (c *Copy) MeanBlock() float64 {
	var bytes, weights float64
	for _, b := range c.Blocks {
		bytes, weights = bytes+b.Weight*float64(b.Bytes), weights+b.Weight
	}
	return bytes / weights
}

// rate returns the operations a second of a copy in one direction.
func (c *Copy) rate(write bool) float64 {
	switch {
	case c.ReadShare > 0 && write:
		return c.IOPS * (1 - c.ReadShare)
	case c.ReadShare > 0:
		return c.IOPS * c.ReadShare
	case c.IOPS > 0:
		return c.IOPS
	}
	return c.BytesPerSecond / c.MeanBlock()
}

// directions returns for each direction whether it writes.
func (c *Copy) directions() []bool {
	switch {
	case c.Reads && c.Writes:
		return []bool{false, true}
	case c.Writes:
		return []bool{true}
	}
	return []bool{false}
}

func (l *Load) rate() float64 {
	var sum float64
	for i := range l.Copies {
		for _, write := range l.Copies[i].directions() {
			sum += l.Copies[i].rate(write)
		}
	}
	return sum
}

// LargestBlock returns the size of the largest operation.
func (l *Load) LargestBlock() int64 {
	var largest int64
	for _, c := range l.Copies {
		for _, b := range c.Blocks {
			largest = max(largest, b.Bytes)
		}
	}
	return largest
}

// InFlightLimit returns how many operations should be possible in flight.
func (l *Load) InFlightLimit() int {
	wanted := min(max(l.rate()*stallSeconds, minInFlight), maxInFlight)
	return int(max(16, min(wanted, float64(maxInFlightBytes/l.LargestBlock()))))
}

func (l *Load) ramp() time.Duration { return seconds(l.RampSeconds) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
