package settings

import (
	"cmp"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	defaultObserver     = "cephtune-observer"
	defaultIO           = "cephtune-io"
	defaultOSDStopper   = "cephtune-osd-stopper"
	defaultPullPolicy   = "IfNotPresent"
	defaultStartTimeout = 5 * time.Minute
)

// Load reads the operator config at path, sets defaults, and validates all fields except the tolerations of
// pods and the allowed values of options. A validation error names each invalid field and, except for
// duplicates, says what to write there, or that it has to be removed.
func Load(path string) (*Settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the operator config: %w", err)
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("operator config %s: %w", path, err)
	}
	return s, nil
}

// Parse reads the text of an operator config.
func Parse(text []byte) (*Settings, error) {
	s := &Settings{}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		return nil, err
	}
	s.fill()
	if err := s.validate().ToAggregate(); err != nil {
		return nil, err
	}
	return s, nil
}

// fill sets the defaults that the comments of the fields describe.
func (s *Settings) fill() {
	for i := range s.Clusters {
		ids := &s.Clusters[i].Identities
		if ids.Tuner != "" && s.Clusters[i].Options == nil {
			s.Clusters[i].Options = DefaultOptions()
		}
		if s.Clusters[i].StopOSDs {
			ids.OSDStopper = cmp.Or(ids.OSDStopper, defaultOSDStopper)
		}
		for n := range s.Clusters[i].StorageClasses {
			class := &s.Clusters[i].StorageClasses[n]
			class.MaxTotal = cmp.Or(class.MaxTotal, new(DefaultMaxTotal()))
		}
		ids.Observer = cmp.Or(ids.Observer, defaultObserver)
		ids.IO = cmp.Or(ids.IO, defaultIO)
	}
	s.Images.PullPolicy = cmp.Or(s.Images.PullPolicy, defaultPullPolicy)
	s.Pods.StartTimeout = cmp.Or(s.Pods.StartTimeout, metav1.Duration{Duration: defaultStartTimeout})
}
