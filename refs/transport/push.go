package transport

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

const (
	// defaultChunk is Options.Chunk when it is zero.
	defaultChunk = 200
	// maxRefused is how many refusals in a row mean that it is not the single ref.
	maxRefused = 3
	// maxContended is how often a push is repeated in which somebody else came first.
	maxContended = 8
	contendedFor = 20 * time.Millisecond
)

// How says what a push expects of the ref on the other side.
type How uint8

const (
	// FastForward moves a ref to a descendant, or creates it.
	FastForward How = iota
	// Create makes a ref that must not be there. One that is there at the same id is fine.
	Create
	// Delete removes a ref that must be at Move.Old. One that is not there is fine.
	Delete
)

// Move is a ref to move on the other side.
type Move struct {
	Name refs.Name
	How  How
	New  objstore.ID // zero for Delete
	Old  objstore.ID // for Delete
}

// Status is what became of a Move.
type Status uint8

const (
	// Moved means that the other side has it now.
	Moved Status = iota
	// UpToDate means that the other side had it already.
	UpToDate
	// Stale means that the ref there is not what the move expects; nothing was written.
	Stale
	// Refused means that the other side does not take it, by a hook, a rule or a limit.
	Refused
	// Unreadable means that an object that is to go along is missing or damaged here.
	Unreadable
)

// Outcome is a Move and what became of it.
type Outcome struct {
	Move

	Status Status
	Reason string // what the other side said, or the git here; "" for Moved and UpToDate
}

// Push makes moves on remote, the name of a configured remote or a URL, and returns what
// became of each, in their order. No two moves are of one ref. Each chunk moves as a
// whole or not at all, unless the other side cannot do that; what is stale there is left
// out and does not hold up the others. Where the other side refuses a chunk, its halves
// are tried, down to single refs, and where it was their number, chunks after that are no
// larger than what it took. Where the other side refuses three times in a row what cannot
// be halved, nothing further is tried, and all that is left is Refused. A chunk is halved,
// too, until what takes along objects that cannot be read here is alone.
//
// The error is about the connection or this repository; the outcomes beside it are true
// all the same, those that are missing are not known, and the same Push again does what
// is left.
func (t *Transport) Push(ctx context.Context, remote string, moves []Move) ([]Outcome, error) {
	p := &pusher{t: t, remote: remote, atomic: true, size: t.opts.Chunk, contended: maxContended}
	if p.size <= 0 {
		p.size = defaultChunk
	}
	p.settled = make(map[refs.Name]Outcome, len(moves))
	err := p.each(ctx, moves)
	if err == nil {
		err = p.forgive(ctx)
	}
	outcomes := make([]Outcome, 0, len(moves))
	for _, move := range moves {
		if outcome, ok := p.settled[move.Name]; ok {
			outcomes = append(outcomes, outcome)
		}
	}
	return outcomes, err
}

// pusher is one Push under way.
type pusher struct {
	t         *Transport
	remote    string
	atomic    bool // until the other side says that it cannot
	size      int  // of the next chunk
	settled   map[refs.Name]Outcome
	refused   int    // how many were settled as Refused or Unreadable
	inARow    int    // refusals since something moved
	over      string // the reason why nothing further is tried
	contended int    // how many more times to try again what others were faster at
}

func (p *pusher) settle(move Move, status Status, reason string) {
	p.settled[move.Name] = Outcome{Move: move, Status: status, Reason: reason}
	if status == Refused || status == Unreadable {
		p.refused++
	}
}

// each tries moves in chunks.
func (p *pusher) each(ctx context.Context, moves []Move) error {
	for len(moves) > 0 {
		n := min(p.size, len(moves))
		if err := p.try(ctx, moves[:n]); err != nil {
			return err
		}
		moves = moves[n:]
	}
	return nil
}

// try settles every move of a chunk.
func (p *pusher) try(ctx context.Context, chunk []Move) error {
	if p.over != "" {
		for _, move := range chunk {
			p.settle(move, Refused, p.over)
		}
		return nil
	}
	answers, err := p.push(ctx, chunk)
	if err != nil {
		return err
	}
	if a := answers[chunk[0].Name]; a.verdict == unsent {
		if len(chunk) > 1 {
			return p.halve(ctx, chunk)
		}
		p.settle(chunk[0], Unreadable, a.reason)
		return nil
	}
	left, refused, contended := p.sort(chunk, answers)
	if len(contended) > 0 {
		if p.contended > 0 {
			p.contended--
			if err := pause(ctx, contendedFor); err != nil {
				return err
			}
			return p.try(ctx, unsettled(chunk, p.settled))
		}
		refused = append(refused, contended...)
	}
	if len(left) == 0 && len(refused) > 1 {
		return p.halve(ctx, refused)
	}
	for _, move := range refused {
		p.settle(move, Refused, answers[move.Name].reason)
	}
	if len(refused) > 0 {
		if p.inARow++; p.inARow == maxRefused {
			p.over = answers[refused[0].Name].reason
		}
	}
	if len(left) == 0 {
		return nil
	}
	return p.try(ctx, left)
}

// sort settles what the other side's answers settle, and tells what was only held up by
// others, what was refused, and at what somebody else was faster.
func (p *pusher) sort(chunk []Move, answers map[refs.Name]answer) (left, refused, contended []Move) {
	for _, move := range chunk {
		switch a := answers[move.Name]; a.verdict {
		case done:
			p.settle(move, Moved, "")
			p.inARow = 0
		case current:
			p.settle(move, UpToDate, "")
		case stale:
			p.settle(move, Stale, a.reason)
		case unknown, unsent, heldUp: // of the first two there is none here
			left = append(left, move)
		case raced:
			contended = append(contended, move)
		case declined:
			refused = append(refused, move)
		}
	}
	return left, refused, contended
}

// halve tries a chunk that was refused as a whole in smaller ones. Where all of it is
// taken so, it was too much at once.
func (p *pusher) halve(ctx context.Context, chunk []Move) error {
	size, refused := p.size, p.refused
	p.size = len(chunk) / 2
	err := p.each(ctx, chunk)
	if p.refused > refused {
		p.size = size
	}
	return err
}

// forgive looks at what was to be deleted and is not at its old value: what is not there
// any more is as it was to be.
func (p *pusher) forgive(ctx context.Context) error {
	var stale []Move
	for _, outcome := range p.settled {
		if outcome.How == Delete && outcome.Status == Stale {
			stale = append(stale, outcome.Move)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	there, err := p.t.List(ctx, p.remote, "refs/smithers/")
	if err != nil {
		return err
	}
	for _, ref := range there {
		stale = without(stale, ref.Name)
	}
	for _, move := range stale {
		p.settle(move, UpToDate, "")
	}
	return nil
}

// unsettled is what is left of moves.
func unsettled(moves []Move, settled map[refs.Name]Outcome) []Move {
	var left []Move
	for _, move := range moves {
		if _, ok := settled[move.Name]; !ok {
			left = append(left, move)
		}
	}
	return left
}

func without(moves []Move, name refs.Name) []Move {
	for i, move := range moves {
		if move.Name == name {
			return append(moves[:i:i], moves[i+1:]...)
		}
	}
	return moves
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
