package timeline_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// scene is a working copy with all that makes files hard to bring back.
type scene struct {
	*repotest.Repo
	t    *testing.T
	kind repotest.Kind
}

func (s scene) path(name string) string { return filepath.Join(s.Dir, filepath.FromSlash(name)) }

func (s scene) link(target, name string) {
	s.t.Helper()
	require.NoError(s.t, os.Symlink(target, s.path(name)))
}

func (s scene) chmod(mode os.FileMode, name string) {
	s.t.Helper()
	require.NoError(s.t, os.Chmod(s.path(name), mode))
}

func (s scene) remove(names ...string) {
	s.t.Helper()
	for _, name := range names {
		require.NoError(s.t, os.RemoveAll(s.path(name)))
	}
}

// furnish is the working copy when the run starts.
func (s scene) furnish() {
	s.t.Helper()
	media := filepath.Join(s.Home, "media")
	require.NoError(s.t, os.Mkdir(media, 0o777))
	s.Git("config", "filter.lfs.clean", "f=$(mktemp) && cat >$f && o=$(git hash-object --no-filters $f) && mv $f '"+media+"'/$o && echo oid $o")
	s.Git("config", "filter.lfs.smudge", "read _ o && cat '"+media+"'/$o")
	s.Git("config", "filter.lfs.required", "true")
	s.Write(".gitattributes", "*.lf text eol=lf\n*.bin filter=lfs -text\n*.raw -text\n")
	s.Write(".gitignore", "*.log\nout/\n")
	s.Write("unix.lf", "one\ntwo\n")
	s.Write("mixed.lf", "one\r\ntwo\nthree\r\n")
	s.Write("mixed.raw", "one\r\ntwo\n")
	s.Write("asset.bin", "asset\x00\r\n")
	s.Write("empty", "")
	s.Write("run.sh", "#!/bin/sh\n")
	s.chmod(0o755, "run.sh")
	s.Write("locked", "before\n")
	s.chmod(0o444, "locked")
	s.Write("Name", "case\n")
	s.Write("folder/of/files", "f\n")
	s.Write("file", "f\n")
	s.link("src/main.go", "link")
	s.Write("a \"b\"\t:(top) \u00e9", "odd name\n")
	s.Write("noise.log", "ignored\n")
	s.Write("out/built", "ignored\n")
	s.Write("inner/mine", "of another repository\n")
	cmd := exec.Command("git", "init", "--quiet", s.path("inner"))
	cmd.Env = s.Env
	require.NoError(s.t, cmd.Run())
}

// attempt changes everything that furnish made, and what was there before.
func (s scene) attempt() {
	s.t.Helper()
	s.Write("unix.lf", "one\nTWO\n")
	s.Write("mixed.lf", "ONE\r\ntwo\nthree\r\n")
	s.Write("mixed.raw", "one\r\nTWO\n")
	s.Write("asset.bin", "other asset\x00\r\n")
	s.Write("empty", "no more\n")
	s.chmod(0o644, "run.sh")
	s.remove("locked")
	s.Write("locked", "after\n")
	s.chmod(0o444, "locked")
	require.NoError(s.t, os.Rename(s.path("Name"), s.path("name")))
	s.remove("folder", "file", "link", "notes")
	s.Write("folder", "a file now\n")
	s.Write("file/of/a/folder", "f\n")
	s.Write("link", "a file now\n")
	s.link("nowhere", "notes")
	s.Write("noise.log", "still ignored\n")
	s.Write("inner/mine", "changed there\n")
}

// more changes everything once more.
func (s scene) more() {
	s.t.Helper()
	s.remove("folder", "file", "link", "notes", "locked", "name", "a \"b\"\t:(top) \u00e9")
	for _, name := range []string{"unix.lf", "mixed.lf", "mixed.raw", "asset.bin", "empty", "run.sh", "folder/again", "src/main.go"} {
		s.Write(name, "more\nof it\n")
	}
	s.chmod(0o755, "unix.lf")
}

// forget has git and jj throw away what they can: the commits that the run was made on,
// and whatever no branch of the user's has.
func (s scene) forget() {
	s.t.Helper()
	rewritten := s.Git("commit-tree", "-m", "rewritten", "main^{tree}")
	s.Git("push", "--quiet", "--force", "origin", rewritten+":refs/heads/main")
	s.Git("fetch", "--quiet", "origin")
	if s.kind.IsJJ() {
		change := s.JJ("log", "--no-graph", "--revisions=@", "--template=change_id")
		s.JJ("git", "import", "--quiet")
		s.JJ("new", "--quiet", rewritten)
		s.Write(".gitignore", "*.log\nout/\n") // jj took it away, and would track what it names
		s.JJ("abandon", "--quiet", change, "main")
		s.JJ("bookmark", "delete", "--quiet", "main")
		s.JJ("op", "abandon", "--quiet", "..@-")
		s.JJ("util", "gc", "--expire=now", "--quiet")
	} else {
		s.Git("stash", "--quiet")
		s.Git("stash", "clear")
		s.Git("update-ref", "refs/heads/main", rewritten)
		s.Git("update-ref", "HEAD", rewritten)
	}
	s.Git("reflog", "expire", "--expire=now", "--all")
	s.Git("gc", "--quiet", "--prune=now")
}

