//go:build e2e

// Package e2e tests cephtune on a real cluster with Rook and Ceph: the lab's, or the one in
// KUBECONFIG. Every wait has a deadline. Each test removes what it creates, also in Ceph.
package e2e

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if program, args, ok := asProgram(os.Args); ok {
		os.Exit(runInToolbox(program, args))
	}
	settings, err := settingsFromEnvironment(os.LookupEnv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	if err := settings.check(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: this cluster cannot run the tests:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
