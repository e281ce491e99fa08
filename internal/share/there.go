package share

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

// atRemote holds the refs of a remote, or of this repository: tips and tombstones by ref component, and the
// names of frame refs.
type atRemote struct {
	tips, gone map[string]objstore.ID
	frames     map[refs.Name]bool
	others     []objstore.ID // what the refs of others name: branches, tags, …
}

// newAtRemote returns an atRemote without refs.
func newAtRemote() atRemote {
	return atRemote{tips: make(map[string]objstore.ID), gone: make(map[string]objstore.ID), frames: make(map[refs.Name]bool)}
}

// transport returns the transport between the store's repository and remotes.
func (s *Sharer) transport() *transport.Transport {
	return transport.New(transport.Options{Repo: s.store.Repo(), Env: s.store.Env(), Talk: s.opts.Talk})
}

// progress passes its arguments to Options.Progress, if Options.Progress is not nil.
func (s *Sharer) progress(what string, done, total int) {
	if s.opts.Progress != nil {
		s.opts.Progress(what, done, total)
	}
}

// remembered returns the tracking refs of the remote with the given ref component. It leaves frames empty. A
// broken ref is only a warning.
func (s *Sharer) remembered(ctx context.Context, component string) (atRemote, error) {
	out := newAtRemote()
	tips, err := s.store.Refs().RemoteTips(ctx, component)
	if err = s.broken(err); err != nil {
		return out, err
	}
	gone, err := s.store.Refs().RemoteGone(ctx, component)
	if err = s.broken(err); err != nil {
		return out, err
	}
	fill(out.tips, tips)
	fill(out.gone, gone)
	return out, nil
}

// broken warns about err and returns nil if err wraps refs.ErrBroken. It returns any other error unchanged.
func (s *Sharer) broken(err error) error {
	if errors.Is(err, refs.ErrBroken) {
		s.store.Warn(err)
		return nil
	}
	return err
}

// fill adds the refs in from to the map into. The keys of into are ref components, and the values are ids.
func fill(into map[string]objstore.ID, from []refs.TipRef) {
	for _, ref := range from {
		into[ref.Component] = ref.ID
	}
}

// look lists the remote's refs. It sets p.there to these refs, and p.tracked to the tracking refs in this
// repository. It fetches the remote's tombstones if they have changed, and deletes the tracking refs of tips that
// the remote no longer has. It fetches no tips. If the configuration does not name the remote, look also stores
// the remote's address.
func (p *push) look(ctx context.Context) error {
	list, err := p.transport().List(ctx, p.to.Name, "")
	if err != nil {
		return p.to.Explain(err)
	}
	addressBook{p.store}.note(p.to)
	p.there = newAtRemote()
	for _, ref := range list {
		if !strings.HasPrefix(string(ref.Name), refs.Folder) {
			p.there.others = append(p.there.others, ref.ID)
			continue
		}
		component, isGone := strings.CutPrefix(string(ref.Name), refs.GoneFolder)
		if isGone {
			if _, _, err := refs.UnescapeRun(component); err == nil {
				p.there.gone[component] = ref.ID
			}
			continue
		}
		component, frame, err := ref.Name.Split()
		switch {
		case err != nil: // a ref with an invalid name, to which nothing is pushed
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

// forgetVanished deletes the tracking refs of tips that the remote no longer has.
func (p *push) forgetVanished(ctx context.Context) {
	var moves []refs.Update
	for component, id := range p.tracked.tips {
		if p.there.tips[component].IsZero() {
			moves = append(moves, refs.Update{Name: refs.Name(refs.RemoteFolder(p.to.Component) + component), Old: id})
		}
	}
	p.track(ctx, moves)
}

// track makes the updates of tracking refs in moves, all or none. If another process has moved one of the refs,
// track tries each update alone, and skips that ref. The next call of look corrects the skipped ref. Any other
// failure is a warning.
func (s *Sharer) track(ctx context.Context, moves []refs.Update) {
	if len(moves) == 0 {
		return
	}
	err := s.store.Refs().Apply(ctx, moves...)
	if errors.Is(err, refs.ErrConflict) && len(moves) > 1 {
		for _, move := range moves {
			s.track(ctx, []refs.Update{move})
		}
		return
	}
	if err != nil && !errors.Is(err, refs.ErrConflict) {
		s.store.Warn(fmt.Errorf("the tracking refs of the remote were not updated: %w", err))
	}
}

// remember updates the tracking ref of each ref that the remote moved, created or deleted, or that already had its new
// value. A failure is a warning.
func (p *push) remember(ctx context.Context, outcomes []transport.Outcome) {
	ctx = context.WithoutCancel(ctx) // the remote has moved its refs, even if this process is cancelled
	var moves []refs.Update
	for _, outcome := range outcomes {
		if outcome.Status != transport.Moved && outcome.Status != transport.UpToDate {
			continue
		}
		name := refs.Name(refs.RemoteFolder(p.to.Component) + strings.TrimPrefix(string(outcome.Name), refs.TipsFolder))
		if component, isGone := strings.CutPrefix(string(outcome.Name), refs.GoneFolder); isGone {
			name = refs.Name(refs.RemoteGoneFolder(p.to.Component) + component)
		}
		old, err := p.store.Refs().Resolve(ctx, name)
		if err != nil && !errors.Is(err, refs.ErrNotFound) {
			p.store.Warn(fmt.Errorf("the tracking ref %s of the remote %s was not updated: %w", name, p.to.Shown(), err))
			continue
		}
		if old != outcome.New {
			moves = append(moves, refs.Update{Name: name, Old: old, New: outcome.New})
		}
	}
	p.track(ctx, moves)
}

// has reports whether this repository has the commit id. It returns an error if the object is damaged or not
// a commit.
func (s *Sharer) has(id objstore.ID) (bool, error) {
	_, err := objstore.GetKind(s.store.Objects(), id, objstore.Commit)
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
