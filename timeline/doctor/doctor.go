// Package doctor finds and repairs damage in the history of a repository: damaged objects, refs that are lost, broken or
// misplaced, locks of dead processes, and configuration that would overwrite history.
package doctor

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Kinds of findings.
const (
	StaleLock     = "stale-lock"
	DamagedPack   = "damaged-pack"
	DamagedObject = "damaged-object"
	MissingPack   = "missing-pack"
	DamagedPacked = "damaged-packed-refs"
	BrokenRef     = "broken-ref"
	MisplacedRef  = "misplaced-ref"
	MalformedName = "malformed-name"
	CaseCollision = "case-collision"
	MissingObject = "missing-object"
	LostTip       = "lost-tip"
	LostRef       = "lost-ref"
	TipBehind     = "tip-behind-frames"
	WrongFrameRef = "wrong-frame-ref"
	MissingFrames = "missing-frame-ref"
	WrongHistory  = "wrong-history"
	MirrorRefspec = "mirror-refspec"
	DamagedIndex  = "damaged-index"
	Untidy        = "untidy"
)

const (
	// manyFiles is the number of loose refs above which packing them is worthwhile.
	manyFiles = 400
)

// Finding is a problem in the repository, and its repair.
type Finding struct {
	Kind   string `json:"kind"`
	What   string `json:"what"`   // the problem, in one line
	Where  string `json:"where"`  // a ref, a run, or a file below the common directory
	Repair string `json:"repair"` // what Repair would do; "" if only a person can repair it
	Fixed  bool   `json:"fixed"`

	repair func(context.Context) error
}

// Harmless reports whether the problem only costs space or time.
func (f Finding) Harmless() bool { return f.Kind == Untidy || f.Kind == MissingFrames }

// Doctor finds and repairs damage in one store. It must be used by one goroutine at a time.
type Doctor struct {
	store    *timeline.Store
	git      *gitRunner
	progress func(what string, done, total int)
}

// New returns a Doctor. It reads nothing yet. progress, if not nil, is called as work proceeds.
func New(store *timeline.Store, progress func(what string, done, total int)) *Doctor {
	if progress == nil {
		progress = func(string, int, int) {}
	}
	return &Doctor{store: store, git: &gitRunner{repo: store.Repo(), env: store.Env()}, progress: progress}
}

// Examine finds problems. It changes nothing, except that it creates a newest frame's ref that a
// crash left out. Findings are in the order in which to repair them. A repair may reveal further
// problems, so Examine again after a Repair.
func (d *Doctor) Examine(ctx context.Context) ([]Finding, error) {
	aside := asideFolder{private: d.store.Private(), commonDir: d.git.repo.CommonDir}
	absent := &absentObjects{d.store, d.git}
	e := &examination{
		store: d.store, git: d.git, aside: aside, absent: absent, progress: d.progress,
		repairs: &repairs{d.store, d.git, aside, absent},
		found:   []Finding{},
	}
	if err := e.readRefs(ctx); err != nil {
		return nil, timeline.Explain(err)
	}
	parts := []func(context.Context) error{
		e.locks, e.packIndex, e.objectFiles, e.brokenRefs, e.misplaced, e.names, e.lostRefs, e.runs, e.lostTips, e.mirrors, e.index, e.tidiness,
	}
	if len(e.found) > 0 {
		parts = nil // packed-refs must be repaired before refs can be read
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	return e.found, nil
}

// Repair repairs a finding of Examine. Whatever it deletes is saved first, in the folder damaged
// of the store's private folder. The error's code is usage if only a person can repair the problem.
func (d *Doctor) Repair(ctx context.Context, finding *Finding) error {
	if finding.repair == nil {
		return fault.New(fault.Usage, "only a person can repair this: %s: %s", finding.Where, finding.What)
	}
	if err := finding.repair(ctx); err != nil {
		return timeline.Explain(err)
	}
	finding.Fixed = true
	return nil
}

// examination collects findings.
type examination struct {
	store    *timeline.Store
	git      *gitRunner
	aside    asideFolder
	absent   *absentObjects
	repairs  *repairs
	progress func(what string, done, total int)

	refs      *refs.Inventory
	entries   *entryIndex
	dropped   []refs.PackedLine // lines removed from packed-refs by a repair
	elsewhere []objstore.ID     // the targets of refs in wrong places
	found     []Finding
}

// note adds a finding; repair is nil if only a person can repair it.
func (e *examination) note(f Finding, repair func(context.Context) error) {
	if repair == nil {
		f.Repair = ""
	}
	f.repair = repair
	e.found = append(e.found, f)
}

// gitRunner runs git on the repository.
type gitRunner struct {
	repo gitexec.Repo // with what was added to its configuration since the Doctor was made
	env  []string
}

// run runs git and returns what it printed.
func (g *gitRunner) run(ctx context.Context, args ...string) (string, error) {
	out, err := gitexec.New(g.repo, g.env).Run(ctx, args...)
	return string(out), err
}
