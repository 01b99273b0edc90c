package rook

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

// VerifyPools compares the wanted scratch pools of all targets with the pools in Ceph, and returns each difference as a
// sentence, in a fixed order. A number of PGs that is still changing counts as a difference. VerifyPools
// compares values by meaning, because Ceph stores "8K" as 8192, and shows a flag with the value "1" as set.
// It does not compare failure domain and device class.
func VerifyPools(want []v1alpha1.ScratchPool, pools []ceph.Pool) []string {
	var differences []string
	for target, spec := range want {
		differences = append(differences, VerifyPool(target, spec, pools)...)
	}
	return differences
}

// VerifyPool compares the wanted scratch pool of one target with the pools in Ceph, as [VerifyPools] does.
func VerifyPool(target int, want v1alpha1.ScratchPool, pools []ceph.Pool) []string {
	var differences []string
	for _, p := range settings.CephPools(target, want) {
		differences = append(differences, verifyOne(p, pools)...)
	}
	return differences
}

func verifyOne(want settings.CephPool, pools []ceph.Pool) []string {
	name, kind, params := want.Name, "replicated", wantedParameters(want.Parameters)
	if want.DataChunks > 0 {
		kind = "erasure"
	}
	pool := ceph.PoolNamed(pools, name)
	if pool == nil {
		return []string{fmt.Sprintf("Ceph has no pool %s", name)}
	}
	var differences []string
	differ := func(format string, args ...any) {
		differences = append(differences, "pool "+name+" "+fmt.Sprintf(format, args...))
	}
	if pool.Type != kind {
		differ("is %s, not %s", pool.Type, kind)
	}
	if pool.Size != want.Size {
		differ("has size %d, not %d", pool.Size, want.Size)
	}
	if !settledPGs(*pool) {
		differ("is changing its number of PGs: pg_num is %d of %d, pgp_num %d of %d",
			pool.PGNum, pool.PGNumTarget, pool.PGPlacementNum, pool.PGPlacementTarget)
	}
	for _, param := range slices.Sorted(maps.Keys(params)) {
		got, shown := poolParameter(*pool, param)
		switch wanted := params[param]; {
		case !shown && !sameAsUnset(wanted):
			differ("does not have %s set, which should be %s: Ceph refused it, or does not show it", param, wanted)
		case shown && !sameValue(wanted, got):
			differ("has %s %s, not %s", param, got, wanted)
		}
	}
	return differences
}

// Overtaken reports whether a scratch pool that Rook calls Ready has settled at the wrong number of PGs,
// with its autoscaler off. Rook creates a pool first and then sets its options, one by one. In between, the
// autoscaler, which runs once a minute, may change the number of PGs. Rook corrects that number only
// when it reconciles the pool for another reason, so the pool has to be created again.
func Overtaken(want []v1alpha1.ScratchPool, pools []ceph.Pool) bool {
	for target, spec := range want {
		if slices.ContainsFunc(settings.CephPools(target, spec), func(p settings.CephPool) bool { return overtaken(p, pools) }) {
			return true
		}
	}
	return false
}

func overtaken(want settings.CephPool, pools []ceph.Pool) bool {
	pool := ceph.PoolNamed(pools, want.Name)
	wanted, given := wantedParameters(want.Parameters)[paramPGNum]
	if pool == nil || !given {
		return false
	}
	return pool.AutoscaleMode == autoscalerOff && settledPGs(*pool) && !sameValue(wanted, strconv.Itoa(pool.PGNum))
}

// settledPGs reports whether a pool's five PG numbers agree. Ceph changes them one after
// another.
func settledPGs(p ceph.Pool) bool {
	for _, n := range []int{p.PGNumTarget, p.PGNumPending, p.PGPlacementNum, p.PGPlacementTarget} {
		if n != p.PGNum {
			return false
		}
	}
	return true
}

// poolParameter returns a pool's value of a parameter, by its name in `osd pool set`.
func poolParameter(p ceph.Pool, param string) (string, bool) {
	switch param {
	case paramPGNum:
		return strconv.Itoa(p.PGNum), true
	case paramAutoscaleMode:
		return p.AutoscaleMode, true
	case "allow_ec_overwrites", "allow_ec_optimizations":
		return strconv.FormatBool(slices.Contains(p.Flags, strings.TrimPrefix(param, "allow_"))), true
	}
	if value, set := p.Options[param]; set {
		return value, true
	}
	if slices.Contains(p.Flags, param) {
		return "true", true
	}
	return "", false
}

// sameAsUnset reports whether a value unsets an option or flag, so that Ceph then shows
// nothing.
func sameAsUnset(value string) bool {
	if set, ok := truth(value); ok {
		return !set
	}
	number, ok := parseNumber(value, 1024)
	return value == "unset" || ok && number == 0
}

// sameValue reports whether two texts mean the same. It compares booleans and numbers by
// value. A unit may be decimal or binary, because Ceph reads it either way depending on the
// option.
func sameValue(want, got string) bool {
	if strings.EqualFold(want, got) {
		return true
	}
	wantTruth, isTruth := truth(want)
	gotTruth, wasTruth := truth(got)
	if isTruth && wasTruth {
		return wantTruth == gotTruth
	}
	number, ok := parseNumber(got, 1024)
	if !ok {
		return false
	}
	for _, base := range []float64{1000, 1024} {
		if wanted, ok := parseNumber(want, base); ok && math.Abs(wanted-number) <= 1e-6*math.Abs(number) {
			return true
		}
	}
	return false
}

func truth(value string) (set, ok bool) {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	}
	return false, false
}

// parseNumber parses a number with an optional unit from K to E. Units with a trailing i have base 1024;
// other units have the given base.
func parseNumber(text string, base float64) (float64, bool) {
	text = strings.TrimSuffix(text, "B")
	if short, ok := strings.CutSuffix(text, "i"); ok {
		text, base = short, 1024
	}
	power := 0
	if last := len(text) - 1; last >= 0 && strings.ContainsRune("kKMGTPE", rune(text[last])) {
		power = strings.Index("KMGTPE", strings.ToUpper(text[last:])) + 1
		text = text[:last]
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return 0, false
	}
	return number * math.Pow(base, float64(power)), true
}
