// Package transport moves refs of refs/smithers, with their objects, between this
// repository and other repositories. It uses native git, so that credentials, proxies and
// ssh work as for the user's own pushes. It handles refs and objects, and does not read runs.
//
// It does not affect the user's own pushes and fetches, runs no hook of this repository, and
// never starts git gc. It writes no configuration, tags, FETCH_HEAD or remote-tracking
// branches. It never forces a push: every move has a condition on the ref's old value.
package transport

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// Options configures a [Transport].
type Options struct {
	Repo gitexec.Repo // this repository
	Env  []string     // the environment of git, in the form of os.Environ
	// Talk, if not nil, receives git's own progress, for a terminal.
	Talk io.Writer
	// Chunk is the initial number of refs in one push; 0 means 200.
	Chunk int
}

// Transport moves refs between this repository and other repositories. It is safe for concurrent use.
type Transport struct {
	opts Options
}

// New returns a Transport. It reads nothing.
func New(opts Options) *Transport { return &Transport{opts: opts} }

// process returns a git command with the given arguments. settings has "name=value" settings for this command only. The
// command runs in the top folder of the working copy or, in a bare repository, in the git directory. So a relative path
// of a remote has the same meaning as for the user's own git.
func (t *Transport) process(args, settings []string) gitexec.Process {
	repo := t.opts.Repo
	gitDir := cmp.Or(repo.GitDir, repo.CommonDir)
	// No hook of this repository concerns refs/smithers. The hooks of the remote run at the remote.
	options := append([]string{"--git-dir=" + gitDir}, gitexec.NoHooks(repo.Config)...)
	for _, setting := range append([]string{"core.warnAmbiguousRefs=false"}, settings...) {
		options = append(options, "-c", setting)
	}
	return gitexec.Process{
		Dir: cmp.Or(repo.WorkTree, gitDir), Env: gitexec.PlumbingEnv(t.opts.Env),
		Options: options, Args: args, Talk: t.opts.Talk,
	}
}

// run runs the git command process and returns its standard output. The error is that of classify.
func (t *Transport) run(ctx context.Context, process gitexec.Process) (stdout []byte, err error) {
	stdout, _, err = process.Run(ctx)
	return stdout, t.classify(ctx, err)
}

// progress returns git's option to print progress if Options.Talk is set, and otherwise the option to print none.
func (t *Transport) progress() string {
	if t.opts.Talk != nil {
		return "--progress"
	}
	return "--no-progress"
}

// isConfigured reports whether remote is the name of a configured remote, and not a URL or a path.
func (t *Transport) isConfigured(remote string) bool {
	for key := range t.opts.Repo.Config {
		if strings.HasPrefix(key, "remote."+remote+".") {
			return true
		}
	}
	return false
}
