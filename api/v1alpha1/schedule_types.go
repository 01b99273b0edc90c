package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Rules of Schedule.
//
// +kubebuilder:validation:XValidation:message="cron must have five fields (minute, hour, day of the month, month and day
//    of the week) with numbers in range, such as `0 2 * * *`, or be @hourly, @daily, @weekly, @monthly or @yearly",
//   rule="self.cron.matches('^@(hourly|daily|weekly|monthly|yearly)$') ||
//      (self.cron.split(' ').size() == 5 &&
//        self.cron.split(' ')[0].matches($cronField.replace('N', '[0-5]?[0-9]')) &&
//        self.cron.split(' ')[1].matches($cronField.replace('N', '([01]?[0-9]|2[0-3])')) &&
//        self.cron.split(' ')[2].matches($cronField.replace('N', '(0?[1-9]|[12][0-9]|3[01])')) &&
//        self.cron.split(' ')[3].matches($cronField.replace('N', '(0?[1-9]|1[0-2]|[A-Za-z]{3})')) &&
//        self.cron.split(' ')[4].matches($cronField.replace('N', '([0-6]|[A-Za-z]{3})')))"
// +kubebuilder:validation:XValidation:message="timeZone must be a name of the IANA database, such as Europe/Berlin or
//    Etc/UTC",
//   rule="self.timeZone != 'Local' && timestamp('2026-01-01T00:00:00Z').getFullYear(self.timeZone) > 0"

// Schedule says when runs are due. Each due time begins an execution, whose run ID is the due time in UTC, such as
// `2026-03-14T0100Z`. A due time that passes while an execution is in progress is skipped, so that executions
// neither overlap nor pile up. If the operator was not running at several due times, only the latest counts.
type Schedule struct {
	// cron is when runs are due, as in a Kubernetes CronJob: minute, hour, day of the month, month and day of the
	// week, such as `0 2 * * *`, or @hourly, @daily, @weekly, @monthly or @yearly. When the clocks change, a
	// time that they skip is not due on that day, and a time that they show twice is due twice.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Cron string `json:"cron"`

	// timeZone is the time zone of cron, by its name in the IANA database.
	// +optional
	// +kubebuilder:default="Etc/UTC"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
	TimeZone string `json:"timeZone,omitempty"`

	// startingDeadlineSeconds is how late an execution may begin, for example because the operator was not running
	// when it was due. After that, the due time is skipped. If unset, there is no limit. Waiting for the lock of
	// the Ceph cluster does not count, because the execution has begun then.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=31536000
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
}

// SkipReason says why no execution began at a due time.
// +kubebuilder:validation:Enum=StillRunning;TooLate;Superseded
type SkipReason string

// The reasons.
const (
	// SkipStillRunning means that the execution of an earlier due time was in progress. It counts from when it
	// begins to wait for the lock, until it ends, and also while it is suspended.
	SkipStillRunning SkipReason = "StillRunning"
	// SkipTooLate means that startingDeadlineSeconds had passed when the execution could have begun.
	SkipTooLate SkipReason = "TooLate"
	// SkipSuperseded means that a later due time had passed when the execution could have begun.
	SkipSuperseded SkipReason = "Superseded"
)

// ScheduleStatus says what spec.schedule has requested.
type ScheduleStatus struct {
	// nextTime is when the next execution is due. It is in the past if the execution cannot begin yet. It is absent while
	// spec.suspend is true.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`

	// lastTime is the due time of the latest execution that has begun.
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`

	// skippedTime is the latest due time at which no execution began, and skippedReason says why. Times while
	// spec.suspend is true are not due.
	// +optional
	SkippedTime *metav1.Time `json:"skippedTime,omitempty"`

	// skippedReason says why no execution began at skippedTime.
	// +optional
	SkippedReason SkipReason `json:"skippedReason,omitempty"`

	// generation is the object's metadata.generation when the latest execution began. If metadata.generation is higher
	// now, the spec was edited since, and may differ from what was measured.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// since is the time after which times are due: the latest due time, or when the schedule was last changed or
	// resumed.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
