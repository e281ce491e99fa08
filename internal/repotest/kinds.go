package repotest

import (
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Kind is a kind of working copy.
type Kind string

// The kinds of working copies.
const (
	Git         Kind = "git"
	GitWorktree Kind = "git worktree"
	JJColocated Kind = "jj colocated"
	JJ          Kind = "jj not colocated"
	JJSecondary Kind = "jj secondary workspace"
)

// Kinds returns all kinds, those without jj first.
func Kinds() []Kind { return []Kind{Git, GitWorktree, JJColocated, JJ, JJSecondary} }

// IsJJ reports whether the kind is one of jj's.
func (k Kind) IsJJ() bool { return strings.HasPrefix(string(k), "jj") }

// EachKind runs a test once for every kind, each in a scratch repository of its own with one
// commit. Dir is the working copy of the kind, GitDir the shared git directory.
//
// Only a soak runs every test for every kind. An everyday run takes git and one other kind, which
// follows from the test's name, so that the tests of a package cover all kinds.
func EachKind(t *testing.T, test func(t *testing.T, kind Kind, repo *Repo)) {
	t.Helper()
	for _, kind := range kindsOf(t.Name()) {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			test(t, kind, NewKind(t, kind))
		})
	}
}

func kindsOf(test string) []Kind {
	all := Kinds()
	if Soaks() {
		return all
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(test)) // never fails
	return []Kind{Git, all[1+hash.Sum32()%uint32(len(all)-1)]}
}

// NewKind makes a scratch repository with one commit on main and a working copy of the kind.
// Repo.Git works in all of them: if git would not find the repository by itself, it is told.
func NewKind(t testing.TB, kind Kind) *Repo {
	t.Helper()
	r := New(t, Commit)
	base := filepath.Dir(r.Dir)
	switch kind {
	case Git:
	case GitWorktree:
		linked := filepath.Join(base, "linked")
		r.Git("worktree", "add", "--quiet", "-b", "side", linked)
		r.Dir = linked
	case JJColocated:
		r.useJJ()
		r.JJ("git", "init", "--quiet", "--colocate")
		r.JJ("new", "--quiet", "main")
	case JJ, JJSecondary:
		r.useJJ()
		first := filepath.Join(base, "jj")
		r.jjIn(base, "git", "init", "--quiet", "--no-colocate", first)
		origin := r.Dir
		r.Dir, r.GitDir, r.explicit = first, filepath.Join(first, ".jj", "repo", "store", "git"), true
		// jj's fetch needs a newer git than this program.
		r.Git("fetch", "--quiet", origin, "main:main")
		r.JJ("git", "import", "--quiet")
		r.JJ("new", "--quiet", "main")
		if kind == JJSecondary {
			second := filepath.Join(base, "second")
			r.JJ("workspace", "add", "--quiet", "--revision=main", second)
			r.Dir = second
		}
	}
	r.made = r.objects()
	return r
}

// useJJ makes Env an environment for jj.
func (r *Repo) useJJ() {
	r.t.Helper()
	LookJJ(r.t)
	r.Env = slices.Clip(WithJJ(r.Env, r.Home))
	r.jj = true
}

// JJ runs jj in Dir and returns its standard output without the last line feed. A failure ends the
// test. It works only in repositories of jj's kinds.
func (r *Repo) JJ(args ...string) string {
	r.t.Helper()
	return r.jjIn(r.Dir, args...)
}

func (r *Repo) jjIn(dir string, args ...string) string {
	r.t.Helper()
	out, err := r.command(dir, "", LookJJ(r.t), args)
	if err != nil {
		r.t.Fatalf("jj %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// checkJJ checks jj's own health: jj can read its operations, and one of them is the newest.
func (r *Repo) checkJJ() {
	args := []string{"operation", "log", "--no-graph", "--ignore-working-copy", "--template", `id ++ "\n"`}
	out, err := r.command(r.Dir, "", LookJJ(r.t), args)
	if err != nil || out == "" {
		r.t.Errorf("jj operation log found:\n%s\n%v", out, err)
	}
}
