//go:build !unix

package fsx

import "io/fs"

// Links returns 1, because the system does not count the names of a file.
func Links(fs.FileInfo) int { return 1 }
