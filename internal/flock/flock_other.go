//go:build !windows

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
