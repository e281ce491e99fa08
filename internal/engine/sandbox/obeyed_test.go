package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// way is a way to let a program outside of the sandbox run a file that a command in it has written. The file evil makes a marker; it stands in
// the working copy from the beginning.
type way struct {
	setup  string   // how the user has set the repository up
	env    []string // further variables of the user
	inside string   // what the command does
	later  string   // what the user or git-smithers does afterwards, outside
}

var ways = map[string]way{
	"hooks in the tree":       {setup: `git config core.hooksPath .hk; touch .hk/keep`, inside: `cp evil .hk/reference-transaction`, later: `git update-ref refs/x HEAD`},
	"hooks by a whole path":   {setup: `git config core.hooksPath "$PWD/.hk"; touch .hk/keep`, inside: `cp evil .hk/reference-transaction`, later: `git update-ref refs/x HEAD`},
	"hooks that are not yet":  {setup: `git config core.hooksPath hk`, inside: `mkdir -p hk; cp evil hk/reference-transaction`, later: `git update-ref refs/x HEAD`},
	"hooks moved away":        {setup: `git config core.hooksPath a/b/hk; mkdir -p a/b/hk`, inside: `mv a c; mkdir -p a/b/hk; cp evil a/b/hk/reference-transaction`, later: `git update-ref refs/x HEAD`},
	"a hook's own files":      {setup: `git config core.hooksPath .hk/_; mkdir .hk/_; printf '#!/bin/sh\n. "${0%%/*}/../common"\n' >.hk/_/reference-transaction; chmod +x .hk/_/*; echo : >.hk/common`, inside: `cp evil .hk/common`, later: `git update-ref refs/x HEAD`},
	"a link to hooks":         {setup: `rm -rf .git/hooks; ln -s ../.hk .git/hooks`, inside: `cp evil .hk/reference-transaction`, later: `git update-ref refs/x HEAD`},
	"a hook that is a link":   {setup: `mkdir -p .git/hooks; ln -s ../../tools/hook .git/hooks/reference-transaction`, inside: `cp evil tools/hook`, later: `git update-ref refs/x HEAD`},
	"a link in a folder":      {setup: `mkdir a; ln -s ../.hk a/l; git config core.hooksPath a/l`, inside: `rm a/l; mkdir a/l; cp evil a/l/reference-transaction`, later: `git update-ref refs/x HEAD`},
	"a link in the top":       {setup: `ln -s .hk l; git config core.hooksPath l`, inside: `rm l; mkdir l; cp evil l/reference-transaction`, later: `git update-ref refs/x HEAD`},
	"an included file":        {setup: `git config include.path ../.incl; : >.incl`, inside: `printf '[core]\nfsmonitor = ./evil\n' >.incl`, later: `git status`},
	"one that is not yet":     {setup: `git config include.path ../tools/incl`, inside: `printf '[core]\nfsmonitor = ./evil\n' >tools/incl`, later: `git status`},
	"included on a condition": {setup: `git config includeIf.onbranch:other.path ../.incl; : >.incl`, inside: `printf '[core]\nfsmonitor = ./evil\n' >.incl`, later: `git checkout -qb other; git status`},
	"a clean filter":          {setup: `git config filter.x.clean tools/clean; echo '*.dat filter=x' >.gitattributes`, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"a filter of an argument": {setup: `git config filter.x.clean 'sh ./tools/clean %f'; echo '*.dat filter=x' >.gitattributes`, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"a filter of variables":   {setup: `git config filter.x.clean '"$PWD"/tools/clean'; echo '*.dat filter=x' >.gitattributes`, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"a filter in the top":     {setup: `git config filter.x.clean 'sh clean.sh'; cp tools/clean clean.sh; echo '*.dat filter=x' >.gitattributes`, inside: `cp evil clean.sh; echo x >a.dat`, later: `git add a.dat`},
	"a filter that is not":    {setup: `git config filter.x.clean ./clean.sh; echo '*.dat filter=x' >.gitattributes`, inside: `cp evil clean.sh; echo x >a.dat`, later: `git add a.dat`},
	"a smudge filter":         {setup: `git config filter.x.smudge tools/clean; echo '*.dat filter=x' >.gitattributes; echo x >a.dat; git add a.dat`, inside: `cp evil tools/clean; rm a.dat`, later: `git checkout a.dat`},
	"a long-running filter":   {setup: `git config filter.x.process tools/clean; echo '*.dat filter=x' >.gitattributes`, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"the monitor":             {setup: `git config core.fsmonitor tools/clean`, inside: `cp evil tools/clean`, later: `git status`},
	"textconv":                {setup: `git config diff.x.textconv tools/clean; echo '*.dat diff=x' >.gitattributes; echo x >a.dat; git add a.dat`, inside: `cp evil tools/clean; echo y >a.dat`, later: `git diff`},
	"a program for diffs":     {setup: `git config diff.external tools/clean; echo x >a.dat; git add a.dat`, inside: `cp evil tools/clean; echo y >a.dat`, later: `git diff`},
	"a merge driver":          {setup: `git config merge.x.driver 'tools/clean %A'; echo '*.dat merge=x' >.gitattributes; git add .; git commit -qm x; for b in one two; do git checkout -q -B $b main; echo $b >a.dat; git add a.dat; git commit -qm $b; done`, inside: `cp evil tools/clean`, later: `git merge one`},
	"a credential helper":     {setup: `git config credential.helper '!tools/clean'`, inside: `cp evil tools/clean`, later: `echo url=https://host.invalid | git credential fill`},
	"ssh":                     {setup: `git config core.sshCommand 'sh tools/clean'`, inside: `cp evil tools/clean`, later: `timeout 1 git ls-remote ssh://host.invalid/x`},
	"a remote's program":      {setup: `git remote add o host.invalid:x; git config remote.o.url 'ext::tools/clean'`, inside: `cp evil tools/clean`, later: `timeout 1 git -c protocol.ext.allow=always ls-remote o`},
	"a signing program":       {setup: `git config gpg.program ./tools/clean`, inside: `cp evil tools/clean`, later: `git commit -S --allow-empty -m x`},
	"an editor":               {setup: `git config core.editor tools/clean`, inside: `cp evil tools/clean`, later: `git commit --allow-empty`},
	"an editor of a variable": {env: []string{"GIT_EDITOR=tools/clean"}, inside: `cp evil tools/clean`, later: `git commit --allow-empty`},
	"an alias":                {setup: `git config alias.x '!tools/clean'`, inside: `cp evil tools/clean`, later: `git x`},
	"a folder on PATH":        {setup: `mkdir bin`, env: []string{"PATH"}, inside: `cp evil bin/git`, later: `git status`},
	"a name found on PATH":    {setup: `mkdir bin; cp tools/clean bin/strip; git config filter.x.clean strip; echo '*.dat filter=x' >.gitattributes`, env: []string{"PATH"}, inside: `cp evil bin/strip; echo x >a.dat`, later: `git add a.dat`},
	"a repository inside":     {setup: `git init -q sub`, inside: `git -C sub config core.fsmonitor "$PWD/evil"`, later: `git -C sub status`},
	"what it names":           {setup: `git init -q sub; mkdir sub/hk; git -C sub config core.hooksPath hk`, inside: `cp evil sub/hk/post-index-change`, later: `cd sub; touch a; git add a`},
	"one moved away":          {setup: `mkdir -p v/w; git init -q v/w/sub`, inside: `mv v x; mkdir -p v/w; git init -q v/w/sub; git -C v/w/sub config core.fsmonitor "$PWD/evil"`, later: `git -C v/w/sub status`},
	"a worktree inside":       {setup: `git worktree add -q wt`, inside: `rm wt/.git; git init -q wt; git -C wt config core.fsmonitor "$PWD/evil"`, later: `git -C wt status`},
	"a separate folder":       {setup: `git init -q --separate-git-dir=data/gd sub`, inside: `git config -f data/gd/config core.fsmonitor "$PWD/evil"`, later: `git -C sub status`},
	"a bare repository":       {setup: `git init -q --bare b.git`, inside: `mkdir -p b.git/hooks; cp evil b.git/hooks/pre-receive`, later: `git push -q ./b.git main`},
	"a submodule to come":     {setup: `git update-index --add --cacheinfo 160000,"$(git rev-parse HEAD)",sub; mkdir sub`, inside: `git init -q sub; git -C sub config core.fsmonitor "$PWD/evil"`, later: `git status`},
	"a link for .git":         {setup: `mv .git ../gd; ln -s ../gd .git`, inside: `rm .git; git init -q; git config core.fsmonitor ./evil`, later: `git status`},

	// Spellings of what git-smithers' own git runs.
	"a folder of python":      {setup: `git config filter.x.clean 'python3 tools'; touch tools/__main__.py; ` + dat, inside: `cp py tools/__main__.py; echo x >a.dat`, later: `git add a.dat`},
	"a module of python":      {setup: `git config filter.x.clean 'PYTHONPATH=tools python3 -m pkg'; ` + dat, inside: `cp py tools/pkg.py; echo x >a.dat`, later: `git add a.dat`},
	"a module beside":         {setup: `git config filter.x.clean 'python3 -m pkg'; ` + dat, inside: `cp py pkg.py; echo x >a.dat`, later: `git add a.dat`},
	"a module at the top":     {setup: `git config filter.x.clean 'python3 clean.py'; echo 'import json' >clean.py; ` + dat, inside: `cp py json.py; echo x >a.dat`, later: `git add a.dat`},
	"another folder":          {setup: `git config filter.x.clean 'cd tools && sh ./clean'; ` + dat, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"a word that is no file":  {setup: `git config filter.x.clean 'sh tools/new'; ` + dat, inside: `cp evil tools/new; echo x >a.dat`, later: `git add a.dat`},
	"a variable":              {setup: `git config filter.x.clean 'x=tools; sh $x/clean'; ` + dat, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"quotes in a word":        {setup: `git config filter.x.clean 'sh "tools"/"clean"'; ` + dat, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"a shell's argument":      {setup: `git config filter.x.clean 'sh -c "cd tools; . ./clean"'; ` + dat, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"a pattern":               {setup: `git config filter.x.clean 'sh too?s/clean'; ` + dat, inside: `cp evil tools/clean; echo x >a.dat`, later: `git add a.dat`},
	"a runner":                {setup: `git config filter.x.clean 'make -s'; ` + dat, inside: `printf 'all:\n\tsh evil\n' >Makefile; echo x >a.dat`, later: `git add a.dat`},
	"a wrapper":               {setup: `git config filter.x.clean 'env sh tools/new'; ` + dat, inside: `cp evil tools/new; echo x >a.dat`, later: `git add a.dat`},
	"a link to a module":      {setup: `mkdir pkg; ln -s ../data pkg/lib; git config filter.x.clean 'sh pkg/run'; printf '. pkg/lib/x\n' >pkg/run; echo cat >data/x; git config core.hooksPath pkg; ` + dat, inside: `cp evil data/x; echo x >a.dat`, later: `git add a.dat`},
	"a link through a folder": {setup: `mkdir -p data/in; ln -s data/in s; ln -s ../s/../run tools/l; git config filter.x.clean 'sh tools/l'; echo cat >data/run; echo cat >run; ` + dat, inside: `cp evil data/run; echo x >a.dat`, later: `git add a.dat`},

	// What only the user's later git runs.
	"a link in tracked hooks":    {setup: `git config core.hooksPath .hk; ln -s ../tools/clean .hk/reference-transaction`, inside: `cp evil tools/clean`, later: `git update-ref refs/x HEAD`},
	"a folder linked in hooks":   {setup: `git config core.hooksPath .hk; ln -s ../tools .hk/sub; printf '#!/bin/sh\n. "${0%%/*}/sub/clean"\n' >.hk/reference-transaction; chmod +x .hk/*`, inside: `cp evil tools/clean`, later: `git update-ref refs/x HEAD`},
	"hooks of a user's home":     {setup: `git config core.hooksPath ~$(id -un)/"$(realpath --relative-to="$(eval echo ~$(id -un))" .hk)"; touch .hk/keep`, inside: `cp evil .hk/reference-transaction`, later: `git update-ref refs/x HEAD`},
	"what a condition includes":  {setup: `git config includeIf.onbranch:br.path "$PWD/.incl"; git config -f .incl core.fsmonitor tools/clean`, inside: `cp evil tools/clean`, later: `git checkout -q -b br; git status`},
	"what this includes":         {setup: `git config includeIf.onbranch:br.path "$PWD/.incl"; git config -f .incl include.path data/more; git config -f data/more core.hooksPath tools`, inside: `cp evil tools/reference-transaction`, later: `git checkout -q -b br; git update-ref refs/x HEAD`},
	"an alias in a folder":       {setup: `git config alias.zz '!cd tools && ./clean'`, inside: `cp evil tools/clean`, later: `git zz`},
	"an alias of a substitution": {setup: `git config alias.zz '!"$(git rev-parse --show-toplevel)"/new'`, inside: `cp evil new`, later: `git zz`},
	"an editor in a folder":      {setup: `git config core.editor 'python3 tools'`, inside: `cp py tools/__main__.py`, later: `git commit --allow-empty`},
	"ssh that is not yet":        {setup: `git config core.sshCommand 'sh tools/new'`, inside: `cp evil tools/new`, later: `timeout 1 git ls-remote ssh://host.invalid/x`},
	"a remote that is not yet":   {setup: `git config remote.o.url 'ext::sh tools/new'`, inside: `cp evil tools/new`, later: `timeout 1 git -c protocol.ext.allow=always ls-remote o`},
	"another name of a remote":   {setup: `git config 'url.ext::sh tools/new .insteadOf' o:`, inside: `cp evil tools/new`, later: `timeout 1 git -c protocol.ext.allow=always ls-remote o:`},
	"a pager of a variable":      {env: []string{"GIT_EDITOR=sh new"}, inside: `cp evil new`, later: `git commit --allow-empty`},
	"a link on PATH":             {setup: `mkdir ../lbin; ln -s "$PWD/tools/git" ../lbin/git`, env: []string{"LPATH"}, inside: `cp evil tools/git`, later: `git status`},
	"a folder that is shut":      {setup: `mkdir v; git init -q v/lib; chmod 0 v`, inside: `chmod 700 v; git config -f v/lib/.git/config core.fsmonitor "$PWD/evil"`, later: `chmod 700 v; git -C v/lib status`},
}

// dat makes files with a name .dat pass the filter x.
const dat = `echo '*.dat filter=x' >.gitattributes`

// sh runs a line of sh in dir, and returns its output.
func sh(dir string, env []string, line string) string {
	cmd := exec.Command("timeout", "20", "sh", "-c", line) // git and the file may wait for each other
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// needBubblewrap skips the test where bubblewrap makes no sandbox.
func needBubblewrap(t *testing.T) {
	t.Helper()
	if out := sh("", os.Environ(), "bwrap --ro-bind / / --unshare-all --cap-drop ALL true"); out != "" {
		t.Skip(out)
	}
}

// set makes a repository for the way, and returns its folder, the environment of the user and the marker.
func (w way) set(t *testing.T) (dir string, env []string, marker string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir, marker = filepath.Join(base, "repo"), filepath.Join(base, "marker")
	require.NoError(t, os.MkdirAll(filepath.Join(base, "home"), 0o777))
	env = repotest.Env(filepath.Join(base, "home"))
	sh(base, env, `git init -q -b main --template= repo; cd repo; mkdir .hk tools data; printf '#!/bin/sh\ncat\n' >tools/clean
		printf '#!/bin/sh\ntouch '\''`+marker+`'\''\ncat\n' >evil; chmod +x evil tools/clean
		echo 'open("'"`+marker+`"'", "w")' >py; git add .; git commit -qm w; `+w.setup)
	for _, entry := range w.env {
		if entry == "PATH" {
			entry = "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")
		}
		if entry == "LPATH" {
			entry = "PATH=" + filepath.Join(base, "lbin") + ":" + os.Getenv("PATH")
		}
		env = append(env, entry)
	}
	return dir, env, marker
}

func TestNoProgramOutsideObeysWhatACommandHasWritten(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	for name, w := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, env, marker := w.set(t)
			sh(dir, env, w.inside)
			said := sh(dir, env, w.later)
			require.FileExists(t, marker, "without a sandbox, the way must work: %s", said)

			dir, env, marker = w.set(t)
			at := sandbox.Place{Dir: dir, Internals: []string{filepath.Join(dir, ".git")}, Home: filepath.Join(filepath.Dir(dir), "home")}
			said = inside(t, at, &sandbox.Spec{}, env, w.inside)
			sh(dir, env, w.later)
			assert.NoFileExists(t, marker, "%s", said)
		})
	}
}

// inside runs a line in a sandbox, and returns its output, or why there is no such sandbox.
func inside(t *testing.T, at sandbox.Place, spec *sandbox.Spec, env []string, line string) string {
	t.Helper()
	made, err := spec.New(t.Context(), line, at, env, nil)
	if err != nil {
		_, expected := errors.AsType[*sandbox.Error](err)
		require.True(t, expected, "%v", err)
		return err.Error()
	}
	defer func() { require.NoError(t, made.Close()) }()
	return sh(at.Dir, made.Env, made.Line) + strings.Join(made.Closed, ", ")
}

func TestACommandWritesWhatNothingOutsideObeys(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	w := way{setup: `git config core.hooksPath .hk; git config filter.x.clean tools/clean; git config alias.l 'log src/a'; git config user.name src/a
		git init -q vendor/lib; mkdir src; touch src/a; git config remote.origin.url https://host.invalid/src/a`}
	dir, env, _ := w.set(t)
	at := sandbox.Place{Dir: dir, Internals: []string{filepath.Join(dir, ".git")}, Home: filepath.Join(filepath.Dir(dir), "home")}
	said := inside(t, at, &sandbox.Spec{}, env, `set -e; echo x >new; echo x >src/a; echo x >vendor/lib/a; mkdir -p .hk2 data/more; mv src lib; git status --short >/dev/null`)
	assert.Equal(t, ".git (a repository), .hk (git's core.hookspath), tools (git's filter.x.clean), vendor/lib/.git (a repository)", said)
	assert.FileExists(t, filepath.Join(dir, "lib", "a"))
}

func TestOrdinaryConfigurationHindersNoTask(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	w := way{setup: `mkdir src; touch src/a
		git config filter.lfs.clean 'git-lfs clean -- %f'; git config filter.lfs.smudge 'git-lfs smudge -- %f'; git config filter.lfs.process 'git-lfs filter-process'
		git config filter.crypt.clean '"git-crypt" clean'; git config filter.sed.clean "sed -e 's/a.*/b/'"; git config merge.ours.driver true; git config core.fsmonitor true
		git config diff.exif.textconv exiftool; git config core.pager 'LESS=-R less -FRX'; git config pager.log 'diff-so-fancy | less --tabs=4'; git config core.editor 'code --wait'
		git config core.sshCommand 'ssh -i ~/.ssh/id -o IdentitiesOnly=yes'; git config credential.helper 'cache --timeout=3600'
		git config --add credential.helper '!f() { echo "password=$TOKEN"; }; f'; git config --add credential.helper '!/usr/bin/gh auth git-credential'
		git config alias.up '!git fetch && git rebase origin/main'; git config alias.who "!sh -c 'git log --author=\"\$1\"' -"; git config alias.st 'status --short'
		git config alias.gone "!git branch -vv | sed -n 's/x/y/p' | xargs -r git branch -d"; git config mergetool.m.cmd 'meld "$LOCAL" "$BASE" "$REMOTE"'
		git config remote.origin.url https://host.invalid/src/a; git config submodule.src.path src; git config user.name src; git config gpg.program gpg`}
	dir, env, _ := w.set(t)
	at := sandbox.Place{Dir: dir, Internals: []string{filepath.Join(dir, ".git")}, Home: filepath.Join(filepath.Dir(dir), "home")}
	assert.Equal(t, ".git (a repository)", inside(t, at, &sandbox.Spec{}, env, `set -e; echo x >src/a; echo x >tools/clean; echo x >new`))
}

func TestALineThatIsNotUnderstoodIsNamed(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	dir, env, _ := way{setup: `git config filter.f.clean 'sh -c "x"'`}.set(t)
	at := sandbox.Place{Dir: dir, Internals: []string{filepath.Join(dir, ".git")}}
	assert.Equal(t, `git's filter.f.clean is the command "sh -c \"x\"", which may run what a command in a sandbox can write: name a program and its files there, by paths and without signs of the shell, or unset it`,
		inside(t, at, &sandbox.Spec{}, env, "true"))
}
