package ceph

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

func TestUncertainOutcomes(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"it was made":                  {nil, false},
		"Ceph refused it":              {&Error{Errno: 22, Message: "Error EINVAL"}, false},
		"Ceph denied it":               {&Error{Errno: 13, Message: "Error EACCES"}, false},
		"the arguments are wrong":      {&InvalidError{}, false},
		"the lock does not hold":       {fmt.Errorf("set: %w", &FencedError{}), false},
		"a deadline":                   {fmt.Errorf("set: %w", context.DeadlineExceeded), true},
		"the context has ended":        {context.Canceled, true},
		"Ceph timed out":               {&Error{Errno: 110, Message: "timed out"}, true},
		"the connection was lost":      {errors.New("EOF"), true},
		"the command was killed":       {&Error{Message: "signal: killed"}, true},
		"Ceph has lost the connection": {&Error{Errno: 107, Message: "Error ENOTCONN"}, true},
	}
	for name, test := range tests {
		if got := Unsure(test.err); got != test.want {
			t.Errorf("%s: unsure %t, want %t", name, got, test.want)
		}
	}
	err := NewSidecar(filepath.Join(t.TempDir(), "none")).SetBalancer(t.Context(), someone, inHours(1), true)
	if err == nil || Unsure(err) {
		t.Errorf("%v is unsure, and nobody was asked", err)
	}
}
