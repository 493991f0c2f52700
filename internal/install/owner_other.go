//go:build !unix

package install

import (
	"io/fs"
	"os"
)

// keepOwner does nothing where new files inherit their permissions from the folder.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
