package clientview

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The scheduler writes events without LastTimestamp.
func TestTimeOfAnEvent(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	for name, c := range map[string]struct {
		event corev1.Event
		want  time.Time
	}{
		"of the kubelet":         {corev1.Event{LastTimestamp: metav1.NewTime(late)}, late},
		"of the scheduler":       {corev1.Event{EventTime: metav1.NewMicroTime(early)}, early},
		"of the scheduler again": {corev1.Event{EventTime: metav1.NewMicroTime(early), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(late)}}, late},
	} {
		if got := timeOf(c.event); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
