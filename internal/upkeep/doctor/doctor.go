// Package doctor finds and repairs damage in the history of a repository: damaged objects, refs that are lost, broken
// or misplaced, locks of dead processes, and configuration that would overwrite history.
package doctor

import (
	"context"
	"sync"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/search"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Kinds of findings. All but those of Finding.Harmless are damage.
const (
	StaleLock     = "stale-lock"
	DamagedPack   = "damaged-pack"
	DamagedObject = "damaged-object"
	MissingPack   = "missing-pack"
	DamagedPacked = "damaged-packed-refs"
	DamagedTables = "damaged-reftable"
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
	StrandedLog   = "stranded-log"
	OlderFormat   = "older-format"
	MistakableID  = "mistakable-id"
	MirrorRefspec = "mirror-refspec"
	DamagedIndex  = "damaged-index"
	LeftCommands  = "left-commands"
	HalfWorktree  = "half-made-worktree"
	UnheldCommits = "unheld-commits"
	RewrittenRun  = "rewritten-run"
	Replaced      = "replaced-commits"
	Untidy        = "untidy"
)

const (
	// manyFiles is the lowest number of loose refs for which Examine suggests packing the refs.
	manyFiles = 400
)

// Finding is a problem in the repository, with its repair.
type Finding struct {
	Kind   string `json:"kind"`
	What   string `json:"what"`   // the problem, in one line
	Where  string `json:"where"`  // a ref, a run, or a file below the common directory
	Repair string `json:"repair"` // what Doctor.Repair does; "" if only a person can repair the problem
	Fixed  bool   `json:"fixed"`  // whether Doctor.Repair has repaired the problem

	repair func(context.Context) error // nil if only a person can repair the problem
}

// Harmless reports whether no history is damaged.
func (f Finding) Harmless() bool {
	return f.Kind == Untidy || f.Kind == MissingFrames || f.Kind == MistakableID || f.Kind == LeftCommands || f.Kind == UnheldCommits || f.Kind == Replaced
}

// Doctor finds and repairs damage in one store. Only one goroutine at a time may use a Doctor.
type Doctor struct {
	store    *timeline.Store
	git      *gitRunner
	progress func(what string, done, total int)
}

// New returns a Doctor for store. New does not read the repository. If progress is not nil, the Doctor calls it as
// work proceeds. The parameter what of progress is the name of the step, total is the number of parts of the step, and
// done is the number of finished parts.
func New(store *timeline.Store, progress func(what string, done, total int)) *Doctor {
	if progress == nil {
		progress = func(string, int, int) {}
	}
	return &Doctor{store: store, git: &gitRunner{repo: store.Repo(), env: store.Env()}, progress: progress}
}

// Examine returns the problems of the repository, in the order in which to repair them. The result is never
// nil. Examine changes nothing, except that it may create the ref of a newest frame that a crash left out.
//
// A problem may hide other problems, so call Examine again after a Repair. If packed-refs has invalid lines,
// Examine returns only this problem.
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
	ctx, cancel := context.WithCancel(ctx)
	defer e.checking.Wait()
	defer cancel()
	// The order matters: runs and lostTips need the findings of objectFiles, and lostTips needs e.elsewhere from
	// misplaced and bundleRefs, and e.dropped from lostRefs.
	parts := []func(context.Context) error{
		e.locks, e.halfWorktrees, e.packIndex, e.objectFiles, e.brokenRefs, e.misplaced, e.names, e.lostRefs, e.checkIndex, e.runs, e.mistakable, e.rewritten, e.bundleRefs, e.lostTips, e.mirrors, e.index, e.leftCommands, e.unheld, e.tidiness,
	}
	if len(e.found) > 0 {
		parts = nil // refs are unreadable until packed-refs is repaired
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	return e.found, nil
}

// Repair repairs a finding of Examine and sets finding.Fixed. It saves each damaged file of refs or objects that it
// removes, in the folder "damaged" of the store's private folder. There, it also saves each value of a ref whose
// history no ref would reach afterwards. It keeps no copy of other files, such as the index and the locks of dead
// processes. The error code is usage if only a person can repair the problem.
func (d *Doctor) Repair(ctx context.Context, finding *Finding) error {
	if finding.repair == nil {
		return fault.New(fault.Usage, "only a person can repair %s: %s", finding.Where, finding.What)
	}
	if err := finding.repair(ctx); err != nil {
		return timeline.Explain(err)
	}
	finding.Fixed = true
	return search.Remove(ctx, d.store) // its texts may be those of what the repair has removed
}

// examination is one run of Examine. It collects findings.
type examination struct {
	store    *timeline.Store
	git      *gitRunner
	aside    asideFolder
	absent   *absentObjects
	repairs  *repairs
	progress func(what string, done, total int)

	refs      *refs.Inventory                       // set by readRefs
	chains    map[objstore.ID]map[int64]objstore.ID // the frames of the runs without a problem, by tip; set by runs
	entries   *entryIndex                           // set by readRefs
	dropped   []refs.PackedLine                     // the lines that earlier repairs removed from packed-refs
	elsewhere []objstore.ID                         // the values of misplaced refs, and of those of bundles
	checking  sync.WaitGroup                        // of checkIndex, which sets the following two
	flaws     []sqliteindex.Flaw
	flawsErr  error
	found     []Finding
}

// note adds the finding f with its repair. If repair is nil, only a person can repair the problem, and note
// clears f.Repair.
func (e *examination) note(f Finding, repair func(context.Context) error) {
	if repair == nil {
		f.Repair = ""
	}
	f.repair = repair
	e.found = append(e.found, f)
}

// gitRunner runs git in the repository.
type gitRunner struct {
	repo gitexec.Repo // its configuration includes the changes of repairs
	env  []string
}

// run runs git and returns its standard output, even with an error.
func (g *gitRunner) run(ctx context.Context, args ...string) (string, error) {
	out, err := gitexec.New(g.repo, g.env).Run(ctx, args...)
	return string(out), err
}
