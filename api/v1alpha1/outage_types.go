package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Outage takes OSDs down in the middle of a phase, and measures what that costs: how
// long the cluster takes to be whole again after they came back, and what clients get
// before, meanwhile and afterwards. It happens in each run. The OSDs' processes go on:
// the operator marks them down in Ceph, and keeps them down for a while. It degrades all data on
// these OSDs. The administrator has to grant the power, with stopOSDs of the cluster in the
// operator's settings.
//
// +kubebuilder:validation:XValidation:rule="self.backfill == 'Expect' || duration(self.duration) < duration('10m')",message="an outage of 10m and more has Ceph take the OSDs for lost and move their data: make it shorter, or set backfill to Expect if that is what is to be measured"
type Outage struct {
	// phase is the one during which it happens, a fio phase with a rate limit. It has
	// to last, after its ramp, for what happens before, for the outage, for the recovery
	// and for some time after it: a run whose phase ends before the cluster is whole
	// again is no evidence.
	// +required
	Phase PhaseName `json:"phase"`

	// osds are the IDs of the OSDs that are down, all at the same time.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=100000
	OSDs []int32 `json:"osds"`

	// before is how long the phase is measured before they go down.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('1h')",message="must be between 10s and 1h"
	Before metav1.Duration `json:"before,omitzero"`

	// duration is how long they are kept down. It has to be below the time after which
	// Ceph takes them for lost (mon_osd_down_out_interval), unless backfill is Expect.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('20s') && duration(self) <= duration('4h')",message="must be between 20s and 4h"
	Duration metav1.Duration `json:"duration,omitzero"`

	// backfill is Refuse, or Expect for an outage that lasts until Ceph takes the OSDs
	// for lost and moves their data, which is then what is measured.
	// +optional
	// +kubebuilder:default=Refuse
	Backfill BackfillPolicy `json:"backfill,omitempty"`

	// otherPools is how many pools other than the target may have data on these OSDs: that is
	// degraded too, and served more slowly. 0 is for a cluster without other users, or a target
	// with OSDs of its own. Ceph's own pool .mgr does not count.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	OtherPools int32 `json:"otherPools,omitempty"`
}

// BackfillPolicy says what should happen to data with a copy that is gone for long.
// +kubebuilder:validation:Enum=Refuse;Expect
type BackfillPolicy string

// The policies.
const (
	// BackfillRefuse does not begin an outage that lasts until Ceph moves data.
	BackfillRefuse BackfillPolicy = "Refuse"
	// BackfillExpect lets Ceph do so.
	BackfillExpect BackfillPolicy = "Expect"
)
