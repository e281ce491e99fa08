package timeline_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A frame is logged and published while something goes wrong at one op, each in turn. What then was acknowledged is kept, also by a
// cut of power, and the same frame without the fault is there once.
func TestALoggedFrameThatMeetsAFaultOfTheDiskIsKeptOrCanBeRepeated(t *testing.T) {
	t.Parallel()
	before := record(t, deed{do: func(w witness) { frames(w, "run", 3) }})
	for _, d := range diskFaults {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			met := true
			at := 0
			for ; met; at++ {
				dir := filepath.Join(base, strconv.Itoa(at))
				require.NoError(t, before.files.Now().WriteTo(dir, fsxtest.Everything))
				trial := &recording{repo: before.repo, files: fsxtest.New(t, dir), acks: slices.Clone(before.acks), logs: true}
				var err error
				met, err = trial.logWith(t, dir, d, at)
				require.NoError(t, err, "fault at %d", at)
				require.NoError(t, trial.keeps(t, filepath.Join(dir, "cut")), "fault at %d", at)
			}
			require.Greater(t, at, 2)
		})
	}
}

// logWith logs a frame, and publishes it, with a fault at the op of the number at, and then repeats the frame without. It reports
// whether there was such an op.
func (r *recording) logWith(t *testing.T, dir string, d diskFault, at int) (met bool, err error) {
	t.Helper()
	opts := optionsOn(t, dir, append(r.repo.Env, "GIT_SMITHERS_FSYNC=1", "GIT_SMITHERS_JOURNAL=1"), r.files)
	opts.Log = true
	s, err := timeline.Open(t.Context(), opts)
	if err != nil {
		return false, err
	}
	defer func() { require.NoError(t, s.Close()) }()
	head, err := s.Head(t.Context(), "run")
	if err != nil {
		return false, err
	}
	if err := head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}); err != nil { // moves the ref
		return false, err
	}
	draft := snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("more", "1")}}, Operation: "the append"}
	acknowledged := ""
	var count int
	r.files.Fail(d.on(at, &count))
	failed := head.Append(t.Context(), draft)
	if failed == nil {
		acknowledged = head.Entry().ID.String()
	}
	_, err = s.Refs().Tips(t.Context()) // publishes, or warns
	r.files.Fail(nil)
	if code := fault.CodeOf(failed); failed != nil && code != d.code {
		return false, fmt.Errorf("the code is %s: %w", code, failed)
	}
	if err != nil {
		return false, err
	}
	if acknowledged != "" {
		r.acks = append(r.acks, ack{"run", "run:4", acknowledged, acknowledged})
		if err := r.keeps(t, filepath.Join(dir, "at-once")); err != nil {
			return false, err
		}
	}
	c, err := captures.Open(t.Context(), s, "run")
	if err != nil {
		return false, err
	}
	answer, err := c.Capture(t.Context(), &captures.Capture{ID: draft.Operation, Changes: draft.StateChanges()})
	if err != nil {
		return false, fmt.Errorf("again, after %w: %w", failed, err)
	}
	if *answer.Frame != 4 || acknowledged != "" && answer.Commit != acknowledged {
		return false, fmt.Errorf("it was %s and is frame %d, %s", acknowledged, *answer.Frame, answer.Commit)
	}
	if acknowledged == "" {
		r.acks = append(r.acks, ack{"run", "run:4", answer.Commit, answer.Commit})
	}
	return count > at, nil
}
