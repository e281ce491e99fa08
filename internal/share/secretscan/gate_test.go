package secretscan_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const secret = "correct-horse-battery-9"

// clone is a repository whose runs are stored with their secrets.
type clone struct {
	*repotest.Repo

	t     *testing.T
	store *timeline.Store
	head  *timeline.Head
}

// newClone returns a clone with a run "r", whose frame 0 is clean.
func newClone(t *testing.T) *clone {
	t.Helper()
	c := &clone{Repo: repotest.New(t, repotest.Commit), t: t}
	c.store = c.open("off")
	var err error
	c.head, err = c.store.Create(t.Context(), snapshot.Run{ID: "r", Workflow: "flow", Status: snapshot.RunRunning}, snapshot.Draft{Subject: "started"})
	require.NoError(t, err)
	return c
}

// open opens the history with a value of smithers.secrets.
func (c *clone) open(secrets string) *timeline.Store {
	c.t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	store, err := timeline.Open(context.Background(), timeline.Options{
		Dir: c.Dir, Env: append(c.Env, "CI_PASSWORD="+secret, "GIT_SMITHERS_FSYNC=0", "GIT_SMITHERS_SECRETS="+secrets),
		Now: func() time.Time { return at },
	})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { assert.NoError(c.t, store.Close()) })
	return store
}

// frame appends a frame with changes of the state.
func (c *clone) frame(draft snapshot.Draft) {
	c.t.Helper()
	if draft.Frame == nil {
		draft.Frame = &snapshot.FrameDraft{}
	}
	require.NoError(c.t, c.head.Append(c.t.Context(), draft))
}

// scan searches the run.
func (c *clone) scan(req secretscan.Request) *secretscan.Report {
	c.t.Helper()
	req.Runs = []secretscan.Run{{ID: "r", Tip: c.head.Entry().ID}}
	report, err := secretscan.Scan(c.t.Context(), c.open("redact"), req)
	require.NoError(c.t, err)
	return report
}

// setInput is a draft that sets the input of the run.
func setInput(value string) snapshot.Draft {
	text, _ := json.Marshal(value)
	return snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: text}}}}
}

func TestAScanNamesTheFirstFrameWithTheSecret(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.frame(setInput("clean"))
	c.frame(setInput("this is " + secret + ", and password=hT7-kk2.Wq9z too"))
	c.frame(snapshot.Draft{Subject: "later"})

	report := c.scan(secretscan.Request{})

	require.Len(t, report.Findings, 2)
	f := report.Findings[0]
	if f.Rule != "CI_PASSWORD" {
		f = report.Findings[1]
	}
	assert.Equal(t, secretscan.Finding{
		RunID: "r", Frame: new(int64(2)), Commit: f.Commit, Place: "input", Rule: "CI_PASSWORD", Digest: redact.Digest([]byte(secret)),
		Excerpt: `"this is co•••, and password=••• too"`, Object: f.Object,
	}, f)
	err := report.Refusal("nothing was pushed")
	assert.Equal(t, fault.SecretsFound, fault.CodeOf(err))
	assert.ErrorContains(t, err, "nothing was pushed: 2 secrets in 2 places")
	known, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok)
	assert.Contains(t, strings.Join(known.Hints, "\n"), "`git smithers fork r:1` forks it at its last clean frame")
	assert.NotContains(t, strings.Join(known.Hints, "\n"), secret)
}

// capture appends a frame with the files of the working copy.
func (c *clone) capture() {
	c.t.Helper()
	files, err := files.WorkingCopyOf(c.store).Capture(c.t.Context())
	require.NoError(c.t, err)
	c.frame(snapshot.Draft{VCS: &files.VCS, Objects: files.Objects})
	require.NoError(c.t, files.Close())
}

