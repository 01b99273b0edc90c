package ceph

import (
	"context"
	"time"
)

// wireFence is a Fence in a request. It carries both the deadline and the time left, and the
// earlier end counts. The deadline guards against a request that was delayed on its way: both
// processes share the clock of one machine. The time left guards against a clock that is set
// back meanwhile.
type wireFence struct {
	FSID                  string `json:"fsid"`
	Epoch                 int64  `json:"epoch"`
	UntilUnixMilliseconds int64  `json:"untilUnixMilliseconds"`
	ValidForMilliseconds  int64  `json:"validForMilliseconds"`
	Restores              bool   `json:"restores,omitempty"`
}

func (f Fence) wire() wireFence {
	return wireFence{
		FSID: f.FSID, Epoch: f.Epoch,
		UntilUnixMilliseconds: f.Until.UnixMilli(), ValidForMilliseconds: time.Until(f.Until).Milliseconds(),
		Restores: f.Restores,
	}
}

func (f wireFence) fence(received time.Time) Fence {
	until := received.Add(time.Duration(f.ValidForMilliseconds) * time.Millisecond)
	if at := time.UnixMilli(f.UntilUnixMilliseconds); at.Before(until) {
		until = at
	}
	return Fence{FSID: f.FSID, Epoch: f.Epoch, Until: until, Restores: f.Restores}
}

type (
	poolOptionArgs struct {
		Pool   string `json:"pool"`
		Option string `json:"option"`
		Value  string `json:"value,omitempty"`
	}
	configArgs struct {
		Who    ConfigWho `json:"who"`
		Option string    `json:"option"`
		Value  string    `json:"value,omitempty"`
	}
	placeArgs struct {
		Pool string        `json:"pool"`
		PGs  []PGPlacement `json:"pgs"`
	}
	switchArgs struct {
		Flag string `json:"flag,omitempty"`
		On   bool   `json:"on"`
	}
	noUpArgs struct {
		OSD int  `json:"osd"`
		On  bool `json:"on"`
	}
)

// changingVerbs returns the verbs of a Tuner.
func changingVerbs() map[string]verb {
	return map[string]verb{
		"setPoolOption": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a poolOptionArgs) error {
			return to.SetPoolOption(ctx, at, f, a.Pool, a.Option, a.Value)
		}),
		"unsetPoolOption": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a poolOptionArgs) error {
			return to.UnsetPoolOption(ctx, at, f, a.Pool, a.Option)
		}),
		"setConfig": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a configArgs) error {
			return to.SetConfig(ctx, at, f, a.Who, a.Option, a.Value)
		}),
		"removeConfig": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a configArgs) error {
			return to.RemoveConfig(ctx, at, f, a.Who, a.Option)
		}),
		"setBalancer": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a switchArgs) error {
			return to.SetBalancer(ctx, at, f, a.On)
		}),
		"setFlag": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a switchArgs) error {
			return to.SetFlag(ctx, at, f, a.Flag, a.On)
		}),
		"placePGs": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a placeArgs) error {
			return to.PlacePGs(ctx, at, f, a.Pool, a.PGs)
		}),
		"setNoUp": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a noUpArgs) error {
			return to.SetNoUp(ctx, at, f, a.OSD, a.On)
		}),
		"markOSDsDown": change(func(ctx context.Context, to Tuner, at Connection, f Fence, a osdsArgs) error {
			return to.MarkOSDsDown(ctx, at, f, a.OSDs)
		}),
	}
}

// change returns a verb of a Tuner.
func change[A any](do func(context.Context, Tuner, Connection, Fence, A) error) verb {
	return func(ctx context.Context, to Client, r request) (any, error) {
		tuner, is := to.(Tuner)
		if !is {
			return nil, &InvalidError{"this ceph sidecar may not change settings"}
		}
		if r.Fence == nil {
			return nil, &InvalidError{"a change needs a fence"}
		}
		args, err := arguments[A](r)
		if err != nil {
			return nil, err
		}
		fence := r.Fence.fence(r.received)
		if err := fence.inTime(time.Now()); err != nil {
			return nil, err
		}
		return nothing{}, do(ctx, tuner, r.Connection, fence, args)
	}
}

var _ Tuner = (*Sidecar)(nil)

// changed calls a verb of a Tuner. The call ends at the deadline of the fence.
func (s *Sidecar) changed(ctx context.Context, verb string, at Connection, fence Fence, args any) error {
	if err := fence.valid(); err != nil {
		return err
	}
	if err := fence.inTime(time.Now()); err != nil {
		return err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, end := changing(ctx, fence)
	defer end()
	wire := fence.wire()
	return s.exchange(ctx, verb, request{Connection: at, Fence: &wire}, args, &nothing{})
}

// SetPoolOption implements Tuner.
func (s *Sidecar) SetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option, value string) error {
	return s.changed(ctx, "setPoolOption", at, fence, poolOptionArgs{Pool: pool, Option: option, Value: value})
}

// UnsetPoolOption implements Tuner.
func (s *Sidecar) UnsetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option string) error {
	return s.changed(ctx, "unsetPoolOption", at, fence, poolOptionArgs{Pool: pool, Option: option})
}

// SetConfig implements Tuner.
func (s *Sidecar) SetConfig(ctx context.Context, at Connection, fence Fence, who ConfigWho, option, value string) error {
	return s.changed(ctx, "setConfig", at, fence, configArgs{Who: who, Option: option, Value: value})
}

// RemoveConfig implements Tuner.
func (s *Sidecar) RemoveConfig(ctx context.Context, at Connection, fence Fence, who ConfigWho, option string) error {
	return s.changed(ctx, "removeConfig", at, fence, configArgs{Who: who, Option: option})
}

// SetBalancer implements Tuner.
func (s *Sidecar) SetBalancer(ctx context.Context, at Connection, fence Fence, on bool) error {
	return s.changed(ctx, "setBalancer", at, fence, switchArgs{On: on})
}

// SetFlag implements Tuner.
func (s *Sidecar) SetFlag(ctx context.Context, at Connection, fence Fence, flag string, on bool) error {
	return s.changed(ctx, "setFlag", at, fence, switchArgs{Flag: flag, On: on})
}

// PlacePGs implements Tuner.
func (s *Sidecar) PlacePGs(ctx context.Context, at Connection, fence Fence, pool string, pgs []PGPlacement) error {
	return s.changed(ctx, "placePGs", at, fence, placeArgs{Pool: pool, PGs: pgs})
}

// SetNoUp implements Tuner.
func (s *Sidecar) SetNoUp(ctx context.Context, at Connection, fence Fence, osd int, on bool) error {
	return s.changed(ctx, "setNoUp", at, fence, noUpArgs{OSD: osd, On: on})
}

// MarkOSDsDown implements Tuner.
func (s *Sidecar) MarkOSDsDown(ctx context.Context, at Connection, fence Fence, osds []int) error {
	return s.changed(ctx, "markOSDsDown", at, fence, osdsArgs{OSDs: osds})
}
