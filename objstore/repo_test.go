package objstore_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// repo is a bare scratch repository.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t, filepath.Join(t.TempDir(), "repo.git")}
	require.NoError(t, os.Mkdir(r.dir, 0o777))
	r.git("init", "-q", "--bare", "--object-format="+map[objstore.Algorithm]string{objstore.SHA1: "sha1", objstore.SHA256: "sha256"}[testHash()])
	r.git("config", "gc.auto", "0")
	return r
}

// testHash returns the hash of the repositories of most tests: SHA1, or SHA256 with GIT_DEFAULT_HASH=sha256.
func testHash() objstore.Algorithm {
	if os.Getenv("GIT_DEFAULT_HASH") == "sha256" {
		return objstore.SHA256
	}
	return objstore.SHA1
}

// run runs git in the repository, apart from the machine's configuration.
func (r *repo) run(stdin string, args ...string) (string, error) {
	return r.runWith(nil, stdin, args...)
}

// runWith is run with more in the environment.
func (r *repo) runWith(env []string, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.run("", args...)
	require.NoError(r.t, err, "git %v: %s", args, out)
	return strings.TrimSpace(out)
}

// fsck requires that git finds nothing wrong.
func (r *repo) fsck() {
	r.t.Helper()
	out := r.git("fsck", "--strict", "--full", "--no-dangling", "--no-progress")
	for line := range strings.Lines(out) {
		require.True(r.t, strings.HasPrefix(line, "notice: "), out) // about a repository without branches
	}
}

func (r *repo) options() objstore.Options {
	return objstore.Options{
		Hash:       testHash(),
		ObjectsDir: filepath.Join(r.dir, "objects"),
		TempDir:    filepath.Join(r.dir, "smithers", "tmp"),
		Fsync:      objstore.Relaxed,
	}
}

// open opens the store with options that change changes.
func (r *repo) open(change ...func(*objstore.Options)) *objstore.Store {
	r.t.Helper()
	opts := r.options()
	for _, c := range change {
		c(&opts)
	}
	s, err := objstore.Open(opts)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { assert.NoError(r.t, s.Close()) })
	return s
}

// packs is the base names of the pack directory's files with one of the suffixes.
func (r *repo) packs(suffixes ...string) []string {
	r.t.Helper()
	files, err := os.ReadDir(filepath.Join(r.dir, "objects", "pack"))
	require.NoError(r.t, err)
	var names []string
	for _, f := range files {
		for _, suffix := range suffixes {
			if strings.HasSuffix(f.Name(), suffix) {
				names = append(names, f.Name())
			}
		}
	}
	return names
}

func (r *repo) packPath(name string) string {
	return filepath.Join(r.dir, "objects", "pack", name)
}

const tipRef = "refs/smithers/_tip/abc"

// moveTip is a Commit callback that moves the tip to id.
func (r *repo) moveTip(id objstore.ID) func() error {
	return func() error {
		if out, err := r.run("", "update-ref", tipRef, id.String()); err != nil {
			return fmt.Errorf("update-ref: %w: %s", err, out)
		}
		return nil
	}
}

// chain writes entries like those of a run: each a commit on the one before, of a
// tree with two levels of pages of which one changes.
type chain struct {
	pages   [][]byte
	frames  int
	tip     objstore.ID
	written map[objstore.ID][]byte
}

func newChain(pages int) *chain {
	c := &chain{written: make(map[objstore.ID][]byte)}
	for i := range pages {
		c.pages = append(c.pages, pageOf(i, 0))
	}
	return c
}

func pageOf(page, version int) []byte {
	var b bytes.Buffer
	for row := range 8 {
		state := "pending"
		if row == version%8 {
			state = "finished-" + strconv.Itoa(version)
		}
		fmt.Fprintf(&b, "[\"node-%d-%d::0\",{\"label\":\"step %d of %d\",\"lastAttempt\":null,\"needs\":[\"node-%d-0\"],\"state\":%q}]\n",
			page, row, row, page, page, state)
	}
	return b.Bytes()
}