func TestEveryPartOfARunIsSearched(t *testing.T) {
	t.Parallel()
	captured := func(path, content string) func(*clone) {
		return func(c *clone) {
			c.Write(path, content)
			c.capture()
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	words := func(size int) string {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString([]string{"one ", "two\n", "three, ", "four "}[random.IntN(4)])
		}
		return b.String()[:size]
	}
	for name, test := range map[string]struct {
		make  func(*clone)
		place string
	}{
		"a message":          {func(c *clone) { c.frame(snapshot.Draft{Subject: "is " + secret}) }, "message"},
		"a captured file":    {captured("new/a.txt", "is "+secret), "worktree/new/a.txt"},
		"the name of a file": {captured(secret+".txt", "x"), "worktree/•••.txt"},
		"a large file":       {captured("a.txt", words(4<<20-10)+secret+words(100)), "worktree/a.txt"},
		"the workflow":       {func(c *clone) { c.frame(snapshot.Draft{Workflow: &snapshot.Workflow{Definition: []byte(secret)}}) }, "workflow/definition"},
		"data of another engine": {func(c *clone) {
			c.frame(snapshot.Draft{Ext: &snapshot.ExtDraft{Engine: "e", Files: map[string][]byte{"f": []byte(secret)}}})
		}, "ext/e/f"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClone(t)
			test.make(c)
			report := c.scan(secretscan.Request{})
			require.NotEmpty(t, report.Findings)
			assert.True(t, strings.HasPrefix(report.Findings[0].Place, test.place), report.Findings[0].Place)
			assert.Equal(t, int64(1), *report.Findings[0].Frame)
		})
	}
}

// A large value is cut into chunks, which are blobs of their own.
func TestASecretThatChunksCutIsFound(t *testing.T) {
	t.Parallel()
	const secrets = 1500
	c := newClone(t)
	var text strings.Builder
	random := rand.New(rand.NewPCG(3, 4))
	var digests []string
	for range secrets {
		word := make([]byte, 14)
		for i := range word {
			word[i] = "abcdefghkmnpqrstuvwxyzABCDEFGHKLMNPQRSTUVWXYZ23456789"[random.IntN(53)]
		}
		text.WriteString("some words password=" + string(word) + "9z; ")
		digests = append(digests, redact.Digest([]byte(string(word)+"9z")))
	}
	c.frame(setInput(text.String()))
	found := make(map[string]bool)
	for _, f := range c.scan(secretscan.Request{}).Findings {
		found[f.Digest] = true
	}
	for _, digest := range digests {
		assert.True(t, found[digest])
	}
}

func TestACleanRunIsSearchedOnce(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.frame(setInput("clean"))
	assert.Positive(t, c.scan(secretscan.Request{}).Objects)
	assert.Zero(t, c.scan(secretscan.Request{}).Objects, "what is clean is remembered")
	memory := c.store.InPlace("scanned")
	info, err := os.Stat(memory)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	c.Env = append(c.Env, "OTHER_TOKEN=another-secret-5")
	assert.Positive(t, c.scan(secretscan.Request{}).Objects, "something else counts as a secret now")
	require.NoError(t, os.WriteFile(memory, []byte("nonsense"), 0o600))
	assert.Positive(t, c.scan(secretscan.Request{}).Objects)
	require.NoError(t, os.Remove(memory))
	assert.Positive(t, c.scan(secretscan.Request{}).Objects)

	c.frame(setInput(secret))
	assert.Len(t, c.scan(secretscan.Request{}).Findings, 1)
	assert.Len(t, c.scan(secretscan.Request{}).Findings, 1, "what is found is found again")
}

func TestTheRefusalSaysWhatHelpsAgainstASecretInAWorkflow(t *testing.T) {
	t.Parallel()
	hints := func(draft snapshot.Draft) string {
		c := newClone(t)
		c.frame(draft)
		known, ok := errors.AsType[*fault.Error](c.scan(secretscan.Request{}).Refusal("no"))
		require.True(t, ok)
		return strings.Join(known.Hints, "\n")
	}
	const hint = "let the commands read the secret from a variable"
	assert.Contains(t, hints(snapshot.Draft{Workflow: &snapshot.Workflow{Definition: []byte(secret)}}), hint)
	assert.NotContains(t, hints(setInput(secret)), hint)
}

