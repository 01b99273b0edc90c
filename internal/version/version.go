// Package version has the program's version.
package version

import "runtime/debug"

// release is such as v0.1.0. The linker sets it when a release is built.
var release string //nolint:gochecknoglobals // The linker sets nothing else.

// Version returns that of the release, or what Go knows of the checkout that the program was
// built from; "unknown" where it knows nothing.
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
