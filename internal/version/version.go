// Package version has the program's version. It is a separate package because all three programs print
// their versions. images/operator/build and hack/release pass the name of the variable release to the linker.
package version

import "runtime/debug"

// release is a version such as v0.1.0. The linker sets it when a release is built.
var release string //nolint:gochecknoglobals // The linker can set only variables.

// Version returns the version of the release. In a program that is not a release, it returns the version
// that Go has recorded for the checkout ("(devel)" without Git), or "unknown".
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
