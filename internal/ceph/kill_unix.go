//go:build unix

package ceph

import (
	"os/exec"
	"syscall"
)

// killWithChildren gives a process a group of its own, so that its child processes are killed with
// it.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
