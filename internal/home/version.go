package home

import (
	"runtime/debug"
)

// Version returns the version that the Go toolchain built in: that of the module, or of the commit in a checkout.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
