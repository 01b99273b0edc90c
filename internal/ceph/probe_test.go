package ceph

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// serve answers on a socket until the test ends.
func serve(t *testing.T, cli *CLI) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, socket, cli, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	deadline := time.Now().Add(10 * time.Second)
	for Probe(t.Context(), socket, Live) != nil {
		if time.Now().After(deadline) {
			t.Fatal("the sidecar does not answer")
		}
		time.Sleep(time.Millisecond)
	}
	return socket
}

// TestProbesStartEachProgramOnce checks that a sidecar whose programs start is ready, also afterwards, without a
// process for each probe.
func TestProbesStartEachProgramOnce(t *testing.T) {
	cli, _ := fakeCLI(t, fake{})
	socket := serve(t, cli)
	for range 3 {
		if err := Probe(t.Context(), socket, Ready); err != nil {
			t.Error(err)
		}
	}
	if got, want := commands(t, cli), []string{"ceph --version", "rados --version", "rbd --version"}; !slices.Equal(got, want) {
		t.Errorf("the probes started %q, want %q", got, want)
	}
}

// TestASidecarWithoutItsProgramsIsLiveButNotReady has tools images that are wrong, until one is right.
func TestASidecarWithoutItsProgramsIsLiveButNotReady(t *testing.T) {
	cli, _ := fakeCLI(t, fake{status: "1", stderr: "No module named 'rados'"})
	socket := serve(t, cli)
	notReady := func(why string) {
		t.Helper()
		if err := Probe(t.Context(), socket, Ready); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "check the tools image") {
			t.Errorf("got %v, want %q", err, why)
		}
		if err := Probe(t.Context(), socket, Live); err != nil {
			t.Errorf("it is not live: %v", err)
		}
	}
	notReady("No module named 'rados'")
	t.Setenv("FAKE_STATUS", "0")
	if err := os.Rename(filepath.Join(cli.programs, "rbd"), filepath.Join(cli.programs, "gone")); err != nil {
		t.Fatal(err)
	}
	notReady("rbd cannot start")
	if err := os.Rename(filepath.Join(cli.programs, "gone"), filepath.Join(cli.programs, "rbd")); err != nil {
		t.Fatal(err)
	}
	if err := Probe(t.Context(), socket, Ready); err != nil {
		t.Error(err)
	}
}

// TestBusyClustersLeaveTheSidecarReady fills the room for processes, as clusters do that do not answer.
func TestBusyClustersLeaveTheSidecarReady(t *testing.T) {
	cli, _ := fakeCLI(t, fake{})
	socket := serve(t, cli)
	if err := Probe(t.Context(), socket, Ready); err != nil {
		t.Fatal(err)
	}
	for range MaxProcesses {
		end, err := cli.processes.begin(urgent(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		defer end()
	}
	for _, question := range []Question{Live, Ready} {
		if err := Probe(t.Context(), socket, question); err != nil {
			t.Errorf("it is not %s: %v", question, err)
		}
	}
}

func TestProbesNameAMissingSidecar(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none")
	if err := Probe(t.Context(), socket, Live); err == nil || !strings.Contains(err.Error(), "does not answer on "+socket) {
		t.Errorf("got %v", err)
	}
}
