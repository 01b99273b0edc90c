package clientjob

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Input is the input that an execution's Job stores in annotations. It stays the same even if the
// benchmark or the cluster changes later.
type Input struct {
	// Spec is the spec from which the Job is made. MakeJob sets it.
	Spec v1alpha1.CephBenchmarkSpec
	// DatasetBytes is how much each client prefills, and RoomBytes how much it may write in
	// addition.
	DatasetBytes, RoomBytes int64
	// OSDs are the OSDs to which the scratch pool is confined; empty for all.
	OSDs []int
}

// InputOf reads the spec and the sizes from a Job. [OSDsOf] reads the rest.
func InputOf(job *batchv1.Job) (Input, error) {
	var in Input
	in.DatasetBytes, _ = strconv.ParseInt(job.Annotations[AnnotationDataset], 10, 64)
	in.RoomBytes, _ = strconv.ParseInt(job.Annotations[AnnotationRoom], 10, 64)
	if err := json.Unmarshal([]byte(job.Annotations[AnnotationSpec]), &in.Spec); err != nil {
		return Input{}, fmt.Errorf("read the spec that Job %s was made for: %w", job.Name, err)
	}
	return in, nil
}

func (in Input) annotations() (map[string]string, error) {
	spec, err := json.Marshal(in.Spec)
	if err != nil {
		return nil, fmt.Errorf("write the spec: %w", err)
	}
	all := map[string]string{
		AnnotationSpec:    string(spec),
		AnnotationDataset: strconv.FormatInt(in.DatasetBytes, 10),
		AnnotationRoom:    strconv.FormatInt(in.RoomBytes, 10),
	}
	if len(in.OSDs) > 0 {
		all[AnnotationOSDs] = OSDsText(in.OSDs)
	}
	return all, nil
}

// OSDsOf returns the OSDs to which the scratch pool of a Job is confined; empty for all.
func OSDsOf(job *batchv1.Job) []int {
	var osds []int
	for word := range strings.SplitSeq(job.Annotations[AnnotationOSDs], ",") {
		if id, err := strconv.Atoi(word); err == nil {
			osds = append(osds, id)
		}
	}
	return osds
}

// OSDsText returns the IDs of OSDs, separated by commas.
func OSDsText(osds []int) string {
	var words []string
	for _, id := range osds {
		words = append(words, strconv.Itoa(id))
	}
	return strings.Join(words, ",")
}