func TestAnExceptionForAPathSaysNothingOfOtherPaths(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.Write(".smithers/secrets.yaml", "allow:\n  - {path: \"*.sample\", reason: made up}\n")
	c.Write("a.sample", "password=hT7-kk2.Wq9z\n")
	c.capture()
	require.Empty(t, c.scan(secretscan.Request{}).Findings)
	require.NoError(t, os.Rename(filepath.Join(c.Dir, "a.sample"), filepath.Join(c.Dir, "a.txt")))
	c.capture()
	found := c.scan(secretscan.Request{}).Findings
	require.Len(t, found, 1)
	assert.Equal(t, "worktree/a.txt", found[0].Place)
}

func TestAnExceptionForAFolderSaysNothingOfItsNamesElsewhere(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.Write(".smithers/secrets.yaml", "allow:\n  - {path: \"samples/*\", reason: made up}\n")
	c.Write("samples/password=hT7-kk2.Wq9z", "clean")
	c.capture()
	require.Empty(t, c.scan(secretscan.Request{}).Findings)
	require.NoError(t, os.Rename(filepath.Join(c.Dir, "samples"), filepath.Join(c.Dir, "other")))
	c.capture()
	require.Len(t, c.scan(secretscan.Request{}).Findings, 1)
}

func TestWhatTheReceiverHasIsNotSearched(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.frame(setInput(secret))
	there := c.head.Entry().ID
	c.frame(setInput("clean"))
	assert.Empty(t, c.scan(secretscan.Request{Have: []objstore.ID{there, objstore.SHA1.ID(objstore.Blob, []byte("not here"))}}).Findings)
	assert.Len(t, c.scan(secretscan.Request{}).Findings, 1)

	c.Write("old.txt", "the password is "+secret)
	c.Git("add", ".")
	c.Git("commit", "-q", "-m", "old")
	c.Git("tag", "-a", "-m", "t", "v1")
	c.Write("old.txt", "gone")
	c.Git("commit", "-q", "-a", "-m", "new")
	one := secretscan.Request{Also: []objstore.ID{c.id("HEAD")}}
	for name, listed := range map[string]string{"a branch": "HEAD", "an annotated tag": "v1", "a tree": "v1^{tree}", "a blob": "v1:old.txt"} {
		one.Listed = []objstore.ID{c.id(listed), objstore.SHA1.ID(objstore.Commit, []byte("not here"))}
		report, err := secretscan.Scan(t.Context(), c.open("redact"), one)
		require.NoError(t, err)
		assert.Empty(t, report.Findings, name)
		if name == "a branch" {
			assert.Zero(t, report.Objects)
		}
	}
	one.Listed = nil
	report, err := secretscan.Scan(t.Context(), c.open("redact"), one)
	require.NoError(t, err)
	assert.Len(t, report.Findings, 1)
	_, err = secretscan.Scan(t.Context(), c.open("redact"), secretscan.Request{Also: []objstore.ID{objstore.SHA1.ID(objstore.Commit, []byte("not here"))}})
	require.ErrorIs(t, err, objstore.ErrNotFound, "what is to leave the repository must be here")
}

// id returns the id of what a name of git names.
func (c *clone) id(name string) objstore.ID {
	c.t.Helper()
	id, err := objstore.ParseID(c.Git("rev-parse", name))
	require.NoError(c.t, err)
	return id
}

// The receiver has the file, but not the path.
func TestAPathIsSearchedWhereTheReceiverHasTheFile(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.Write("a.txt", "clean")
	c.Write("folder/b.txt", "clean, too")
	c.Git("add", ".")
	c.Git("commit", "-q", "-m", "files")
	there := secretscan.Request{Listed: []objstore.ID{c.id("HEAD")}}
	c.Write(secret+".txt", "clean")
	c.Write("in-"+secret+"/b.txt", "clean, too")
	c.Write("deep/"+secret+"/below/b.txt", "clean, too")
	c.capture()
	for range 2 { // what is found is found again
		var places []string
		for _, f := range c.scan(there).Findings {
			places = append(places, f.Place)
			assert.Equal(t, int64(1), *f.Frame)
		}
		assert.Equal(t, []string{"worktree/deep/•••", "worktree/in-•••", "worktree/•••.txt"}, places)
	}

	c.Write("folder/"+secret+".txt", "clean")
	c.Git("add", "folder")
	c.Git("commit", "-q", "-m", "more")
	report, err := secretscan.Scan(t.Context(), c.open("redact"), secretscan.Request{Also: []objstore.ID{c.id("HEAD")}, Listed: there.Listed})
	require.NoError(t, err)
	require.Len(t, report.Findings, 1, "in a commit of the user's")
	assert.Equal(t, "folder/•••.txt", report.Findings[0].Place)
}

