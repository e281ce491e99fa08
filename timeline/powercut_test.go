package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// witness sees what is acknowledged while history is written.
type witness struct {
	t   *testing.T
	s   *timeline.Store
	ack func(h *timeline.Head) // the tip of h, and its newest frame, were acknowledged
	say func(a ack)            // the same of what another process has written
}

// deed is something that writes history, to be recorded.
type deed struct {
	name    string
	prepare func(w witness)
	before  func(repo *repotest.Repo) // between prepare and do
	do      func(w witness)
	hit     string // the ref that before broke
	session bool   // a hook of a coding agent does it, whose runs may lack their last frames
}

// writes are all that is written by our own code. What native git writes (packed refs,
// deletions) is git's to make durable.
var writes = []deed{
	{
		name: "the first run",
		do:   func(w witness) { frames(w, "run", 3) },
	},
	{
		name:    "groups of frames",
		prepare: func(w witness) { frames(w, "run", 2) },
		do: func(w witness) {
			appendGroup(w, 3)
			appendGroup(w, 2)
		},
	},
	{
		name:    "captures beside packed refs",
		prepare: func(w witness) { frames(w, "run", 3) },
		before:  func(repo *repotest.Repo) { repo.Git("pack-refs", "--all") },
		do: func(w witness) {
			head, err := w.s.Head(w.t.Context(), "run")
			require.NoError(w.t, err)
			require.NoError(w.t, head.Append(w.t.Context(), snapshot.Draft{Subject: "no frame"}))
			w.ack(head)
			require.NoError(w.t, head.Append(w.t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
			w.ack(head)
		},
	},
	{
		name:    "forks",
		prepare: func(w witness) { w.ack(triage(w.t, w.s, "parent")) },
		do: func(w witness) {
			for i := range 2 {
				child, err := w.s.Fork(w.t.Context(), forkRequest(i))
				require.NoError(w.t, err)
				w.ack(child)
			}
		},
	},
	{
		name:    "a series of several packs, and one that goes on from it",
		prepare: func(w witness) { frames(w, "other", 1) },
		do: func(w witness) {
			series, err := timeline.NewSeries(w.t.Context(), w.s, seriesRow("run"), nil)
			require.NoError(w.t, err)
			defer series.Close()
			series.FlushAt(1)
			for from := range 2 {
				addFrames(w.t, series, 3*from, 3*from+2)
				head, err := series.Commit(w.t.Context())
				require.NoError(w.t, err)
				w.ack(head)
			}
		},
	},
	{
		name:    "a merge of packs",
		prepare: func(w witness) { frames(w, "run", 14) },
		do: func(w witness) {
			frames(w, "other", 2)
			require.NoError(w.t, w.s.Close())
		},
	},
	{
		name:    "a seal",
		prepare: func(w witness) { frames(w, "run", 5) },
		do: func(w witness) {
			sealed, err := timeline.Seal(w.t.Context(), w.s, "run")
			require.NoError(w.t, err)
			require.Positive(w.t, sealed.BytesAfter)
		},
	},
}

// removals write less than there was. Their last fsync keeps away what is gone, and no
// more than that.
var removals = []deed{
	{
		name: "objects of another run that are dropped",
		prepare: func(w witness) {
			frames(w, "run", 4)
			frames(witness{w.t, w.s, func(*timeline.Head) {}, nil}, "gone", 4)
			_, err := timeline.Seal(w.t.Context(), w.s, "run", "gone") // both are in one pack then
			require.NoError(w.t, err)
		},
		before: func(repo *repotest.Repo) {
			for ref := range strings.FieldsSeq(repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/_tip/gone", "refs/smithers/gone")) {
				repo.Git("update-ref", "-d", ref)
			}
			repo.Git("commit-graph", "write", "--reachable", "--split=replace")
		},
		do: dropUnreachable,
	},
}

// repairs write what can be made again at any time.
var repairs = []deed{
	{
		name:    "a lost frame ref that is made again",
		prepare: func(w witness) { frames(w, "run", 3) },
		before:  func(repo *repotest.Repo) { repo.Git("update-ref", "-d", "refs/smithers/run/2") },
		do:      func(w witness) { w.ack(headOf(w.t, w.s, "run")) },
	},
	{
		name:    "an emptied frame ref that is made again",
		hit:     "refs/smithers/run/2",
		prepare: func(w witness) { frames(w, "run", 3) },
		before:  func(repo *repotest.Repo) { repo.WriteRef("refs/smithers/run/2", "") },
		do:      func(w witness) { w.ack(headOf(w.t, w.s, "run")) },
	},
}

// sessions are written by hooks of coding agents.
var sessions = []deed{
	{name: "the first frames of a session", session: true, do: func(w witness) { frames(w, "run", 3) }},
	{
		name:    "further frames of a session",
		session: true,
		prepare: func(w witness) { frames(w, "run", 2) },
		do: func(w witness) {
			for range 3 {
				head := headOf(w.t, w.s, "run")
				require.NoError(w.t, head.Append(w.t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
				w.ack(head)
			}
		},
	},
}

// appendGroup appends frames to the run together.
func appendGroup(w witness, count int) {
	w.t.Helper()
	head := headOf(w.t, w.s, "run")
	head.Hold()
	for i := range count {
		change := output("more", strconv.Itoa(i))
		require.NoError(w.t, head.Append(w.t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{change}}}))
	}
	require.NoError(w.t, head.Release(w.t.Context()))
	w.ack(head)
}

// dropUnreachable takes what no ref needs out of the packs of ours.
func dropUnreachable(w witness) {
	w.t.Helper()
	out, err := gitexec.New(w.s.Repo(), w.s.Env()).Run(w.t.Context(), "fsck", "--unreachable", "--no-progress")
	require.NoError(w.t, err)
	going := make(map[objstore.ID]struct{})
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		id, err := objstore.ParseID(fields[len(fields)-1])
		require.NoError(w.t, err, line)
		going[id] = struct{}{}
	}
	dropped, err := w.s.Objects().Drop(w.t.Context(), objstore.DropRequest{
		Choose: func(context.Context) (map[objstore.ID]struct{}, error) { return going, nil },
		Still:  func(context.Context, map[objstore.ID]struct{}) (bool, error) { return true, nil },
	})
	require.NoError(w.t, err)
	require.Positive(w.t, dropped.Objects)
	require.Positive(w.t, dropped.BytesAfter, "what both runs need stays")
}

// frames makes a run of so many frames.
func frames(w witness, run string, count int) {
	w.t.Helper()
	head, err := w.s.Create(w.t.Context(), snapshot.Run{ID: run, Status: snapshot.RunRunning}, snapshot.Draft{})
	require.NoError(w.t, err)
	w.ack(head)
	for i := 1; i < count; i++ {
		change := output(fmt.Sprintf("n%d", i), strconv.Itoa(i))
		require.NoError(w.t, head.Append(w.t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{change}}}))
		w.ack(head)
	}
}

