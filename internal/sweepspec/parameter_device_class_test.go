package sweepspec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

const onClasses = `{template: {target: {scratchPool: {deviceClass: hdd}}}, parameters: [{name: class, deviceClass: {}, values: [ssd, nvme]}]}`

func TestDeviceClasses(t *testing.T) {
	configurations := `{template: {target: {scratchPool: {deviceClass: hdd}}}, parameters: [{name: class, deviceClass: {}}], configurations: [{name: a, values: {class: ssd}}]}`
	for name, tc := range map[string]struct {
		patch    string
		want     []string
		baseline string
	}{
		"a grid":                 {onClasses, []string{"hdd", "nvme", "ssd"}, "hdd"},
		"configurations":         {configurations, []string{"hdd", "ssd"}, "hdd"},
		"a baseline of its own":  {strings.TrimSuffix(onClasses, "}") + `, baseline: {values: {class: ssd}}}`, []string{"nvme", "ssd"}, "ssd"},
		"one that is not varied": {`{template: {target: {scratchPool: {deviceClass: hdd}}}}`, []string{"hdd"}, ""},
		"none":                   {`{template: {target: {scratchPool: {}}}}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, tc.patch).Spec
			if diff := cmp.Diff(tc.want, DeviceClasses(spec)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			baseline, err := Baseline(spec, nil, nil)
			if err != nil || tc.baseline != "" && string(baseline[0].Value) != tc.baseline {
				t.Errorf("baseline %v, %v, want %s", baseline, err, tc.baseline)
			}
		})
	}
}

// A device class changes no existing object, and its patch has nothing for Git.
func TestADeviceClassIsNoSetting(t *testing.T) {
	spec := &specOf(t, onClasses).Spec
	values := map[string]cephvalue.Value{"class": cephvalue.Of("ssd")}
	if template, err := Template(spec, values, 1); err != nil || template.Target.ScratchPool.DeviceClass != "ssd" {
		t.Errorf("the pool is %+v, %v, want it on ssd", template.Target.ScratchPool, err)
	}
	if changes := Changes(spec, values); len(changes) > 0 {
		t.Errorf("it changes %v", changes)
	}
	if patches, err := Patches(spec, values, nil, ""); err != nil || len(patches) > 0 {
		t.Errorf("patches %v, %v", patches, err)
	}
	for value, fine := range map[string]bool{"ssd": true, "nvme-1": true, "Unset": false, "a,b": false, "": false} {
		if want := kindOf(spec.Parameters[0]).wanted(spec, plannerValue(v1alpha1.ParameterValue(value))); (want == "") != fine {
			t.Errorf("%q: it wants %q", value, want)
		}
	}
	spec.Template.Target.ScratchPool.DeviceClass = ""
	if _, err := Baseline(spec, nil, nil); err == nil || !strings.Contains(err.Error(), "set target.scratchPool.deviceClass") {
		t.Errorf("without a baseline: %v", err)
	}
}
