//go:build !windows

// Package flock locks files. Processes that lock the same file agree through it.
//
// Everywhere but on Windows, it is github.com/gofrs/flock. On Windows that package locks the first byte of a file, which keeps every other handle from
// reading and writing the file, also handles of the same process, and it opens the file so that nobody can remove it. This program writes into files that it has
// locked, reads those of others, and removes them before it unlocks them. So on Windows, this package locks a byte that no file has, and lets
// others remove the file.
package flock

import (
	"io/fs"

	"github.com/gofrs/flock"
)

// Flock is a lock of a file.
type Flock = flock.Flock

// Option is an option of New.
type Option = flock.Option

// New returns a lock of the file at path, which is neither opened nor locked yet.
func New(path string, options ...Option) *Flock { return flock.New(path, options...) }

// SetFlag sets the flags with which the file is opened; by default, it is made if it is missing.
func SetFlag(flag int) Option { return flock.SetFlag(flag) }

// SetPermissions sets the permissions of a file that is made.
func SetPermissions(perm fs.FileMode) Option { return flock.SetPermissions(perm) }