// ack is one acknowledgement.
type ack struct {
	run, address string
	frame, tip   string // commits
}

// recording is a deed that was recorded.
type recording struct {
	repo  *repotest.Repo
	files *fsxtest.FS
	acks  []ack
	first int // number of acks from before it began
	hit   string
	late  bool // acks after the first can be lost

	unseen bool // git has written, which files does not record
}

// record does a deed with fsync, in a repository whose every write is recorded. A mark
// in the record stands for an ack.
func record(t *testing.T, d deed) *recording {
	t.Helper()
	repo := repotest.New(t, repotest.Bare)
	done := &recording{repo: repo, hit: d.hit, late: d.session}
	acknowledge := func(s *timeline.Store, h *timeline.Head) {
		address := fmt.Sprintf("%s:%d", h.Row().ID, h.Row().Frame)
		loaded, err := s.Load(t.Context(), address)
		require.NoError(t, err)
		done.acks = append(done.acks, ack{h.Row().ID, address, loaded.Entry.ID.String(), h.Entry().ID.String()})
	}
	if d.prepare != nil {
		s := openOn(t, repo.Dir, repo.Env, nil)
		d.prepare(witness{t, s, func(h *timeline.Head) { acknowledge(s, h) }, func(a ack) { done.acks = append(done.acks, a) }})
		require.NoError(t, s.Close())
	}
	if d.before != nil {
		d.before(repo)
	}
	done.first, done.files = len(done.acks), fsxtest.New(t, repo.GitDir)
	opts := optionsOn(t, repo.Dir, append(repo.Env, "GIT_SMITHERS_FSYNC=1"), done.files)
	opts.Session = d.session
	s, err := timeline.Open(t.Context(), opts)
	require.NoError(t, err)
	d.do(witness{t, s, func(h *timeline.Head) {
		done.files.Mark("acknowledged")
		acknowledge(s, h)
	}, nil})
	require.NoError(t, s.Close())
	return done
}

