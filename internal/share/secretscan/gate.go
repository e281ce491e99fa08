// Package secretscan looks for secrets in runs before they leave the repository. It searches what the receiver lacks: every blob, the
// commit messages and the names of files and folders. It changes no run.
//
// What was searched and is clean is remembered by object id, in a file of the store's private folder that can be deleted at any
// time.
package secretscan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Run is a run that is to leave the repository.
type Run struct {
	ID  string
	Tip objstore.ID
}

// Request says what to search.
type Request struct {
	Runs []Run
	Also []objstore.ID // commits that leave the repository, too, and belong to no run
	Have []objstore.ID // tips of runs that the receiver has. Those that this repository lacks are ignored
	// Listed are objects that the receiver's other refs name. Those that this repository lacks are ignored.
	Listed []objstore.ID
	// Remote is the name of a configured remote that receives the runs, or "". The receiver has what the branches of the
	// remote have.
	Remote string
	Allow  []string // digests of findings that may leave the repository this time
	// Progress, if not nil, is called now and then with the number of objects that were searched, and their total.
	Progress func(done, total int)
}

// Finding is a secret in a run.
type Finding struct {
	RunID   string      `json:"runId"`  // "" if the secret is in a commit that belongs to no run
	Frame   *int64      `json:"frame"`  // the first frame that has the secret; nil if no frame of the run has it
	Commit  objstore.ID `json:"commit"` // the first entry or commit that has the secret; zero if unknown
	Place   string      `json:"place"`  // the path of a file in the entry or commit, or "message"
	Rule    string      `json:"rule"`
	Digest  string      `json:"digest"`            // names the secret without telling it: see redact.Digest
	Excerpt string      `json:"excerpt,omitempty"` // the text around the secret, which is masked
	Object  objstore.ID `json:"object"`            // zero for a mark
	Reason  string      `json:"reason,omitempty"`  // why the finding may leave the repository, if it was allowed for good
}

// Report is the result of a scan. No slice is nil.
type Report struct {
	Findings []Finding `json:"findings"` // sorted by run, frame and place
	Allowed  []Finding `json:"allowed"`  // what was found and is allowed
	Objects  int       `json:"objects"`  // objects that were searched, without those that are remembered
	Bytes    int64     `json:"bytes"`    // their size

	LFS     []LFSPointer             `json:"-"` // the pointers of git-lfs among the objects
	Modules map[string][]objstore.ID `json:"-"` // the commits of submodules, by their paths in the working copy
}

// Scan searches runs for secrets. It finds each secret once in each object and place. A scan that cannot finish is an error, so
// that nobody takes it for a clean one. Codes: secrets_file if the rules cannot be read; missing_object and corrupt_object if
// this repository lacks a part of a run.
func Scan(ctx context.Context, s *timeline.Store, req Request) (*Report, error) {
	finder, err := timeline.SecretFinder(s)
	if err != nil {
		return nil, err
	}
	kept, err := readAllowed(s)
	if err != nil {
		return nil, err
	}
	j := &scan{
		store: s, finder: finder, req: req, allowed: kept,
		clean: openMemory(s, finder.Fingerprint()), out: &Report{Findings: []Finding{}, Allowed: []Finding{}, Modules: make(map[string][]objstore.ID)},
	}
	if err := j.run(ctx); err != nil {
		return nil, timeline.Explain(err)
	}
	return j.out, nil
}

// scan is a scan in progress.
type scan struct {
	store   *timeline.Store
	finder  *redact.Finder
	req     Request
	allowed map[string]string // the reasons of findings that are allowed for good, by digest
	clean   *memory
	out     *Report
}

// run does the work of Scan.
func (j *scan) run(ctx context.Context) error {
	objects, err := j.lacking(ctx)
	if err != nil {
		return err
	}
	hits, err := j.search(ctx, objects)
	if err != nil {
		return err
	}
	if err := j.place(ctx, hits); err != nil {
		return err
	}
	if err := j.marks(); err != nil {
		return err
	}
	for _, list := range []*[]Finding{&j.out.Findings, &j.out.Allowed} {
		slices.SortStableFunc(*list, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(frameOf(a), frameOf(b)), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Digest, b.Digest))
		})
		*list = slices.CompactFunc(*list, func(a, b Finding) bool {
			return a.RunID == b.RunID && a.Place == b.Place && a.Digest == b.Digest
		})
		for i := range *list {
			(*list)[i].RunID = timeline.MaskSecrets(j.finder, (*list)[i].RunID)
		}
	}
	j.clean.save(j.store)
	return nil
}

// frameOf returns the frame of a finding, or -1.
func frameOf(f Finding) int64 {
	if f.Frame == nil {
		return -1
	}
	return *f.Frame
}

// add adds a finding to the report.
func (j *scan) add(f Finding) {
	f.Place = timeline.MaskSecrets(j.finder, f.Place)
	reason, kept := j.allowed[f.Digest]
	if f.Reason = reason; kept || slices.Contains(j.req.Allow, f.Digest) {
		j.out.Allowed = append(j.out.Allowed, f)
		return
	}
	j.out.Findings = append(j.out.Findings, f)
}

// marks adds the secrets that the runs' rows mark, which this clone may not recognize. It leaves out the marks of runs that the receiver has,
// and what the scan has found itself.
func (j *scan) marks() error {
	known := make(map[string]bool)
	for _, f := range slices.Concat(j.out.Findings, j.out.Allowed) {
		known[f.Digest] = true
	}
	there := make(map[string]bool)
	for _, id := range j.req.Have {
		if row, err := rowAt(j.store.Objects(), id); err == nil { // the receiver may have commits that this repository lacks
			for _, text := range row.Marks {
				there[text] = true
			}
		}
	}
	for _, run := range j.req.Runs {
		row, err := rowAt(j.store.Objects(), run.Tip)
		if err != nil {
			return err
		}
		for _, text := range row.Marks {
			m, ok := snapshot.ParseMark(text)
			if ok && !there[text] && !known[m.Digest] {
				j.add(Finding{RunID: run.ID, Commit: run.Tip, Place: m.Place, Rule: m.Rule, Digest: m.Digest})
			}
		}
	}
	return nil
}

// rowAt returns the row of the run at an entry.
func rowAt(r objstore.Reader, id objstore.ID) (snapshot.Run, error) {
	entry, err := snapshot.ReadEntry(r, id)
	if err != nil {
		return snapshot.Run{}, err
	}
	return entry.RunRow()
}

// Where returns where the finding is, for people: "RUN:FRAME PLACE".
func (f Finding) Where() string {
	switch {
	case f.Frame != nil:
		return timeline.Address{Run: f.RunID, Frame: *f.Frame}.String() + " " + f.Place
	case f.RunID != "":
		return f.RunID + " " + f.Place
	case f.Commit.IsZero():
		return "a commit " + f.Place
	}
	return fmt.Sprintf("commit %.8s %s", f.Commit, f.Place)
}
