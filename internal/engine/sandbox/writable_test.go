package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
)

// placed makes a repository with a private folder that has a key, a link out of it, and a home folder.
func placed(t *testing.T) (sandbox.Place, []string) {
	t.Helper()
	w := way{setup: `mkdir -p .git/smithers out ../out ../home/cache ../home/data; echo k >.git/smithers/key; ln -s .git git; ln -s .git/smithers vault
		ln -s ../out away; ln -s out near; ln -s ../out ../home/away; ln -s data ../home/near; ln -s ../repo ../home/repo; ln -s "$PWD/.git" ../home/git
		touch .hk/keep; git config core.hooksPath .hk`}
	dir, env, _ := w.set(t)
	git := filepath.Join(dir, ".git")
	return sandbox.Place{Dir: dir, Internals: []string{git}, Hidden: []string{filepath.Join(git, "smithers")}, Home: filepath.Join(filepath.Dir(dir), "home")}, env
}

func TestWriteOpensNeitherTheRepositoryNorItsPrivateFolder(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	at, env := placed(t)
	const line = `cat .git/smithers/key ~/*/smithers/key ~/*/.git/smithers/key; echo x >.git/HEAD; echo x >.git/config; true`
	before, err := os.ReadFile(filepath.Join(at.Dir, ".git", "HEAD"))
	require.NoError(t, err)
	refused := map[string]string{
		".": "own files", "./": "own files", "out/..": "own files", "..": "own files", "../repo": "own files", at.Dir: "own files", at.Dir + "/": "own files",
		"/": "own files", "~/../repo": "own files", "~/repo": "leads out", "~/git": "leads out",
		".git/smithers": "own files", ".git/config": "own files", ".git/smithers/key": "own files", "out/../.git/smithers": "own files",
		"git": "own files", "git/smithers": "own files", "vault": "own files", "near/../.git/config": "own files",
		"away": "leads out to " + filepath.Join(filepath.Dir(at.Dir), "out"), "~/away": "leads out", filepath.Join(at.Dir, "away"): "leads out",
		".hk": "git's core.hookspath leads to .hk", ".hk/keep": "lies in what programs outside of the sandbox obey: git's core.hookspath", "none": "none does not exist",
	}
	for path, why := range refused {
		said := inside(t, at, &sandbox.Spec{Write: []string{path}}, env, line)
		assert.Contains(t, said, why, "write: [%s]", path)
		assert.NotContains(t, said, "k\n", "write: [%s]", path)
	}
	for path, why := range map[string]string{"~/repo": "leads out", "~/git": "leads out", "away": "leads out", "~/away": "leads out", "vault": "own files", "git/smithers": "own files"} {
		said := inside(t, at, &sandbox.Spec{Read: []string{path}}, env, line)
		assert.Contains(t, said, why, "read: [%s]", path)
	}
	after, err := os.ReadFile(filepath.Join(at.Dir, ".git", "HEAD"))
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

func TestWriteOpensWhatItNames(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	at, env := placed(t)
	for _, c := range []struct{ path, line string }{
		{".git", `echo x >.git/mark; test ! -e .git/smithers/key`},
		{"./.git", `echo x >.git/mark`},
		{filepath.Join(at.Dir, ".git"), `echo x >.git/mark`},
		{"near", `echo x >near/mark`},
		{"../out", `echo x >../out/mark`},
		{"../out/", `echo x >away/mark`},
		{"~/cache", `echo x >~/cache/mark; test ! -e ~/data`},
		{"~/near", `echo x >~/near/mark`},
	} {
		assert.Regexp(t, `^[^ ]* ?.*core.hookspath\)$`, inside(t, at, &sandbox.Spec{Write: []string{c.path}}, env, "set -e; "+c.line), "write: [%s]", c.path)
	}
	for _, made := range []string{"repo/.git", "repo/out", "out", "home/cache", "home/data"} {
		assert.FileExists(t, filepath.Join(filepath.Dir(at.Dir), made, "mark"))
	}
}

// TestALinkOfAnEarlierTaskOpensNothing shows what a task can do that may write ~/work, and what the next one may then write or read.
func TestALinkOfAnEarlierTaskOpensNothing(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	at, env := placed(t)
	sh(at.Home, env, `mkdir -p work/in .private; echo k >.private/key`)
	inside(t, at, &sandbox.Spec{Write: []string{"~/work"}}, env, `cd ~/work; ln -s ../.private out; ln -s in s; ln -s s/../../.private t; ln -s in near; cd - ; ln -s ../home/.private fixtures`)
	for _, path := range []string{"~/work/out", "~/work/t", "fixtures", filepath.Join(at.Home, "work/out")} {
		for _, spec := range []sandbox.Spec{{Write: []string{path}}, {Read: []string{path}}} {
			said := inside(t, at, &spec, env, `cat ~/.private/key ~/work/*/key fixtures/key`)
			assert.Contains(t, said, "leads out to "+filepath.Join(at.Home, ".private"), "%v", spec)
			assert.NotContains(t, said, "k\n")
			assert.Contains(t, spec.Resolve(at).Shown(), "(refused: "+path+" leads out to "+filepath.Join(at.Home, ".private"))
		}
	}
	near := sandbox.Spec{Write: []string{"~/work/near"}, Read: []string{"~/near"}}
	assert.NotContains(t, inside(t, at, &near, env, `echo x >~/work/near/mark`), "leads out")
	assert.FileExists(t, filepath.Join(at.Home, "work", "in", "mark"))
	assert.Equal(t, "no network, writes ~/work/near ("+at.Home+"/work/in), reads ~/near ("+at.Home+"/data)", near.Resolve(at).Shown())
}