// People see where a secret stands, and not the secret that stands in the place.
func TestASecretInAPathIsMasked(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.Write("in-"+secret+"/a "+secret+".txt", "password=hT7-kk2.Wq9z")
	c.capture()

	report := c.scan(secretscan.Request{})

	var places []string
	text, err := json.Marshal(report)
	require.NoError(t, err)
	assert.NotContains(t, string(text), secret)
	for _, f := range report.Findings {
		places = append(places, f.Place)
	}
	assert.Equal(t, []string{"worktree/in-•••", "worktree/in-•••/a •••.txt", "worktree/in-•••/a •••.txt"}, places)
	assert.NotContains(t, report.Refusal("no").Error(), secret)
}

func TestAllowedFindingsAreToldApart(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.frame(setInput(secret))
	digest := redact.Digest([]byte(secret))
	once := c.scan(secretscan.Request{Allow: []string{digest}})
	assert.Empty(t, once.Findings)
	assert.Len(t, once.Allowed, 1)
	require.NoError(t, once.Refusal("no"))
	assert.Len(t, c.scan(secretscan.Request{}).Findings, 1)

	require.Error(t, secretscan.Allow(c.store, " ", digest))
	assert.Equal(t, fault.Usage, fault.CodeOf(secretscan.Allow(c.store, "x", secret)))
	require.NoError(t, secretscan.Allow(c.store, "an example", digest))
	kept := c.scan(secretscan.Request{})
	assert.Empty(t, kept.Findings)
	assert.Equal(t, "an example", kept.Allowed[0].Reason)
}

// A clone that does not know the secret knows it by the run's mark.
func TestAMarkedSecretIsFoundWhereNobodyKnowsIt(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	store := c.open("redact")
	head, err := store.Head(t.Context(), "r")
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Workflow: &snapshot.Workflow{Definition: []byte("run: " + secret)}}))
	stranger, err := timeline.Open(t.Context(), timeline.Options{Dir: c.Dir, Env: c.Env, Now: time.Now})
	require.NoError(t, err)
	defer stranger.Close() //nolint:errcheck // it was only read

	report, err := secretscan.Scan(t.Context(), stranger, secretscan.Request{Runs: []secretscan.Run{{ID: "r", Tip: head.Entry().ID}}})

	require.NoError(t, err)
	require.Len(t, report.Findings, 1)
	assert.Equal(t, "workflow/definition", report.Findings[0].Place)
	assert.Equal(t, redact.Digest([]byte(secret)), report.Findings[0].Digest)
}

func TestAScanThatCannotFinishIsNotClean(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.frame(setInput("clean"))
	tip := c.head.Entry().ID
	require.NoError(t, c.store.Close())
	for _, folder := range []string{"objects/pack", "objects"} {
		entries, err := os.ReadDir(filepath.Join(c.GitDir, folder))
		require.NoError(t, err)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".pack") {
				require.NoError(t, os.Truncate(filepath.Join(c.GitDir, folder, e.Name()), 40))
			}
		}
	}
	store := c.open("redact")
	_, err := secretscan.Scan(t.Context(), store, secretscan.Request{Runs: []secretscan.Run{{ID: "r", Tip: tip}}})
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = secretscan.Scan(ctx, store, secretscan.Request{Runs: []secretscan.Run{{ID: "r", Tip: tip}}})
	assert.ErrorIs(t, err, context.Canceled)
	c.Damaged()
}
