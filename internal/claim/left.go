package claim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// CommandGrace is the time that the commands of a dead process have to end before they are killed.
const CommandGrace = 5 * time.Second

// EndLeft ends the commands that dead processes left running on this machine: those of the run of h, and those of the runs that
// this run has called. It leaves the commands of a run alone that a live process owns, unless held is the claim of that process; nil stands
// for no claim. Ended processes and errors are warnings.
//
// A process starts commands only after it has claimed the run. So EndLeft first reads which commands there are, and then who owns the run.
func EndLeft(ctx context.Context, h *timeline.Head, held *Claim) {
	s := h.Store()
	if all, err := os.ReadDir(filepath.Join(s.Private(), commandsFolder)); err == nil && len(all) == 0 || errors.Is(err, fs.ErrNotExist) {
		return // no command is at work
	}
	for _, head := range append([]*timeline.Head{h}, calledBy(ctx, h)...) {
		if err := endLeft(ctx, head, held); err != nil {
			s.Warn(fmt.Errorf("commands that another process of run %q left running were not ended: %w", head.Row().ID, err))
		}
	}
}

// calledBy returns the heads of the runs that the run of h has called, and of those that these have called. It leaves out runs that are not
// here. Errors are warnings.
func calledBy(ctx context.Context, h *timeline.Head) (called []*timeline.Head) {
	s, seen := h.Store(), map[string]bool{h.Row().ID: true}
	for next := []*timeline.Head{h}; len(next) > 0; next = next[1:] {
		run := next[0].Row().ID
		children, err := snapshot.CalledRuns(next[0].Entry())
		if err != nil {
			s.Warn(fmt.Errorf("the runs that run %q has called cannot be read: %w", run, err))
		}
		for _, child := range children {
			if head, err := s.Head(ctx, child); err == nil && !seen[child] {
				seen[child] = true
				next, called = append(next, head), append(called, head)
			}
		}
	}
	return called
}

// LeftRuns returns the heads of the called runs of the run of h that still are running although no process executes them. The attempts of a
// fork name runs that another run has called, which LeftRuns leaves out.
func LeftRuns(ctx context.Context, h *timeline.Head) []*timeline.Head {
	callers := map[string]bool{h.Row().ID: true}
	return slices.DeleteFunc(calledBy(ctx, h), func(head *timeline.Head) bool { // callers come before the runs that they call
		row := head.Row()
		own := row.Caller != nil && callers[row.Caller.RunID]
		callers[row.ID] = own
		return !own || row.Status != snapshot.RunRunning || h.Store().Owner(row).Live
	})
}

// endLeft ends the commands that dead processes of one run left, see EndLeft.
func endLeft(ctx context.Context, h *timeline.Head, held *Claim) error {
	c := CommandsOf(h.Store(), h.Row().ID)
	noted, err := c.noted()
	if len(noted) == 0 {
		return err
	}
	if err := h.Refresh(ctx); err != nil {
		return err
	}
	if owner := h.Store().Owner(h.Row()); owner.Live && (held == nil || owner.Token != held.Token) {
		return err
	}
	ended, endErr := c.end(ctx, noted, CommandGrace)
	warnOfEnded(h.Store(), c.run, ended)
	return errors.Join(err, endErr)
}

// warnOfEnded warns that n processes of a run's commands were ended. It does nothing if n is 0.
func warnOfEnded(s *timeline.Store, run string, n int) {
	if n > 0 {
		s.Warn(fmt.Errorf("ended %d processes of commands that another process of run %q had left running", n, run))
	}
}

// Alive reports whether a process of a command of the run is alive on this machine.
func (c *Commands) Alive() bool {
	noted, _ := c.noted()
	return slices.ContainsFunc(noted, func(one notedCommand) bool {
		living, err := one.group.Living(one.env)
		return living && err == nil
	})
}

// LeftCommands are the commands of a run that outlived the process that started them.
type LeftCommands struct {
	Run   string `json:"runId"`
	Count int    `json:"commands"`       // how many commands have living processes; at least 1
	Gone  bool   `json:"gone,omitempty"` // the repository has no such run
}

// FindLeft returns the runs with commands that outlived their process on this machine. It reads only the tips of runs with commands
// at work. It leaves out runs that cannot be read, with a warning for each.
func FindLeft(ctx context.Context, s *timeline.Store) ([]LeftCommands, error) {
	entries, err := os.ReadDir(filepath.Join(s.Private(), commandsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []LeftCommands
	for _, entry := range entries {
		one, err := findLeft(ctx, s, entry.Name())
		if err != nil {
			s.Warn(fmt.Errorf("the commands of run %s cannot be read: %w", entry.Name(), err))
		} else if one.Count > 0 {
			out = append(out, one)
		}
	}
	return out, timeline.Explain(err)
}

// findLeft returns the commands of the run with the given ref component. Count is 0 if a live process owns the run.
func findLeft(ctx context.Context, s *timeline.Store, component string) (out LeftCommands, err error) {
	var row snapshot.Run
	tip, err := tipOf(ctx, s, component)
	if err == nil {
		row, err = tipRow(s, tip)
	}
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
		out.Gone = true
		row.ID, _, err = refs.UnescapeRun(component)
	}
	if err != nil || row.ID == "" || s.Owner(row).Live {
		return out, err
	}
	out.Run = row.ID
	noted, err := CommandsOf(s, row.ID).noted()
	for _, one := range noted {
		living, livingErr := one.group.Living(one.env)
		if err = errors.Join(err, livingErr); living {
			out.Count++
		}
	}
	return out, err
}
