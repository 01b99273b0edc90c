package ceph

import (
	"reflect"
	"strings"
	"testing"
)

// Each method has one row, so that Sidecar cannot send a verb that Handler does not know. Only the
// methods of Tuner change settings.
func TestEachMethodIsInTheTableOfVerbs(t *testing.T) {
	table := map[string]permission{}
	for name, v := range verbs() {
		table[strings.ToLower(name)] = v.about().permission
	}
	methods := 0
	for _, side := range []reflect.Type{reflect.TypeFor[Client](), reflect.TypeFor[Tuner]()} {
		methods += side.NumMethod()
		for method := range side.Methods() {
			may, known := table[strings.ToLower(method.Name)]
			if !known {
				t.Errorf("%s has no row", method.Name)
			}
			if (may == mayChange) != (side == reflect.TypeFor[Tuner]()) {
				t.Errorf("%s of %s may %s", method.Name, side.Name(), may)
			}
		}
	}
	if len(table) != methods {
		t.Errorf("the table has %d verbs for %d methods", len(table), methods)
	}
}

func TestPermissionsOfVerbs(t *testing.T) {
	for name, want := range map[string]permission{"status": mayRead, "getKey": mayRead, "setKey": mayKeep, "removeObjects": mayKeep, "setNoUp": mayChange} {
		if got := verbs()[name].about().permission; got != want {
			t.Errorf("%s may %s, want %s", name, got, want)
		}
	}
}
