package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// failsOnce is a workflow whose run fails the first time and finishes the next.
const failsOnce = "{name: w, tasks: [{id: a, run: 'test $SMITHERS_ATTEMPT = 2'}]}"

func TestResumingWithOtherCodeIsToldAndGoesOn(t *testing.T) {
	t.Parallel()
	const other = "the working copy is at commit decafba, and run r was at commit c0ffee at frame 3"
	for name, c := range map[string]struct {
		change func(*scratch, *folder)
		told   []string
	}{
		"nothing changed": {func(*scratch, *folder) {}, nil},
		"another commit, other files": {func(s *scratch, f *folder) {
			s.file("new", "")
			f.commit = "decafbad"
		}, []string{other + "; `git smithers restore r:3` restores the frame's code"}},
		"another commit, the same files": {
			func(_ *scratch, f *folder) { f.commit = "decafbad" },
			[]string{other + "; the files are the same"},
		},
		"other files": {
			func(s *scratch, _ *folder) { s.file("new", "") },
			[]string{"the working copy has other files than run r had at frame 3; `git smithers restore r:3` restores the frame's code"},
		},
		"a commit where there was one": {
			func(_ *scratch, f *folder) { f.commit = "" },
			[]string{"the working copy is at no commit, and run r was at commit c0ffee at frame 3; the files are the same"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, failsOnce, "")
			files := s.folder()
			s.opts.WorkingCopy = files
			said := s.warnings()
			_, err := s.run()
			fails(t, fault.RunFailed, err)
			assert.Empty(t, *said, "the first start has nothing to compare with")

			c.change(s, files)
			result, err := s.run()
			require.NoError(t, err)
			assert.Equal(t, snapshot.RunFinished, result.Run.Status)
			assert.Equal(t, c.told, append([]string(nil), *said...))
			assert.Equal(t, files.commit, result.Run.VCSRevision)
		})
	}
}

func TestTheFirstStartOfARunComparesNothing(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: 'true'}]}", "")
	s.opts.WorkingCopy = s.folder()
	require.NoError(t, s.open(t).Append(t.Context(), snapshot.Draft{
		Frame: &snapshot.FrameDraft{}, VCS: &snapshot.VCS{Type: snapshot.VCSGit, CommitID: "decafbad"}, Subject: "forked", AtMs: 1,
	}))
	said := s.warnings()
	_, err := s.run()
	require.NoError(t, err)
	assert.Empty(t, *said)
}

func TestAForkThatBeginsOnOtherFilesIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*scratch, *folder)
		bring  string
		told   []string
	}{
		"the same files, in another working copy": {func(_ *scratch, f *folder) { f.commit = "decafbad" }, "", nil},
		"other files": {
			func(s *scratch, _ *folder) { s.file("new", "") }, "",
			[]string{"the working copy has other files than p:7, from which run r was forked; `git smithers restore r:0` restores the frame's code"},
		},
		"another commit, other files, and a way to have them": {
			func(s *scratch, f *folder) {
				s.file("new", "")
				f.commit = "decafbad"
			}, "`a command` runs on its files",
			[]string{"the working copy is at commit decafba, and run r was forked from p:7, which was at commit c0ffee; `a command` runs on its files"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, "{name: w, tasks: [{id: a, run: 'true'}]}", "")
			files := s.folder()
			s.opts.WorkingCopy, s.opts.BringFiles = files, c.bring
			then, err := files.Capture(t.Context())
			require.NoError(t, err)
			parent := snapshot.Parent{RunID: "p", Frame: 7, Commit: s.tip().ID, AtMs: 1}
			require.NoError(t, s.open(t).Append(t.Context(), snapshot.Draft{
				VCS: &then.VCS, Subject: "forked", AtMs: 1,
				Run: func(row *snapshot.Run) { row.Parent = &parent },
			}))
			said := s.warnings()
			c.change(s, files)
			_, err = s.run()
			require.NoError(t, err)
			assert.Equal(t, c.told, append([]string(nil), *said...))
		})
	}
}

func TestAnInterruptedAttemptHasTheFilesThatTheResumeFound(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: a, run: 'test $SMITHERS_ATTEMPT = 2'}
  - {id: b, run: 'test $SMITHERS_ATTEMPT = 2'}
`, "")
	died := errors.New("the machine went down")
	s.refuse = func(d snapshot.Draft) error {
		if d.Subject != "a, b started" {
			return died
		}
		return nil
	}
	s.opts.WorkingCopy = s.folder()
	_, err := s.run()
	require.ErrorIs(t, err, died)

	s.refuse = nil
	s.file("mine", "")
	_, err = s.run()
	require.NoError(t, err)
	a := s.attempts()["a::0::1"]
	assert.Equal(t, int64(2), *a.Frame)
	assert.Equal(t, "a, b was interrupted", s.frame(2).Subject)
	assert.Equal(t, "mine", s.names(a.Tree))
	assert.Equal(t, []string{"b::0::1"}, a.Beside)
}

func TestAnAttemptWithoutFilesOfItsOwnNamesItsCommit(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: touch a}]}", "")
	s.opts.WorkingCopy = revisionOnly{s.folder()}
	_, err := s.run()
	require.NoError(t, err)
	a := s.attempts()["a::0::1"]
	assert.Equal(t, "c0ffee", a.CommitID)
	assert.True(t, a.Tree.IsZero())
	assert.Equal(t, "c0ffee", s.vcs(2).CommitID)
}

// revisionOnly is a folder of which only the revision is captured.
type revisionOnly struct{ *folder }

func (r revisionOnly) Capture(ctx context.Context) (*jjbridge.CapturedFiles, error) {
	got, err := r.folder.Capture(ctx)
	if err == nil {
		got.VCS.Tree, got.VCS.Scope = snapshot.VCS{}.Tree, ""
	}
	return got, err
}
