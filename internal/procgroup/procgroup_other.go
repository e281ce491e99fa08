//go:build !linux

package procgroup

import (
	"context"
	"time"
)

// Of returns [ErrUnsupported], because this system has no marks of process groups.
func Of(int) (Mark, error) { return Mark{}, ErrUnsupported }

// End does nothing and returns 0, because this system has no marks of process groups. The processes keep running.
func (Mark) End(context.Context, []string, time.Duration) (int, error) { return 0, nil }

// Boot returns "", because this system has no such text.
func Boot() string { return "" }

// Living returns false, because this system has no marks of process groups.
func (Mark) Living([]string) (bool, error) { return false, nil }
