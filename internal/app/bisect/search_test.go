package bisect_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/app/bisect"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// fault is a line of steps with a planted fault: the steps from first on are bad, and those of untold cannot be probed.
type fault struct {
	first, newest int
	untold        map[int]bool
}

// find searches with n probes at once, and returns how many probes it took, that of the newest step included.
func (f fault) find(t require.TestingT, n int) (s *bisect.Search, probes int) {
	s, probes = bisect.New(-1, f.newest), 1
	asked := make(map[int]bool)
	for steps := s.Next(n); len(steps) > 0; steps = s.Next(n) {
		require.LessOrEqual(t, len(steps), n)
		for _, step := range steps {
			require.False(t, asked[step], "step %d is probed twice", step)
			asked[step], probes = true, probes+1
			switch {
			case f.untold[step]:
				s.Add(step, bisect.Skip)
			case step < f.first:
				s.Add(step, bisect.Good)
			default:
				s.Add(step, bisect.Bad)
			}
		}
	}
	return s, probes
}

func TestAFaultAmongAThousandStepsIsFoundWithElevenProbes(t *testing.T) {
	t.Parallel()
	for first := range 1000 {
		s, probes := fault{first: first, newest: 999}.find(t, 1)
		good, found, suspects := s.Result()
		require.Equal(t, []int{first - 1, first}, []int{good, found})
		require.Empty(t, suspects)
		require.LessOrEqual(t, probes, 11)
	}
}

func TestAnyPlantedFaultIsFound(t *testing.T) {
	t.Parallel()
	repotest.Check(t, func(r *rapid.T) {
		newest := rapid.IntRange(0, 300).Draw(r, "newest")
		f := fault{newest: newest, first: rapid.IntRange(0, newest).Draw(r, "first"), untold: make(map[int]bool)}
		if newest > 0 {
			for _, step := range rapid.SliceOfN(rapid.IntRange(0, newest-1), 0, 20).Draw(r, "untold") {
				f.untold[step] = true
			}
		}
		s, _ := f.find(r, rapid.IntRange(1, 4).Draw(r, "parallel"))

		// What is to be found, read off the line: the newest good step before the fault that can be probed, and the first bad step.
		good, first := f.first-1, f.first
		for f.untold[good] {
			good--
		}
		for f.untold[first] {
			first++
		}
		gotGood, gotFirst, suspects := s.Result()
		require.Equal(r, []int{good, first}, []int{gotGood, gotFirst})
		if first == good+1 {
			require.Empty(r, suspects)
		} else {
			require.Len(r, suspects, first-good)
			require.Contains(r, suspects, f.first)
		}
	})
}

func TestABlockOfStepsThatCannotBeProbedIsLeftBehindSoon(t *testing.T) {
	t.Parallel()
	f := fault{first: 900, newest: 999, untold: make(map[int]bool)}
	for step := 400; step < 600; step++ {
		f.untold[step] = true
	}
	_, probes := f.find(t, 1)
	assert.LessOrEqual(t, probes, 16)
}

func TestSeveralProbesDivideWhatIsLeft(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []int{33, 66}, bisect.New(-1, 100).Next(2))
	assert.Equal(t, []int{0, 1}, bisect.New(-1, 2).Next(3))
	assert.Empty(t, bisect.New(4, 5).Next(3))
	_, one := fault{first: 700, newest: 999}.find(t, 1)
	_, three := fault{first: 700, newest: 999}.find(t, 3)
	assert.Equal(t, []int{11, 16}, []int{one, three}, "five rounds of three in place of ten of one")
	assert.Equal(t, 10, bisect.New(-1, 999).Left(1))
}

func TestProbesThatDisagreeAreFlaky(t *testing.T) {
	t.Parallel()
	for want, said := range map[bisect.Verdict][]bisect.Verdict{
		bisect.Good: {bisect.Good, bisect.Good}, bisect.Skip: {bisect.Skip}, bisect.Flaky: {bisect.Bad, bisect.Bad, bisect.Good},
	} {
		assert.Equal(t, want, bisect.Of(said))
	}
	s := bisect.New(-1, 3)
	s.Add(1, bisect.Flaky)
	assert.False(t, s.Wants(1))
	assert.NotContains(t, s.Next(2), 1, "and are not probed again")
	s.Add(2, bisect.Bad)
	s.Add(0, bisect.Good)
	good, first, suspects := s.Result()
	assert.Equal(t, []int{0, 2}, []int{good, first})
	assert.True(t, slices.Equal([]int{1, 2}, suspects))
}
