package interrupt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestInterruptedNamesTheSignalUnlessTheErrorSaysMore(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := map[string]struct {
		signal os.Signal
		err    error
		want   fault.Code
	}{
		"SIGINT":                             {os.Interrupt, context.Canceled, fault.Interrupted},
		"SIGTERM":                            {syscall.SIGTERM, context.Canceled, fault.Terminated},
		"SIGINT, named as the cause":         {os.Interrupt, fmt.Errorf("git rev-parse: %w", &Error{os.Interrupt}), fault.Interrupted},
		"SIGTERM, explained":                 {syscall.SIGTERM, fault.New(fault.Interrupted, "%w", context.Canceled), fault.Terminated},
		"a run that was cancelled":           {syscall.SIGTERM, fault.New(fault.RunCancelled, "run cancelled"), fault.RunCancelled},
		"an error of its own":                {os.Interrupt, fault.New(fault.DiskFull, "disk full"), fault.DiskFull},
		"a bug":                              {os.Interrupt, broken, fault.Internal},
		"a cancelled context and no signal":  {nil, fault.New(fault.Interrupted, "%w", context.Canceled), fault.Interrupted},
		"an error where no signal has come":  {nil, broken, fault.Internal},
		"a run cancelled by another process": {nil, fault.New(fault.RunCancelled, "run cancelled"), fault.RunCancelled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			if test.signal != nil {
				cancel(&Error{test.signal})
			}
			defer cancel(nil)
			assert.Equal(t, test.want, fault.CodeOf(Explain(ctx, test.err)))
		})
	}
	t.Run("what was done all the same is done", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&Error{os.Interrupt})
		assert.NoError(t, Explain(ctx, nil))
	})
}

func TestASecondSignalIsNotTheEchoOfTheFirst(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first os.Signal // nil: SIGINT
		over  bool
		then  []os.Signal
		want  bool
	}{
		"none":                   {},
		"the echo":               {then: []os.Signal{os.Interrupt}},
		"the echo, and one more": {then: []os.Signal{os.Interrupt, os.Interrupt}, want: true},
		"another one":            {then: []os.Signal{syscall.SIGTERM}, want: true},
		"SIGHUP right after SIGTERM, as of a session that closes": {first: syscall.SIGTERM, then: []os.Signal{syscall.SIGHUP}},
		"SIGQUIT right after SIGTERM":                             {first: syscall.SIGTERM, then: []os.Signal{syscall.SIGQUIT}, want: true},
		"the same one, too late to be its echo":                   {over: true, then: []os.Signal{os.Interrupt}, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals, over, done := make(chan os.Signal), make(chan time.Time), make(chan struct{})
			got := make(chan bool, 1)
			go func() { got <- again(signals, cmp.Or(test.first, os.Interrupt), over, done) }()
			if test.over {
				over <- time.Time{}
			}
			for _, sig := range test.then {
				select {
				case signals <- sig:
				case early := <-got:
					got <- early
				}
			}
			close(done)
			assert.Equal(t, test.want, <-got)
		})
	}
}
