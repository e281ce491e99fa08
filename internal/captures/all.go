package captures

import (
	"context"
	"errors"
)

// errAlone is the error of a capture that cannot get into the run together with others.
var errAlone = errors.New("the capture has files or expects a tip")

// Outcome is the answer to a capture, or its error.
type Outcome struct {
	Answer Answer
	Err    error
}

// CaptureAll does the work of Capture for several captures, in their order. Those that can get into the run together do: that takes a part
// of the time. The outcome of one does not depend on whether they did.
func (c *Capturer) CaptureAll(ctx context.Context, reqs []*Capture) []Outcome {
	var out []Outcome
	for len(out) < len(reqs) {
		more := c.together(ctx, reqs[len(out):])
		if len(more) == 0 { // the next one cannot be taken together with others, or another process has appended meanwhile
			answer, err := c.Capture(ctx, reqs[len(out)])
			more = []Outcome{{answer, err}}
		}
		out = append(out, more...)
	}
	return out
}

// together does the first captures that can get into the run together. It returns no outcome if these are fewer than two, or if the run has
// none of them.
func (c *Capturer) together(ctx context.Context, reqs []*Capture) (out []Outcome) {
	if c.head == nil || len(reqs) < 2 {
		return nil
	}
	c.head.Hold()
	for _, req := range reqs {
		if req.Expect != nil {
			break
		}
		answer, err := c.attempt(ctx, req, nil)
		if errors.Is(err, errAlone) {
			break
		}
		out = append(out, Outcome{answer, err})
	}
	if err := c.head.Release(ctx); err != nil {
		c.answered, c.recalled = make(map[string]Answer), false // some of the answers were given in vain
		return nil
	}
	return out
}
