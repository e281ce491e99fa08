package repotest

import (
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Kind is a kind of working copy, such as a git worktree or a jj workspace.
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

// IsJJ reports whether a working copy of the kind is a jj workspace.
func (k Kind) IsJJ() bool { return strings.HasPrefix(string(k), "jj") }

// EachKind runs test as a parallel subtest for several kinds, each in its own scratch repository with
// one commit. repo.Dir is the working copy of the kind, repo.GitDir the shared git directory.
//
// A soak runs the test for all kinds. An everyday run takes git and one other kind. The other kind
// depends on the test's name, so the tests of a package together cover all kinds.
func EachKind(t *testing.T, test func(t *testing.T, kind Kind, repo *Repo)) {
	t.Helper()
	for _, kind := range kindsOf(t.Name()) {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			test(t, kind, NewKind(t, kind))
		})
	}
}

// kindsOf returns the kinds for which EachKind runs the test with the given name.
func kindsOf(test string) []Kind {
	all := Kinds()
	if Soaks() {
		return all
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(test)) // never fails
	return []Kind{Git, all[1+hash.Sum32()%uint32(len(all)-1)]}
}

// NewKind returns a new scratch repository with one commit on main and a working copy of the given
// kind. It skips the test if the kind needs jj and there is no jj. The methods of Repo that run git
// work in every kind: they tell git the repository if git would not find it.
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
		if ObjectFormat() != "sha1" {
			t.Skip("jj git init makes sha1 repositories")
		}
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

// useJJ makes Env an environment for jj. It skips the test if there is no jj.
func (r *Repo) useJJ() {
	r.t.Helper()
	LookJJ(r.t)
	r.Env = slices.Clip(WithJJ(r.Env, r.Home))
	r.jj = true
}

// JJ runs jj in Dir and returns its standard output without the last line feed. A failure of jj ends
// the test. The repository must be of a jj kind.
func (r *Repo) JJ(args ...string) string {
	r.t.Helper()
	return r.jjIn(r.Dir, args...)
}

// jjIn runs jj in the folder dir, as JJ does in Dir.
func (r *Repo) jjIn(dir string, args ...string) string {
	r.t.Helper()
	out, err := r.command(dir, "", LookJJ(r.t), args)
	if err != nil {
		r.t.Fatalf("jj %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// checkJJ fails the test if jj cannot read its operation log or if the log is empty.
func (r *Repo) checkJJ() {
	args := []string{"operation", "log", "--no-graph", "--ignore-working-copy", "--template", `id ++ "\n"`}
	out, err := r.command(r.Dir, "", LookJJ(r.t), args)
	if err != nil || out == "" {
		r.t.Errorf("jj operation log found:\n%s\n%v", out, err)
	}
}
