//go:build !unix

package source

import "io/fs"

// isOurs is true: temporary files are in a folder of the user's.
func isOurs(fs.FileInfo) bool { return true }
