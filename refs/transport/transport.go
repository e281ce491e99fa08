// Package transport moves refs of refs/smithers, and what they reach, between this
// repository and others, by native git: so credentials, proxies and ssh work as they do
// for the user's own pushes. It knows names and objects, and nothing of what runs are.
//
// Nothing it does is part of the user's own push or fetch, runs a hook of this
// repository, writes configuration, tags, FETCH_HEAD or a remote-tracking branch, or
// starts a git gc. No push is forced: what a ref on the other side is expected to be is
// said each time.
package transport

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// Options configure a Transport.
type Options struct {
	Repo gitexec.Repo
	Env  []string // the environment git runs under, as os.Environ gives it
	// Talk, unless it is nil, gets git's own progress as it comes, for a terminal.
	Talk io.Writer
	// Chunk is how many refs one push carries at first; 0 means 200.
	Chunk int
}

// Transport moves refs to and from other repositories. Safe for concurrent use.
type Transport struct {
	opts Options
}

// New prepares a Transport. It does nothing yet.
func New(opts Options) *Transport { return &Transport{opts: opts} }

// process is a git that runs where the user's own would, so that relative paths of
// remotes mean the same. Args name what to do; settings are for this run alone.
func (t *Transport) process(args, settings []string) gitexec.Process {
	repo := t.opts.Repo
	gitDir := cmp.Or(repo.GitDir, repo.CommonDir)
	options := []string{"--git-dir=" + gitDir}
	// None of the hooks here is about what moves here. The other side's are its own.
	for _, setting := range append([]string{"core.hooksPath=" + os.DevNull, "core.warnAmbiguousRefs=false"}, settings...) {
		options = append(options, "-c", setting)
	}
	return gitexec.Process{
		Dir: cmp.Or(repo.WorkTree, gitDir), Env: gitexec.PlumbingEnv(t.opts.Env),
		Options: options, Args: args, Talk: t.opts.Talk,
	}
}

// run is Run of a process, with errors as callers get them.
func (t *Transport) run(ctx context.Context, process gitexec.Process) (stdout []byte, err error) {
	stdout, _, err = process.Run(ctx)
	return stdout, classify(ctx, err)
}

// progress is the option that says whether git tells how far it is.
func (t *Transport) progress() string {
	if t.opts.Talk != nil {
		return "--progress"
	}
	return "--no-progress"
}

// isConfigured reports whether remote is the name of one, and not a URL or a path.
func (t *Transport) isConfigured(remote string) bool {
	for key := range t.opts.Repo.Config {
		if strings.HasPrefix(key, "remote."+remote+".") {
			return true
		}
	}
	return false
}
