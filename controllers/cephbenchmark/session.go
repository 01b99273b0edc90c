package cephbenchmark

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/masterkey"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
)

// sessionPrefix begins the names of all sessions.
const sessionPrefix = scratchpool.ImagePrefix

// session is the execution of one run ID: its pods, and the names of everything
// that it makes. It follows from the object alone.
type session struct {
	// name is that of the Job and the Secret, and the first part of the names of
	// images and objects: 19 characters, because rados bench cuts host names after 29. That is
	// so short that a user may find a run ID with the name of another session. So the name
	// proves nothing, and no key follows from it.
	name string
	// uid and runID are whose session it is.
	uid   types.UID
	runID v1alpha1.RunID
	// keyedByName says that an earlier manager has started the session, whose keys followed
	// from its name.
	keyedByName bool
}

// sessionOf returns the session of a benchmark's run ID.
func sessionOf(uid types.UID, runID v1alpha1.RunID) session {
	sum := sha256.Sum256([]byte(string(uid) + "/" + string(runID)))
	return session{name: sessionPrefix + hex.EncodeToString(sum[:5]), uid: uid, runID: runID}
}

func (s session) id() string { return string(s.uid) + "/" + string(s.runID) }

// key is the secret that the manager shares with the session's runners. It is
// derived, so the manager reads no Secret of a benchmark's namespace to have it
// again after a restart.
func (s session) key(master []byte) ([]byte, error) { return s.derive(master, "session") }

// derive is the session's key for one role.
func (s session) derive(master []byte, role string) ([]byte, error) {
	if !s.keyedByName {
		return masterkey.Derive(master, role, string(s.uid), string(s.runID))
	}
	key, err := hkdf.Key(sha256.New, master, nil, "cephtune "+role+" "+s.name, runner.KeyBytes)
	if err != nil {
		return nil, fmt.Errorf("derive the key of %s of session %s: %w", role, s.name, err)
	}
	return key, nil
}

// places says where each client works.
func (s session) places(template v1alpha1.BenchmarkTemplate, cluster settings.Cluster, cephMajor int, datasetBytes int64, block bool) []place.Place {
	common := place.Place{
		CephMajor:    cephMajor,
		CephUser:     cluster.Identities.IO,
		Namespace:    s.name,
		Owner:        s.name,
		Clients:      int(template.Clients.Count),
		DatasetBytes: datasetBytes,
	}
	switch target := template.Target; {
	case target.ScratchPool != nil:
		common.Pool = settings.ScratchPool
		if target.ScratchPool.ErasureCoded != nil {
			common.DataPool = settings.ScratchDataPool
		}
		common.Image = place.ImageOf(target.ScratchPool.Image)
	case target.ExistingPool != nil:
		common.Pool, common.DataPool = string(target.ExistingPool.Name), string(target.ExistingPool.DataPool)
		common.Image = place.ImageOf(target.ExistingPool.Image)
	case block:
		common.Device = devicePath
	case target.PersistentVolumeClaim != nil:
		common.Directory = directoryPath
	}
	common.Image.RolledBack = template.InitialState == v1alpha1.InitialStateRollback
	places := make([]place.Place, common.Clients)
	for i := range places {
		places[i] = common
		places[i].Client = i
	}
	return places
}

// duration is how long one run takes by plan.
func (s *script) duration() time.Duration {
	total := time.Duration(0)
	if s.background != nil {
		total += s.background.ramp
	}
	for _, p := range s.phases {
		timing := p.load.Timing()
		total += s.rest + time.Duration((timing.RampSeconds+timing.MeasuredSeconds)*float64(time.Second))
	}
	return total
}

// deadline is how long the pods of a session may live: four times what the runs
// take by plan, as long as each may wait for a quiet cluster, for PGs that OSDs remove and
// for its data, and what may be needed around them. Each task has a deadline of its own,
// and this one is for a manager that does not come back.
func (s *script) deadline(spec v1alpha1.CephBenchmarkSpec) time.Duration {
	prefill := time.Duration(0)
	for _, p := range s.phases {
		for _, d := range p.load.Datasets(s.places[0]) {
			prefill += prefillTimeout(d.Bytes)
		}
	}
	if s.background != nil {
		for _, d := range s.background.load.Datasets(s.background.place) {
			prefill += prefillTimeout(d.Bytes)
		}
	}
	each := 4*s.duration() + spec.Quiescence.Timeout.Duration + quiescence.RemovalWithin(spec.Quiescence)
	if s.resets() {
		each += tidyTimeout + prefill
	}
	if s.warm {
		each += prefill
	}
	return time.Hour + prefill + time.Duration(spec.Repetitions)*each
}
