package engine

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// compare warns if the shared working copy, captured as now, has other code than the run's newest frame. It is called
// before the first frame of this process. compare does nothing in these cases: now is nil; the run is new and not a
// fork; the frame is unreadable; or the frame has no files of the shared working copy.
func (c *workingCopies) compare(now *jjbridge.CapturedFiles) {
	row := c.rec.Row()
	if now == nil || !c.resumed && row.Parent == nil {
		return
	}
	before, err := c.rec.Entry().VCSRevision()
	if err != nil || before == nil { // building the frame reports the error
		return
	}
	if theirs, err := c.fillsShared(); err != nil || !theirs {
		return
	}
	then := newest{vcs: *before, frame: timeline.Address{Run: row.ID, Frame: row.Frame}, bring: c.opts.BringFiles}
	if !c.resumed && row.Frame == 0 {
		then.from = &timeline.Address{Run: row.Parent.RunID, Frame: row.Parent.Frame}
	}
	// A restore of the frame's code would undo the rebase, so the warning names no command.
	if copied, ok := c.open[""].(interface{ Rebased() bool }); ok && copied.Rebased() {
		then.bring = "resume has rebased the worktree onto its base"
	}
	if what := then.difference(now.VCS); what != "" {
		c.opts.Warn(errors.New(what))
	}
}

// newest is the working copy of the frame from which a run continues.
type newest struct {
	vcs   snapshot.VCS
	frame timeline.Address
	from  *timeline.Address // the parent's frame, if a fork begins; otherwise nil
	bring string            // Options.BringFiles, or a text in its place
}

// difference returns a text for people about the difference between n and now, the current working copy. It returns
// "" if it finds no difference.
//   - It compares the commits first. If there are no commits, it compares the change ids. If there are commits, it
//     ignores change ids, because jj keeps a change id when the code changes.
//   - If the revisions are equal, it compares the files, if bothCaptured holds.
//   - If a fork begins and the files are equal, there is no difference, whatever the commits. The reason is that
//     the fork often has another working copy than its parent.
func (n *newest) difference(now snapshot.VCS) string {
	same := bothCaptured(n.vcs, now) && n.vcs.Tree == now.Tree
	back := n.bring
	if back == "" {
		back = fmt.Sprintf("`git smithers restore %s` restores the frame's code", fault.Word(n.frame.String()))
	}
	switch {
	case same && n.from != nil:
		return ""
	case n.vcs.Pointer() != now.Pointer():
		if same {
			back = "the files are the same"
		}
		return fmt.Sprintf("the working copy is at %s, and %s; %s", revision(now), n.was(revision(n.vcs)), back)
	case otherFiles(n.vcs, now):
		return fmt.Sprintf("%s; %s", n.hadOtherFiles(), back)
	}
	return ""
}

// bothCaptured reports whether two captures both have files, read by the same rules (Scope). Only the files of such
// captures can be compared.
func bothCaptured(a, b snapshot.VCS) bool {
	return !a.Tree.IsZero() && !b.Tree.IsZero() && a.Scope == b.Scope
}

// otherFiles reports whether two captures are known to have different files. It returns false if the captures
// cannot be compared.
func otherFiles(a, b snapshot.VCS) bool { return bothCaptured(a, b) && a.Tree != b.Tree }

// was returns a clause for people with the revision of the run at n's frame. For a fork that begins, the clause names
// the parent's frame instead.
func (n *newest) was(revision string) string {
	if n.from != nil {
		return fmt.Sprintf("run %s was forked from %s, which was at %s", n.frame.Run, n.from, revision)
	}
	return fmt.Sprintf("run %s was at %s at frame %d", n.frame.Run, revision, n.frame.Frame)
}

// hadOtherFiles returns a clause for people: the working copy has other files than n's frame. For a fork that begins,
// the clause names the parent's frame instead.
func (n *newest) hadOtherFiles() string {
	if n.from != nil {
		return fmt.Sprintf("the working copy has other files than %s, from which run %s was forked", n.from, n.frame.Run)
	}
	return fmt.Sprintf("the working copy has other files than run %s had at frame %d", n.frame.Run, n.frame.Frame)
}

// revision returns "commit " and the first 7 characters of v's commit id, or of its change id if v has no commit id.
// It returns "no commit" if v has neither.
func revision(v snapshot.VCS) string {
	const shown = 7
	id := v.Pointer()
	if id == "" {
		return "no commit"
	}
	return "commit " + id[:min(shown, len(id))]
}