// openOn opens history that is written to files; nil: as in production.
func openOn(t *testing.T, dir string, env []string, files *fsxtest.FS) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(t.Context(), optionsOn(t, dir, env, files))
	require.NoError(t, err)
	return s
}

func optionsOn(t *testing.T, dir string, env []string, files *fsxtest.FS) timeline.Options {
	t.Helper()
	opts := timeline.Options{
		Dir: dir, Env: env, Now: clock(), Warn: func(err error) { t.Logf("warning: %v", err) },
	}
	if files != nil {
		opts.FS = files
	}
	return opts
}

// intact opens the repository in dir, and tells what is damaged, and what is lost of
// the first so many acks. With goOn it appends to each run.
func (r *recording) intact(t *testing.T, dir string, count int, goOn bool) (err error) {
	t.Helper()
	s, err := timeline.Open(t.Context(), optionsOn(t, dir, append(r.repo.Env, "GIT_SMITHERS_FSYNC=0"), nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	report, err := verify.Runs(t.Context(), s)
	if err != nil {
		return err
	}
	for _, p := range report.Problems {
		if !r.wasHit(dir, p) {
			return fmt.Errorf("verify found: %+v", p)
		}
	}
	if r.late {
		return r.wholeRuns(t, s, goOn)
	}
	for _, a := range r.acks[:count] {
		loaded, err := s.Load(t.Context(), a.address)
		if err != nil {
			return fmt.Errorf("%s was acknowledged: %w", a.address, err)
		}
		if got := loaded.Entry.ID.String(); got != a.frame {
			return fmt.Errorf("%s was acknowledged as %s and is %s", a.address, a.frame, got)
		}
	}
	return r.tipsIntact(t, s, count, goOn)
}

// wholeRuns checks that the tip of each run is one that was acknowledged, and not before what was there first.
func (r *recording) wholeRuns(t *testing.T, s *timeline.Store, goOn bool) error {
	t.Helper()
	runs := make(map[string][]string) // the tips, by run
	for _, a := range r.acks[max(0, r.first-1):] {
		runs[a.run] = append(runs[a.run], a.tip)
	}
	for run, tips := range runs {
		head, err := s.Head(t.Context(), run)
		if fault.CodeOf(err) == fault.RunNotFound && r.first == 0 {
			continue // it had only begun
		}
		if err != nil {
			return err
		}
		if tip := head.Entry().ID.String(); !slices.Contains(tips, tip) {
			return fmt.Errorf("the tip of %s is %s", run, tip)
		}
		if !goOn {
			continue
		}
		if err := head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}); err != nil {
			return fmt.Errorf("run %s does not go on: %w", run, err)
		}
	}
	return nil
}

// wasHit reports whether a problem is the ref that was broken before. It is made again at
// the first look, but for where a lock stays whose owner's note is lost.
func (r *recording) wasHit(dir string, p verify.Problem) bool {
	if r.hit == "" || !strings.Contains(p.What, r.hit) {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, r.hit+".lock"))
	return err == nil
}

