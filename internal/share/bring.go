package share

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// transportSpec names the refs of a remote to fetch, and the tracking refs that get their values.
type transportSpec = transport.Spec

// tips returns the spec that fetches all tips of the remote into tracking refs.
func (f *fetch) tips() transportSpec {
	return transportSpec{From: refs.TipsFolder + "*", To: refs.RemoteFolder(f.from.Component) + "*"}
}

// stones returns the spec that fetches all tombstones of the remote into tracking refs.
func (f *fetch) stones() transportSpec {
	return transportSpec{From: refs.GoneFolder + "*", To: refs.RemoteGoneFolder(f.from.Component) + "*"}
}

// tip returns the spec that fetches the tip of one run into its tracking ref. component is the run's ref
// component.
func (f *fetch) tip(component string) transportSpec {
	return transportSpec{From: refs.TipsFolder + component, To: refs.RemoteFolder(f.from.Component) + component}
}

// bring fetches the refs that specs names. If prune is true, it also deletes each tracking ref whose ref the remote no
// longer has. If a ref that specs names in full does not exist at the remote, the error wraps refs.ErrNotFound. Any
// other error has a code: broken_ref, fetch_refused or a code of the remote.
func (f *fetch) bring(ctx context.Context, specs []transportSpec, prune bool) error {
	err := f.transport().Fetch(ctx, f.from.Name, specs, prune)
	if errors.Is(err, refs.ErrNotFound) {
		return err
	}
	if errors.Is(err, refs.ErrBroken) {
		return fault.New(fault.BrokenRef, "nothing was fetched, because a ref of this repository is broken: %w", err).
			Hint("`git smithers doctor` shows the damage, and `git smithers doctor --repair` repairs the ref if its right value is known")
	}
	if errors.Is(err, transport.ErrUnsound) {
		return fault.New(fault.FetchRefused, "%s has objects that git refuses: %w", f.from.Shown(), err).
			Hint("nothing was fetched; `%s RUN` fetches one run without the others", f.again())
	}
	return f.from.Explain(err)
}

// tellStrangers warns about each ref of the remote that the fetch ignores because the ref's name is invalid. It
// finds the invalid names among the tracking refs of the remote's tips and tombstones.
func (f *fetch) tellStrangers(ctx context.Context) error {
	folder := refs.RemoteFolder(f.from.Component)
	out, err := gitexec.New(f.store.Repo(), f.store.Env()).Run(ctx, "for-each-ref", "--format=%(refname)", folder)
	if err != nil {
		return err
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		component, isStone := strings.CutPrefix(name, refs.RemoteGoneFolder(f.from.Component))
		there := refs.GoneFolder
		if !isStone {
			component, there = strings.TrimPrefix(name, folder), refs.TipsFolder
		}
		if _, _, err := refs.UnescapeRun(component); err != nil {
			f.store.Warn(fmt.Errorf("%s of %s is ignored: the name of the ref is invalid", there+component, f.from.Shown()))
		}
	}
	return nil
}
