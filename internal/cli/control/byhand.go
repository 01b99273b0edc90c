package control

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/tuning"
)

// byHandPage says how to restore settings of Ceph without the operator.
const byHandPage = "https://github.com/cephtune/cephtune/blob/main/docs/safety.md#by-hand"

// byHand returns the ceph command that restores a setting. If this version does not know the kind of
// setting, byHand refers to byHandPage.
func byHand(e tuning.Entry) string {
	s, original := e.Setting, e.Original
	switch s.Kind {
	case tuning.KindBalancer:
		if original.Text == "false" {
			return "ceph balancer off"
		}
		return "ceph balancer on"
	case tuning.KindScrubFlag:
		verb := "unset"
		if original.Set {
			verb = "set"
		}
		return fmt.Sprintf("ceph osd %s %s", verb, s.Option)
	case tuning.KindNoUp:
		return fmt.Sprintf("ceph osd unset-group %s osd.%d", s.Option, s.OSD)
	case tuning.KindAutoscaler:
		return fmt.Sprintf("ceph osd pool set %s pg_autoscale_mode %s", quoted(s.Pool), quoted(original.Text))
	case tuning.KindPoolOption:
		return fmt.Sprintf("ceph osd pool set %s %s %s", quoted(s.Pool), s.Option, quoted(poolValue(s.Option, original)))
	case tuning.KindConfig:
		who := "osd"
		if s.Mask != "" {
			who += "/" + s.Mask
		}
		if !original.Set {
			return fmt.Sprintf("ceph config rm %s %s", quoted(who), s.Option)
		}
		return fmt.Sprintf("ceph config set %s %s %s", quoted(who), s.Option, quoted(original.Text))
	}
	return "see " + byHandPage
}

// poolValue returns the argument of `osd pool set` that restores an option of a pool. For an option
// that was unset, it returns the value that unsets the option, if Ceph has one.
func poolValue(option string, original cephvalue.Value) string {
	if value, possible := ceph.UnsetBy(option); !original.Set && possible {
		return value
	}
	return original.Text
}

// quoted returns a word quoted for a shell.
func quoted(word string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_./:@%+=-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Open is the JSON form of an open journal: one with settings that are still to be restored.
type Open struct {
	FSID    string        `json:"fsid"`
	Sweep   tuning.Sweep  `json:"sweep"`
	Entries []OpenSetting `json:"entries"`
}

// OpenSetting is the JSON form of an entry of an open journal.
type OpenSetting struct {
	Setting  string            `json:"setting"`
	Original cephvalue.Value   `json:"original"`
	Applied  []cephvalue.Value `json:"ours"`
	ByHand   string            `json:"byHand"`
}

// openJournals returns the JSON form of open journals.
func openJournals(found []*tuning.Journal) []Open {
	all := []Open{}
	for _, j := range found {
		open := Open{FSID: j.FSID, Sweep: j.Sweep}
		for _, e := range j.ToRestore() {
			entry := OpenSetting{Setting: e.Setting.String(), Original: e.Original, ByHand: byHand(e)}
			for _, v := range e.Applied {
				entry.Applied = append(entry.Applied, v.Intended)
			}
			open.Entries = append(open.Entries, entry)
		}
		all = append(all, open)
	}
	return all
}
