package tuning

import (
	"errors"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

func TestMessageNamesWhatIsGone(t *testing.T) {
	for want, setting := range map[string]Setting{
		"pg_num of pool p was 32, and the pool no longer exists":  {Kind: KindPoolOption, Pool: "p", Option: "pg_num"},
		"flag noup of osd.3 was 32, and the OSD no longer exists": NoUp(3),
	} {
		e := Entry{Setting: setting, Original: cephvalue.Of("32"), State: Gone}
		if got := e.Message(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A journal treats a missing OSD like a missing pool.
func TestMissingOSDIsGone(t *testing.T) {
	if !errors.Is(errOSDGone, ErrPoolGone) || errOSDGone.Error() != "there is no such OSD" {
		t.Errorf("%v", errOSDGone)
	}
}
