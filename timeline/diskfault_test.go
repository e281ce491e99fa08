package timeline_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// diskFault is what goes wrong: whether an op may have it, and with the first that does,
// whether all that follow have it too.
type diskFault struct {
	name  string
	may   func(fsxtest.Op) bool
	fault fsxtest.Fault
	stays bool
	code  fault.Code
}

var diskFaults = []diskFault{
	{
		name:  "the disk is full",
		may:   func(op fsxtest.Op) bool { return takesSpace(op) },
		fault: fsxtest.Fault{Err: syscall.ENOSPC}, stays: true, code: fault.DiskFull,
	},
	{
		name:  "the disk fills up in the middle of a write",
		may:   func(op fsxtest.Op) bool { return op.Kind == fsxtest.Write },
		fault: fsxtest.Fault{Err: syscall.ENOSPC, Short: true}, code: fault.DiskFull,
	},
	{
		name:  "an I/O error",
		may:   func(fsxtest.Op) bool { return true },
		fault: fsxtest.Fault{Err: syscall.EIO}, code: fault.WriteFailed,
	},
	{
		name:  "an fsync fails",
		may:   func(op fsxtest.Op) bool { return op.IsSync() },
		fault: fsxtest.Fault{Err: syscall.EIO}, code: fault.WriteFailed,
	},
	{
		name:  "every fsync fails",
		may:   func(op fsxtest.Op) bool { return op.IsSync() },
		fault: fsxtest.Fault{Err: syscall.EIO}, stays: true, code: fault.WriteFailed,
	},
}

func takesSpace(op fsxtest.Op) bool {
	return slices.Contains([]fsxtest.Kind{fsxtest.Create, fsxtest.Write, fsxtest.Mkdir, fsxtest.Link}, op.Kind)
}

// on is the hook that makes the fault at the op of the number at, of those that may have
// it, and how many there were.
func (d diskFault) on(at int, count *int) func(fsxtest.Op) fsxtest.Fault {
	*count = 0
	return func(op fsxtest.Op) fsxtest.Fault {
		if !d.may(op) {
			return fsxtest.Fault{}
		}
		*count++
		if number := *count - 1; number == at || d.stays && number > at {
			return d.fault
		}
		return fsxtest.Fault{}
	}
}

// A frame is appended while something goes wrong at one op, each in turn. What then was
// acknowledged is kept, also by a cut of power, and the same append without the fault
// succeeds and is there once.
func TestAnAppendThatMeetsAFaultOfTheDiskIsDoneOrCanBeRepeated(t *testing.T) {
	t.Parallel()
	before := record(t, deed{do: func(w witness) { frames(w, "run", 3) }})
	for _, d := range diskFaults {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			var looking sync.WaitGroup
			slots := make(chan struct{}, looks)
			met := true
			for at := 0; met; at++ {
				dir := filepath.Join(base, strconv.Itoa(at))
				require.NoError(t, before.files.Now().WriteTo(dir, fsxtest.Everything))
				trial := &recording{repo: before.repo, files: fsxtest.New(t, dir), acks: slices.Clone(before.acks)}
				var err error
				met, err = trial.appendWith(t, dir, d, at)
				require.NoError(t, err, "fault at %d", at)
				slots <- struct{}{}
				looking.Go(func() {
					defer func() { <-slots }()
					assert.NoError(t, trial.keeps(t, filepath.Join(dir, "cut")), "fault at %d", at)
				})
			}
			looking.Wait()
		})
	}
}

// appendWith appends a frame with a fault at the op of the number at, and then without.
// It reports whether there was such an op.
func (r *recording) appendWith(t *testing.T, dir string, d diskFault, at int) (met bool, err error) {
	t.Helper()
	s := openOn(t, dir, append(r.repo.Env, "GIT_SMITHERS_FSYNC=1"), r.files)
	defer func() { err = errors.Join(err, s.Close()) }()
	head, err := s.Head(t.Context(), "run")
	if err != nil {
		return false, err
	}
	draft := snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("more", "1")}}, Operation: "the append"}
	var count int
	hook := d.on(at, &count)
	r.files.Fail(func(op fsxtest.Op) fsxtest.Fault {
		fault := hook(op)
		if fault.Err != nil && op.Kind == fsxtest.Link && repotest.RefFormat() != "files" {
			r.unseen = true // without the link, git moves the refs
		}
		return fault
	})
	failed := head.Append(t.Context(), draft)
	r.files.Fail(nil)
	if failed == nil {
		r.acks = append(r.acks, ack{"run", "run:3", head.Entry().ID.String(), head.Entry().ID.String()})
		if err := r.keeps(t, filepath.Join(dir, "at-once")); err != nil {
			return false, err
		}
	} else if code := fault.CodeOf(failed); code != d.code {
		return false, fmt.Errorf("the code is %s: %w", code, failed)
	}
	if err := r.again(t, s, draft); err != nil {
		return false, fmt.Errorf("again, after %w: %w", failed, err)
	}
	return count > at, nil
}

// again appends what may have been appended before.
func (r *recording) again(t *testing.T, s *timeline.Store, draft snapshot.Draft) error {
	t.Helper()
	c, err := captures.Open(t.Context(), s, "run")
	if err != nil {
		return err
	}
	answer, err := c.Capture(t.Context(), &captures.Capture{ID: draft.Operation, Changes: draft.StateChanges()})
	if err != nil {
		return err
	}
	if *answer.Frame != 3 {
		return fmt.Errorf("it is frame %d", *answer.Frame)
	}
	if len(r.acks) == 3 {
		r.acks = append(r.acks, ack{"run", "run:3", answer.Commit, answer.Commit})
	} else if r.acks[3].tip != answer.Commit {
		return fmt.Errorf("it was %s and is %s", r.acks[3].tip, answer.Commit)
	}
	return nil
}

// keeps tells what is lost of the acks as it is now, and if the power is cut now. Where git has written, it looks at the
// repository as it is: what git writes is git's to make durable.
func (r *recording) keeps(t *testing.T, to string) error {
	t.Helper()
	if r.unseen {
		return r.intact(t, filepath.Dir(to), len(r.acks), false)
	}
	now := r.files.Now()
	for _, cut := range []fsxtest.Cut{fsxtest.Everything, fsxtest.Durable} {
		dir := to + "-" + string(cut)
		if err := now.WriteTo(dir, cut); err != nil {
			return err
		}
		if err := r.intact(t, dir, len(r.acks), false); err != nil {
			return fmt.Errorf("%s: %w", cut, err)
		}
	}
	return nil
}
