package jjbridge_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// BenchmarkRestore makes one changed file of 10,000 what it was: with the capture that
// comes before, and without it.
func BenchmarkRestore(b *testing.B) {
	for _, kind := range []repotest.Kind{repotest.Git, repotest.JJColocated} {
		c := workingCopy(b, kind, repotest.NewKind(b, kind))
		for i := range 10_000 {
			c.Write(fmt.Sprintf("d%02d/e%02d/f%d", i%20, i/20%10, i), fmt.Sprintf("file %d\n", i))
		}
		c.Write("changed", "one\n")
		if !kind.IsJJ() {
			c.Git("add", "--all")
			c.Git("commit", "--quiet", "--message=many")
		}
		one := c.capture()
		c.Write("changed", "two\n")
		two := c.capture()
		for _, capture := range []bool{false, true} {
			name := string(kind) + "/alone"
			if capture {
				name = string(kind) + "/with its capture"
			}
			b.Run(name, func(b *testing.B) {
				c.restore(two)
				want, other := one, two
				for b.Loop() {
					var have *jjbridge.CapturedFiles
					var err error
					if !capture {
						b.StopTimer()
					}
					have, err = c.Capture(b.Context(), jjbridge.CaptureOptions{})
					require.NoError(b, err)
					if !capture {
						b.StartTimer()
					}
					plan, err := c.Plan(b.Context(), have, want)
					require.NoError(b, err)
					require.Len(b, plan.Changes, 1)
					require.NoError(b, c.Restore(b.Context(), plan))
					require.NoError(b, have.Close())
					want, other = other, want
				}
			})
		}
	}
}
