package share

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/refs/transport"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

type transportSpec = transport.Spec

// tips is the spec for all tips of the remote.
func (f *fetch) tips() transportSpec {
	return transportSpec{From: refs.TipsFolder + "*", To: refs.RemoteFolder(f.from.Component) + "*"}
}

// stones is the spec for all tombstones of the remote.
func (f *fetch) stones() transportSpec {
	return transportSpec{From: refs.GoneFolder + "*", To: refs.RemoteGoneFolder(f.from.Component) + "*"}
}

// tip is the spec for the tip of one run.
func (f *fetch) tip(component string) transportSpec {
	return transportSpec{From: refs.TipsFolder + component, To: refs.RemoteFolder(f.from.Component) + component}
}

// bring fetches, and gives an error its code; an error about a missing ref wraps refs.ErrNotFound.
func (f *fetch) bring(ctx context.Context, specs []transportSpec, prune bool) error {
	err := f.transport().Fetch(ctx, f.from.Name, specs, prune)
	if errors.Is(err, refs.ErrNotFound) {
		return err
	}
	if errors.Is(err, refs.ErrBroken) {
		return fault.New(fault.BrokenRef, "nothing can be fetched while a ref here is broken: %w", err).
			Hint("`git smithers doctor` shows the right value, and repairs it")
	}
	if errors.Is(err, transport.ErrUnsound) {
		return fault.New(fault.FetchRefused, "%s has objects that git refuses: %w", f.from.Shown(), err).
			Hint("nothing was fetched; name the runs that you want")
	}
	return f.from.Explain(err)
}

// tellStrangers warns about tips of the remote with invalid names.
func (f *fetch) tellStrangers(ctx context.Context) error {
	folder := refs.RemoteFolder(f.from.Component)
	out, err := gitexec.New(f.store.Repo(), f.store.Env()).Run(ctx, "for-each-ref", "--format=%(refname)", folder)
	if err != nil {
		return err
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		component := strings.TrimPrefix(strings.TrimPrefix(name, refs.RemoteGoneFolder(f.from.Component)), folder)
		if _, _, err := refs.UnescapeRun(component); err != nil {
			f.store.Warn(fmt.Errorf("%s of %s is ignored: its name is invalid", refs.TipsFolder+component, f.from.Shown()))
		}
	}
	return nil
}
