// Package version has the program's version.
//
// It is a package of its own because all three programs print their versions, and
// images/operator/build names the variable to the linker.
package version

import "runtime/debug"

// release is a version such as v0.1.0. The linker sets it when a release is built.
var release string //nolint:gochecknoglobals // The linker can set only variables.

// Version returns the version of the release. Without one, it returns Go's version of the checkout
// that the program was built from, or "unknown".
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
