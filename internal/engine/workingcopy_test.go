package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// folder is an engine.WorkingCopy on the files at the top of a folder, at a commit
// that is a test's word. What is captured goes into the history's objects.
type folder struct {
	history *history
	dir     string
	commit  string
	// before is called when a capture begins, with the number of captures before it,
	// and may make it fail.
	before   func(ctx context.Context, n int) error
	captures int
}

// folder is the working copy that the scratch's commands share.
func (s *scratch) folder() *folder { return &folder{history: s.history, dir: s.dir, commit: "c0ffee"} }

func (f *folder) Root() string { return f.dir }

func (f *folder) Capture(ctx context.Context) (*jjbridge.CapturedFiles, error) {
	f.captures++
	if f.before != nil {
		if err := f.before(ctx, f.captures-1); err != nil {
			return nil, err
		}
	}
	names, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var files []objstore.TreeEntry
	for _, name := range names {
		if !name.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(f.dir, name.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, objstore.TreeEntry{Name: name.Name(), Mode: objstore.ModeFile, ID: f.history.objects.Add(objstore.Blob, data)})
	}
	return &jjbridge.CapturedFiles{VCS: snapshot.VCS{
		Type: snapshot.VCSGit, CommitID: f.commit, Scope: snapshot.ScopeAll, Tree: f.history.objects.Add(objstore.Tree, objstore.EncodeTree(files)),
	}}, nil
}

// frame is a frame of the run.
func (s *scratch) frame(number int64) *snapshot.Entry {
	s.t.Helper()
	for _, e := range s.entries {
		if e.Frame == number {
			return e
		}
	}
	require.Fail(s.t, "no such frame", "%d", number)
	return nil
}

// vcs is what a frame says of the working copy; nil when that is nothing.
func (s *scratch) vcs(number int64) *snapshot.VCS {
	s.t.Helper()
	v, err := s.frame(number).VCSRevision()
	require.NoError(s.t, err)
	return v
}

// names are the files of a captured tree, in order.
func (s *scratch) names(tree objstore.ID) string {
	s.t.Helper()
	_, data, err := s.objects.Get(tree)
	require.NoError(s.t, err)
	entries, err := objstore.DecodeTree(tree, data)
	require.NoError(s.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// warnings gathers what the run warns of.
func (s *scratch) warnings() *[]string {
	said := &[]string{}
	s.opts.Warn = func(err error) { *said = append(*said, err.Error()) }
	return said
}
