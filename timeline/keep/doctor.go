package keep

import (
	"context"
	"fmt"

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

// Examine finds problems. It changes nothing, except that it creates a newest frame's ref that a
// crash left out. Findings are in the order in which to repair them. A repair may reveal further
// problems, so Examine again after a Repair.
func (k *Keeper) Examine(ctx context.Context) ([]Finding, error) {
	aside := asideFolder{private: k.store.Private(), commonDir: k.git.repo.CommonDir}
	absent := &absentObjects{k.store, k.git}
	e := &examination{
		store: k.store, git: k.git, aside: aside, absent: absent, progress: k.progress,
		repairs: &repairs{k.store, k.git, aside, absent},
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
func (k *Keeper) Repair(ctx context.Context, finding *Finding) error {
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
	git      *gitReader
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

func (k *Keeper) progress(what string, done, total int) {
	if k.opts.Progress != nil {
		k.opts.Progress(what, done, total)
	}
}

// counted returns a number with a noun, which gets an s if plural.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
