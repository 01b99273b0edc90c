//go:build unix

package ceph

import (
	"os/exec"
	"syscall"
)

// killWithChildren puts a process into a new process group, so that its children are killed with it.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