// tipsIntact compares the tip of each run with the last that was acknowledged. It may
// be a later one, whose ack was still to come.
func (r *recording) tipsIntact(t *testing.T, s *timeline.Store, count int, goOn bool) error {
	t.Helper()
	last := make(map[string]int)
	for i, a := range r.acks[:count] {
		last[a.run] = i
	}
	for run, i := range last {
		head, err := s.Head(t.Context(), run)
		if err != nil {
			return err
		}
		tip := head.Entry().ID.String()
		if !slices.ContainsFunc(r.acks[i:], func(a ack) bool { return a.tip == tip }) {
			return fmt.Errorf("the tip of %s was acknowledged as %s and is %s", run, r.acks[i].tip, tip)
		}
		if !goOn {
			continue
		}
		if err := head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}); err != nil {
			return fmt.Errorf("run %s does not go on: %w", run, err)
		}
	}
	return nil
}

func TestTheCutOfPowerBetweenAnyTwoWritesLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for _, d := range slices.Concat(writes, removals, repairs, sessions) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			done := record(t, d)
			for _, cut := range fsxtest.Cuts() {
				t.Run(string(cut), func(t *testing.T) {
					t.Parallel()
					done.cutEverywhere(t, cut)
				})
			}
		})
	}
}

const (
	// everyCutVariable has every cut looked at, as `make crash` does; else it is every
	// cutsEvery-th where there are many.
	everyCutVariable = "EVERY_CUT"
	cutsEvery        = 3
	// fsckEvery is how many cuts git looks at one of: it takes longer than all else.
	fsckEvery = 6
	// looks is how many cuts are looked at side by side: many wait for a lock that a
	// dead process may have left.
	looks = 8
)

// prefix is what was done up to some op.
type prefix struct {
	op   fsxtest.Op // the last
	acks int        // how many there were
}

// prefixes replays what was done, up to every op in turn. It leaves out the op of the
// number without; -1: none.
func (r *recording) prefixes(without int) iter.Seq2[prefix, *fsxtest.Disk] {
	return func(yield func(prefix, *fsxtest.Disk) bool) {
		number, acks := -1, r.first
		skip := func(fsxtest.Op) bool {
			number++
			return number == without
		}
		for op, disk := range r.files.Replay(skip) {
			if op.Kind == fsxtest.Mark {
				acks++
			}
			if !yield(prefix{op, acks}, disk) {
				return
			}
		}
	}
}

// cutEverywhere cuts the power after every op that makes a difference.
func (r *recording) cutEverywhere(t *testing.T, cut fsxtest.Cut) {
	t.Helper()
	base, cuts := t.TempDir(), 0
	seen := make(map[string]bool)
	var looking sync.WaitGroup
	slots := make(chan struct{}, looks)
	for at, disk := range r.prefixes(-1) {
		what := image(disk, cut, at)
		if seen[what] || strings.HasPrefix(at.op.Path, "smithers/tmp/") && at.op.To == "" {
			continue // nobody reads unfinished files
		}
		seen[what] = true
		cuts++
		if os.Getenv(everyCutVariable) == "" && cut != fsxtest.Durable && cuts%cutsEvery != 0 {
			continue
		}
		dir, fsck := filepath.Join(base, strconv.Itoa(cuts)), cuts%fsckEvery == 0
		require.NoError(t, disk.WriteTo(dir, cut))
		slots <- struct{}{}
		looking.Go(func() {
			defer func() { <-slots }()
			// A lock may stay whose owner's note was lost: then the run goes on when it is gone.
			goOn := cut != fsxtest.Names
			assert.NoError(t, r.intact(t, dir, at.acks, goOn), "after %s", at.op)
			if fsck {
				out, err := r.repo.GitIn(dir, repotest.Fsck(dir, "--no-dangling", "--no-progress")...)
				assert.NoError(t, err, "git fsck after %s: %s", at.op, out)
			}
		})
	}
	looking.Wait()
	assert.Greater(t, cuts, 1)
}
