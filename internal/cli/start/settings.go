package start

import (
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// setting is one argument: the name of a setting, and its values.
type setting struct {
	name      string
	parameter v1alpha1.Parameter // without name and values
	values    []v1alpha1.ParameterValue
}

// field returns the field of the load that the setting varies; "" if it varies something else.
func (s setting) field() v1alpha1.WorkloadField {
	if s.parameter.Workload == nil {
		return ""
	}
	return s.parameter.Workload.Field
}

// settings reads the arguments. The list may be empty if othersVary says that flags vary something.
func settings(args []string, engine, mask string, othersVary bool) ([]setting, error) {
	if len(args) == 0 && !othersVary {
		return nil, exit.UsageErrorf("want a setting and its values, such as osd_mclock_profile=balanced,high_client_ops")
	}
	var all []setting
	masked := false
	for _, arg := range args {
		s, err := settingOf(arg, engine)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other setting) bool { return other.name == s.name }) {
			return nil, exit.UsageErrorf("%s is named twice: put all its values into one argument", s.name)
		}
		if s.parameter.Config != nil {
			s.parameter.Config.Mask, masked = mask, true
		}
		all = append(all, s)
	}
	if mask != "" && !masked {
		return nil, exit.UsageErrorf("--mask is for options of OSDs, but none of the settings is one")
	}
	return all, nil
}

func settingOf(arg, engine string) (setting, error) {
	name, list, found := strings.Cut(arg, "=")
	if !found || name == "" || list == "" {
		return setting{}, exit.UsageErrorf("%q: want a setting and its values, such as pg_num=64,128", arg)
	}
	s := setting{name: name}
	field, ofLoad := workload(name, engine)
	switch plain, isPlain := sweepspec.Plain(name); {
	case ofLoad && field == "":
		return setting{}, exit.UsageErrorf("%s: --engine %s does not have it", name, engine)
	case ofLoad:
		s.name, s.parameter.Workload = string(field), &v1alpha1.WorkloadParameter{Field: field}
	case plain.StorageClass != nil, words.Flag(strings.ToLower(name)) == "storage-class":
		return setting{}, exit.UsageErrorf("StorageClasses are compared with --storage-class %s", list)
	case plain.OSDCount != nil, plain.DeviceClass != nil, name == "osd_count", name == "device_class":
		return setting{}, exit.UsageErrorf("flags cannot describe %s: write a file, starting from --dry-run -o yaml", name)
	case sweepspec.IsOSDOption(name):
		s.parameter.Config = &v1alpha1.ConfigParameter{Option: v1alpha1.OptionName(name)}
	case isPlain:
		s.name, s.parameter = string(plain.Name), plain
	case !slices.Contains(sweepspec.PoolOptions(), name):
		return setting{}, exit.UsageErrorf("%s is not an option of OSDs (osd_… or bluestore_…), of a pool (such as pg_num), of the load (such as depth), or redundancy; vary others with a file", name)
	default:
		s.parameter.PoolOption = &v1alpha1.PoolOptionParameter{Option: v1alpha1.OptionName(name)}
	}
	for value := range strings.SplitSeq(list, ",") {
		read, err := s.value(value)
		if err != nil {
			return setting{}, err
		}
		if slices.Contains(s.values, read) {
			return setting{}, exit.UsageErrorf("%s: the value %s is named twice", name, value)
		}
		s.values = append(s.values, read)
	}
	return s, nil
}

func (s setting) value(text string) (v1alpha1.ParameterValue, error) {
	switch {
	case text == "":
		return "", exit.UsageErrorf("%s has an empty value: write Unset for an option that is not set", s.name)
	case strings.EqualFold(text, string(v1alpha1.Unset)) && (s.parameter.Config != nil || s.parameter.PoolOption != nil):
		return v1alpha1.Unset, nil
	case s.field() == v1alpha1.WorkloadBlockSize || s.field() == v1alpha1.WorkloadIOSize:
		size, err := words.BlockSize(text)
		if err != nil {
			return "", exit.UsageErrorf("%s=%s: %w", s.name, text, err)
		}
		text = size.String()
	}
	return v1alpha1.ParameterValue(text), nil
}

// variesPool reports whether any of the arguments names an option of a pool, or redundancy.
func variesPool(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		plain, _ := sweepspec.Plain(name)
		return plain.Redundancy != nil || slices.Contains(sweepspec.PoolOptions(), name)
	})
}

// workload returns the field of the load that a word names; "" if the engine has no such field. It
// returns false if the word names no field of the load.
func workload(word, engine string) (v1alpha1.WorkloadField, bool) {
	fields := map[string]map[string]v1alpha1.WorkloadField{
		"depth":      {"rados": v1alpha1.WorkloadConcurrency, "rbd": v1alpha1.WorkloadIOThreads, "fio": v1alpha1.WorkloadIODepth},
		"block-size": {"rados": v1alpha1.WorkloadBlockSize, "rbd": v1alpha1.WorkloadIOSize, "fio": v1alpha1.WorkloadBlockSize},
		"jobs":       {"fio": v1alpha1.WorkloadNumJobs},
		"rate-iops":  {"fio": v1alpha1.WorkloadRateIOPS},
		"clients":    {"rados": v1alpha1.WorkloadClients, "rbd": v1alpha1.WorkloadClients, "fio": v1alpha1.WorkloadClients},
	}
	if byEngine, known := fields[words.Flag(strings.ToLower(word))]; known {
		return byEngine[engine], true
	}
	return "", false
}

// inPhase returns the setting as a parameter of the API. A field of the load is that of the phase, except for the number
// of clients.
func (s setting) inPhase(phase v1alpha1.PhaseName) v1alpha1.Parameter {
	p := *s.parameter.DeepCopy()
	p.Name, p.Values = v1alpha1.ParameterName(s.name), s.values
	if p.Workload != nil && p.Workload.Field != v1alpha1.WorkloadClients {
		p.Workload.Phase = phase
	}
	return p
}

// baseline reads the values of the baseline.
func baseline(given []string, varied []setting, engine string) (map[string]v1alpha1.ParameterValue, error) {
	values := map[string]v1alpha1.ParameterValue{}
	if len(given) > 0 && len(varied) == 0 {
		return nil, exit.UsageErrorf("--baseline is for varied settings: of several StorageClasses, the first is the baseline")
	}
	for _, pair := range given {
		name, text, found := strings.Cut(pair, "=")
		field, _ := workload(name, engine)
		i := slices.IndexFunc(varied, func(s setting) bool { return s.name == name || s.field() != "" && s.field() == field })
		if !found || i < 0 {
			return nil, exit.UsageErrorf("--baseline %q: want a varied setting and its value, such as %s=%s", pair, varied[0].name, varied[0].values[0])
		}
		value, err := varied[i].value(text)
		if err != nil {
			return nil, err
		}
		values[varied[i].name] = value
	}
	return values, nil
}
