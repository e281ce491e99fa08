package keep

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The kinds of findings.
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
	// damagedFolder is where what is damaged goes, in the store's private folder.
	damagedFolder = "damaged"
	// manyFiles is the number of refs in files of their own from which packing them pays.
	manyFiles = 400
)

// Finding is something that is wrong, or that will hurt, and how it can be mended.
type Finding struct {
	Kind   string `json:"kind"`
	What   string `json:"what"`   // what is wrong, one line
	Where  string `json:"where"`  // a ref, a run, or a file below the common directory
	Repair string `json:"repair"` // what Repair would do; "" where only a person can
	Fixed  bool   `json:"fixed"`

	repair func(context.Context) error
}

// Harmless reports whether what was found takes space or time, and nothing else.
func (f Finding) Harmless() bool { return f.Kind == Untidy || f.Kind == MissingFrames }

// Examine looks for what is wrong and changes nothing but a newest frame's ref that a
// crash left out. What is to be mended first comes first: what is mended may bring to
// light what it hid, so after a Repair it is worth to Examine again.
func (k *Keeper) Examine(ctx context.Context) ([]Finding, error) {
	e := &examination{Keeper: k, found: []Finding{}}
	if err := e.readRefs(ctx); err != nil {
		return nil, timeline.Explain(err)
	}
	parts := []func(context.Context) error{
		e.locks, e.packIndex, e.objectFiles, e.brokenRefs, e.misplaced, e.names, e.lostRefs, e.runs, e.lostTips, e.mirrors, e.index, e.tidiness,
	}
	if len(e.found) > 0 {
		parts = nil // no ref can be looked at before packed-refs is mended
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	return e.found, nil
}

// Repair mends a finding of Examine; nothing is deleted that is not kept elsewhere first,
// in the folder damaged of the store's private folder. Codes: those of what it takes to
// mend it; usage where only a person can.
func (k *Keeper) Repair(ctx context.Context, finding *Finding) error {
	if finding.repair == nil {
		return fault.New(fault.Usage, "only a person can mend this: %s: %s", finding.Where, finding.What)
	}
	if err := finding.repair(ctx); err != nil {
		return timeline.Explain(err)
	}
	finding.Fixed = true
	return nil
}

// examination gathers findings.
type examination struct {
	*Keeper

	refs      *refs.Inventory
	dropped   []refs.PackedLine                          // of packed-refs, when that was mended
	elsewhere []objstore.ID                              // what refs in wrong places are at
	entries   map[string]map[objstore.ID]*snapshot.Entry // all there are, by run; nil until they are needed
	found     []Finding
}

// note adds a finding; repair is nil where only a person can mend it.
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

// aside is the folder for what is damaged, and one in it.
func (k *Keeper) aside(parts ...string) string {
	return filepath.Join(append([]string{k.parts.Private, damagedFolder}, parts...)...)
}

// inCommonDir is the path of a file that is given as in Finding.Where.
func (k *Keeper) inCommonDir(file string) string {
	return filepath.Join(k.parts.Repo.CommonDir, filepath.FromSlash(file))
}

// counted is a number of things, with an s where there are several.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