func (c *chain) add(w objstore.Writer, kind objstore.Kind, data []byte) objstore.ID {
	id := w.Add(kind, data)
	c.written[id] = data
	return id
}

// step adds the objects of the next entry to w and returns its commit.
func (c *chain) step(w objstore.Writer) objstore.ID {
	c.pages[c.frames%len(c.pages)] = pageOf(c.frames%len(c.pages), c.frames)
	var dirs []objstore.TreeEntry
	for start := 0; start < len(c.pages); start += 16 {
		var entries []objstore.TreeEntry
		for i, page := range c.pages[start:min(start+16, len(c.pages))] {
			entries = append(entries, objstore.TreeEntry{Name: strconv.FormatInt(int64(i), 16), Mode: objstore.ModeFile, ID: c.add(w, objstore.Blob, page)})
		}
		id := c.add(w, objstore.Tree, objstore.EncodeTree(entries))
		dirs = append(dirs, objstore.TreeEntry{Name: strconv.FormatInt(int64(start/16), 16), Mode: objstore.ModeTree, ID: id})
	}
	state := c.add(w, objstore.Tree, objstore.EncodeTree(dirs))
	run := c.add(w, objstore.Blob, fmt.Appendf(nil, "{\"frame\":%d,\"runId\":\"abc\",\"status\":\"running\"}\n", c.frames))
	root := c.add(w, objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{
		{Name: "run.json", Mode: objstore.ModeFile, ID: run},
		{Name: "state", Mode: objstore.ModeTree, ID: state},
	}))
	parent := ""
	if !c.tip.IsZero() {
		parent = "parent " + c.tip.String() + "\n"
	}
	who := objstore.Author + " " + strconv.Itoa(1700000000+c.frames) + " +0000"
	c.tip = c.add(w, objstore.Commit, fmt.Appendf(nil, "tree %v\n%sauthor %s\ncommitter %s\n\nframe %d\n", root, parent, who, who, c.frames))
	c.frames++
	return c.tip
}

// capture writes the next entry to the store and moves the ref to it.
func (c *chain) capture(r *repo, s *objstore.Store) {
	r.t.Helper()
	b := s.Begin()
	id := c.step(b)
	require.NoError(r.t, b.Commit(r.t.Context(), r.moveTip(id)))
}

// requireAll requires that every object ever written can be read.
func (c *chain) requireAll(t testing.TB, r objstore.Reader) {
	t.Helper()
	for id, data := range c.written {
		_, got, err := r.Get(id)
		require.NoError(t, err)
		require.Equal(t, string(data), string(got))
	}
}

// What the other tests of this package check in a sha1 repository holds in a sha256 repository, too: GIT_DEFAULT_HASH=sha256 runs all of them there. This
// one is in every run: packs of captures, their merge, and what git packs, by names that git takes for packs.
func TestASHA256RepositoryIsWrittenMergedAndRead(t *testing.T) {
	t.Setenv("GIT_DEFAULT_HASH", "sha256")
	r := newRepo(t)
	s := r.open()
	c := newChain(40)
	for range 20 {
		c.capture(r, s)
	}
	_, err := s.Merge(t.Context())
	require.NoError(t, err)
	c.capture(r, s)
	r.fsck()
	assert.Equal(t, "21", r.git("rev-list", "--count", tipRef))
	for _, pack := range r.packs(".pack") {
		assert.Len(t, pack, len("pack-.pack")+2*objstore.SHA256.Size())
	}
	c.requireAll(t, r.open())
	r.git("repack", "-a", "-d", "-q")
	assert.Len(t, r.packs(".pack"), 1, "git removes the packs that it has replaced")
	c.requireAll(t, r.open())
	_, _, err = s.Get(objstore.SHA1.EmptyBlob())
	require.ErrorIs(t, err, objstore.ErrNotFound, "an id of the other hash")
}