// checkout is what git, or jj, makes of a frame's code in a new working copy.
func (s scene) checkout(frame string) map[string]string {
	s.t.Helper()
	dir := filepath.Join(s.Home, "expected")
	commit := s.Git("commit-tree", "-m", "expected", "refs/smithers/run/"+frame+":worktree")
	if !s.kind.IsJJ() {
		s.Git("worktree", "add", "--quiet", "--detach", dir, commit)
		defer s.Git("worktree", "remove", "--force", dir)
		return filesIn(s.t, dir)
	}
	s.Git("update-ref", "refs/heads/expected-"+frame, commit)
	s.JJ("git", "import", "--quiet")
	s.JJ("workspace", "add", "--quiet", "--revision="+commit, dir)
	defer func() {
		s.JJ("workspace", "forget", "--quiet", "expected")
		require.NoError(s.t, os.RemoveAll(dir))
	}()
	return filesIn(s.t, dir)
}

// recorded is a folder's files without those that no frame has.
func recorded(files map[string]string) map[string]string {
	out := make(map[string]string)
	for name, is := range files {
		if !strings.HasSuffix(name, ".log") && !strings.HasPrefix(name, "out/") && !strings.HasPrefix(name, "inner/") {
			out[name] = is
		}
	}
	return out
}

// The files of an attempt come back exactly, whatever was done to them since, and to the
// commits that they stood on; and so does what was there then.
func TestTheFilesOfAnAttemptComeBackWhateverIsDoneToThem(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		publish(t, repo)
		set := scene{repo, t, kind}
		set.furnish()
		s := open(t, repo)
		head := startRun(t, s, "run")
		require.False(t, head.Entry().Base.IsZero())
		set.attempt()
		want := filesIn(t, repo.Dir)
		finish(t, s, head, 1)
		set.more()
		finish(t, s, head, 2)
		left := vcsAt(t, s, "run:1").LeftOut
		require.Len(t, left, 1)
		assert.Equal(t, snapshot.LeftOut{Path: "inner/", Reason: snapshot.LeftEmbedded}, left[0])

		commit := vcsAt(t, s, "run:1").CommitID
		set.forget()
		if kind.IsJJ() {
			_, err := repo.GitErr("cat-file", "-e", commit)
			require.Error(t, err, "the commit of the change is gone")
		}
		repo.Write("mine.txt", "work of the user's\n")
		mine := filesIn(t, repo.Dir)
		done, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a", Attempt: 1})
		require.NoError(t, err)
		now := filesIn(t, repo.Dir)
		assert.Equal(t, set.checkout("1"), recorded(now), "what checkout gives")
		if !kind.IsJJ() {
			want["mixed.lf"] = "- ONE\ntwo\nthree\n" // as git stores it
		}
		assert.Equal(t, want, now)
		assert.Equal(t, vcsAt(t, s, "run:1").Tree, vcsAt(t, s, done.Frame.String()).Tree)

		_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: done.Saved.String()})
		require.NoError(t, err)
		assert.Equal(t, mine, filesIn(t, repo.Dir))
		_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
		require.NoError(t, err)
		assert.Equal(t, set.checkout("0"), recorded(filesIn(t, repo.Dir)), "what checkout gives")
	})
}

// Ten thousand files, half of them untracked, are captured, changed all over, and brought back.
func TestTenThousandFilesComeBack(t *testing.T) {
	t.Parallel()
	const many = 10_000
	kinds := []repotest.Kind{repotest.Git}
	if repotest.Soaks() {
		kinds = append(kinds, repotest.JJColocated)
	}
	for _, kind := range kinds {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, kind)
			name := func(i int) string { return fmt.Sprintf("pkg%02d/part%d/file%d", i%50, i/50%10, i) }
			for i := range many {
				if i == many/2 && !kind.IsJJ() {
					repo.Git("add", "--all")
					repo.Git("commit", "--quiet", "--message=half of them")
				}
				repo.Write(name(i), fmt.Sprintln("file", i))
			}
			s := open(t, repo)
			want := filesIn(t, repo.Dir)
			head := startRun(t, s, "run")
			for i := range many {
				switch i % 3 {
				case 0:
					repo.Write(name(i), "changed\n")
				case 1:
					require.NoError(t, os.Remove(filepath.Join(repo.Dir, name(i))))
				}
			}
			shoot(t, s, head, "worked")
			changed := filesIn(t, repo.Dir)

			_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
			require.NoError(t, err)
			assert.True(t, maps.Equal(want, filesIn(t, repo.Dir)), "the files of frame 0")
			_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1"})
			require.NoError(t, err)
			assert.True(t, maps.Equal(changed, filesIn(t, repo.Dir)), "the files of frame 1")
		})
	}
}
