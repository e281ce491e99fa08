package engine

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// compare warns, before the first frame, if a run continues with other code than its newest frame has, or if a fork begins with other code.
func (c *workingCopies) compare(now *jjbridge.Captured) {
	row := c.rec.Row()
	if now == nil || !c.resumed && row.Parent == nil {
		return
	}
	before, err := c.rec.Entry().VCSRevision()
	if err != nil || before == nil { // the frame reports the damage
		return
	}
	if theirs, err := c.fillsShared(); err != nil || !theirs {
		return
	}
	then := newest{vcs: *before, frame: timeline.Address{Run: row.ID, Frame: row.Frame}, bring: c.opts.BringFiles}
	if !c.resumed && row.Frame == 0 {
		then.from = &timeline.Address{Run: row.Parent.RunID, Frame: row.Parent.Frame}
	}
	// Restoring the frame's code would undo the rebase, so the warning names no command.
	if copied, ok := c.open[""].(interface{ Rebased() bool }); ok && copied.Rebased() {
		then.bring = "resume has rebased it onto its base"
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
	bring string            // see Options.BringFiles
}

// difference describes, for people, how a working copy differs from the newest frame's; "" if it does not.
// Change ids are not compared, because jj keeps a change id when the code changes. A fork often begins in
// another working copy, so its commit counts only if the files differ.
func (n *newest) difference(now snapshot.VCS) string {
	same := bothCaptured(n.vcs, now) && n.vcs.Tree == now.Tree
	back := n.bring
	if back == "" {
		back = fmt.Sprintf("`git smithers restore %s` brings its code back", fault.Word(n.frame.String()))
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

// bothCaptured reports whether two captures have files and the same rules for them.
func bothCaptured(a, b snapshot.VCS) bool {
	return !a.Tree.IsZero() && !b.Tree.IsZero() && a.Scope == b.Scope
}

// otherFiles reports whether two captures are known to have different files.
func otherFiles(a, b snapshot.VCS) bool { return bothCaptured(a, b) && a.Tree != b.Tree }

// was describes, for people, the revision of the frame.
func (n *newest) was(revision string) string {
	if n.from != nil {
		return fmt.Sprintf("run %s was forked from %s, which was at %s", n.frame.Run, n.from, revision)
	}
	return fmt.Sprintf("run %s was at %s at frame %d", n.frame.Run, revision, n.frame.Frame)
}

// hadOtherFiles says, for people, that the working copy has other files than the frame.
func (n *newest) hadOtherFiles() string {
	if n.from != nil {
		return fmt.Sprintf("run %s was forked from %s, and the working copy has other files", n.frame.Run, n.from)
	}
	return fmt.Sprintf("the working copy has other files than run %s had at frame %d", n.frame.Run, n.frame.Frame)
}

// revision returns a revision for people.
func revision(v snapshot.VCS) string {
	const shown = 7
	id := v.Pointer()
	if id == "" {
		return "no commit"
	}
	return "commit " + id[:min(shown, len(id))]
}
