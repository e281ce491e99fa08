//go:build !linux

package procgroup

import (
	"context"
	"time"
)

// Of returns [ErrUnsupported].
func Of(int) (Mark, error) { return Mark{}, ErrUnsupported }

// End does nothing and returns 0.
func (Mark) End(context.Context, []string, time.Duration) (int, error) { return 0, nil }
