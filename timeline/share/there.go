package share

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/refs/transport"
	"github.com/git-smithers/git-smithers/timeline"
)

// atRemote is what a remote has, by the ref components of runs.
type atRemote struct {
	tips, gone map[string]objstore.ID
	frames     map[refs.Name]bool
}

func newAtRemote() atRemote {
	return atRemote{make(map[string]objstore.ID), make(map[string]objstore.ID), make(map[refs.Name]bool)}
}

func (s *Sharer) transport() *transport.Transport {
	return transport.New(transport.Options{Repo: s.parts.Repo, Env: s.parts.Env, Talk: s.opts.Talk})
}

func (s *Sharer) progress(what string, done, total int) {
	if s.opts.Progress != nil {
		s.opts.Progress(what, done, total)
	}
}

// remembered is what this clone last saw a place to have.
func (s *Sharer) remembered(ctx context.Context, component string) (atRemote, error) {
	out := newAtRemote()
	tips, err := s.parts.Refs.RemoteTips(ctx, component)
	if err = s.broken(err); err != nil {
		return out, err
	}
	gone, err := s.parts.Refs.RemoteGone(ctx, component)
	if err = s.broken(err); err != nil {
		return out, err
	}
	fill(out.tips, tips)
	fill(out.gone, gone)
	return out, nil
}

// broken makes a warning of an error about some refs of many.
func (s *Sharer) broken(err error) error {
	if errors.Is(err, refs.ErrBroken) {
		s.parts.Warn(err)
		return nil
	}
	return err
}

func fill(into map[string]objstore.ID, from []refs.TipRef) {
	for _, ref := range from {
		into[ref.Component] = ref.ID
	}
}

// look asks the remote what it has, by the names of its refs, and brings what is
// remembered of it up to date as far as that takes no objects but tombstones.
func (p *push) look(ctx context.Context) error {
	list, err := p.transport().List(ctx, p.to.Name, refs.Folder)
	if err != nil {
		return p.to.Explain(err)
	}
	p.noteAddress(p.to)
	p.there = newAtRemote()
	for _, ref := range list {
		component, isGone := strings.CutPrefix(string(ref.Name), refs.GoneFolder)
		if isGone {
			if _, _, err := refs.UnescapeRun(component); err == nil {
				p.there.gone[component] = ref.ID
			}
			continue
		}
		component, frame, err := ref.Name.Split()
		switch {
		case err != nil: // not ours, or somebody's mistake: nothing of it is pushed to
		case frame == refs.NoFrame:
			p.there.tips[component] = ref.ID
		default:
			p.there.frames[ref.Name] = true
		}
	}
	if p.tracked, err = p.remembered(ctx, p.to.Component); err != nil {
		return timeline.Explain(err)
	}
	if !maps.Equal(p.there.gone, p.tracked.gone) {
		spec := transport.Spec{From: refs.GoneFolder + "*", To: refs.RemoteGoneFolder(p.to.Component) + "*"}
		if err := p.transport().Fetch(ctx, p.to.Name, []transport.Spec{spec}, true); err != nil {
			return p.to.Explain(err)
		}
	}
	p.forgetVanished(ctx)
	return nil
}

// forgetVanished takes away what is remembered of runs that the remote does not have any
// more, whoever has deleted them there.
func (p *push) forgetVanished(ctx context.Context) {
	var moves []refs.Update
	for component, id := range p.tracked.tips {
		if p.there.tips[component].IsZero() {
			moves = append(moves, refs.Update{Name: refs.Name(refs.RemoteFolder(p.to.Component) + component), Old: id})
		}
	}
	p.track(ctx, moves)
}

// track moves what is remembered of a remote. That another process remembers something
// else is no failure: the next look shows what is so.
func (s *Sharer) track(ctx context.Context, moves []refs.Update) {
	if len(moves) == 0 {
		return
	}
	err := s.parts.Refs.Apply(ctx, moves...)
	if errors.Is(err, refs.ErrConflict) && len(moves) > 1 {
		for _, move := range moves {
			s.track(ctx, []refs.Update{move})
		}
		return
	}
	if err != nil && !errors.Is(err, refs.ErrConflict) {
		s.parts.Warn(fmt.Errorf("remember what the remote has: %w", err))
	}
}

// remember notes what a push has moved.
func (p *push) remember(ctx context.Context, outcomes []transport.Outcome) {
	ctx = context.WithoutCancel(ctx) // it is there, whatever ends this process's work
	var moves []refs.Update
	for _, outcome := range outcomes {
		if outcome.Status != transport.Moved && outcome.Status != transport.UpToDate {
			continue
		}
		name := refs.Name(refs.RemoteFolder(p.to.Component) + strings.TrimPrefix(string(outcome.Name), refs.TipsFolder))
		if component, isGone := strings.CutPrefix(string(outcome.Name), refs.GoneFolder); isGone {
			name = refs.Name(refs.RemoteGoneFolder(p.to.Component) + component)
		}
		old, err := p.parts.Refs.Resolve(ctx, name)
		if err != nil && !errors.Is(err, refs.ErrNotFound) {
			p.parts.Warn(fmt.Errorf("remember what the remote has: %w", err))
			continue
		}
		if old != outcome.New {
			moves = append(moves, refs.Update{Name: name, Old: old, New: outcome.New})
		}
	}
	p.track(ctx, moves)
}

// has reports whether a commit is in this repository.
func (s *Sharer) has(id objstore.ID) (bool, error) {
	_, err := objstore.GetKind(s.parts.Objects, id, objstore.Commit)
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
