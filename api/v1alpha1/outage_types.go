package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Rules of Outage.
//
// +kubebuilder:validation:XValidation:message="by default, Ceph marks OSDs out after 10m and moves their data: make
//    the outage shorter, or set backfill to Expect to measure that",
//   rule="self.backfill == 'Expect' || duration(self.duration) < duration('10m')"

// Outage takes OSDs down in the middle of a phase, in each run. It measures how long the placement groups
// take to be clean again afterwards, and the latencies of clients before, during and after the outage. The
// OSDs' processes keep running: the operator marks the OSDs down in Ceph and keeps them down for a while.
// That degrades all data on these OSDs. The administrator has to grant the power for outages, with stopOSDs
// of the cluster in the operator config.
type Outage struct {
	// phase is the phase with the outage: a fio phase with a rate limit. After its ramp, it has to
	// last for the time before the outage, the outage, the recovery and some time after that. A run
	// is invalid if its phase ends before all placement groups are clean again.
	// +required
	Phase PhaseName `json:"phase"`

	// osds are the IDs of the OSDs that go down, all at the same time.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=100000
	OSDs []int32 `json:"osds"`

	// before is how long the phase is measured before the OSDs go down.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('1h')",message="must be between 10s and 1h"
	Before metav1.Duration `json:"before,omitzero"`

	// duration is how long the OSDs are kept down. It must be below 10m, and at least 1m shorter than the
	// time after which Ceph marks them out (mon_osd_down_out_interval). If backfill is Expect, duration
	// must instead be more than 1m longer than that time.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('20s') && duration(self) <= duration('4h')",message="must be between 20s and 4h"
	Duration metav1.Duration `json:"duration,omitzero"`

	// backfill is Refuse or Expect. Expect is for an outage that lasts until Ceph marks the OSDs
	// out and moves their data, so that the phase measures that move.
	// +optional
	// +kubebuilder:default=Refuse
	Backfill BackfillPolicy `json:"backfill,omitempty"`

	// otherPools is how many pools besides the target may have data on these OSDs. The outage degrades that
	// data, too, and makes access to it slower. Use 0 for a cluster without other users, or for a target
	// that has no OSDs in common with other pools. Ceph's own pool .mgr does not count.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	OtherPools int32 `json:"otherPools,omitempty"`
}

// BackfillPolicy says whether an outage lasts until Ceph moves data.
// +kubebuilder:validation:Enum=Refuse;Expect
type BackfillPolicy string

// The policies.
const (
	// BackfillRefuse refuses an outage that lasts until Ceph moves data.
	BackfillRefuse BackfillPolicy = "Refuse"
	// BackfillExpect refuses an outage that is too short for Ceph to move data.
	BackfillExpect BackfillPolicy = "Expect"
)
