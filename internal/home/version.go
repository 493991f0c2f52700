package home

import (
	"runtime/debug"
)

// version is set by the linker in programs of a release, whose build does not depend on git.
var version string

// Version returns the version that the Go toolchain built in: that of the release, of the module, or of the commit in
// a checkout.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
