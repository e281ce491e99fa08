package transport

import (
	"context"
	"os"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

const (
	// defaultChunk is the default value of Options.Chunk.
	defaultChunk = 200
	// maxRefused is the number of successive refusals of single refs after which a push gives up.
	maxRefused = 3
	// maxContended is the maximum number of retries after another process has moved or locked a ref. contendedFor is
	// the pause before each retry.
	maxContended = 8
	contendedFor = 20 * time.Millisecond
)

// How is the kind of a Move. It includes the condition that the ref at the remote must meet.
type How uint8

const (
	// FastForward moves a ref to a descendant of its value, or creates the ref.
	FastForward How = iota
	// Create creates a ref. A ref that already has the new value counts as up to date.
	Create
	// Delete deletes a ref that has the value Move.Old. A missing ref counts as up to date.
	Delete
)

// Move is a requested move of a ref at the remote.
type Move struct {
	Name refs.Name
	How  How
	New  objstore.ID // the new value; zero for Delete
	Old  objstore.ID // the expected value for Delete; otherwise zero
}

// Status is the result of a Move.
type Status uint8

const (
	// Moved means that the push made the move.
	Moved Status = iota
	// UpToDate means that no move was necessary.
	UpToDate
	// Stale means that the ref at the remote does not have the expected value and was not moved.
	Stale
	// Refused means that the remote refuses the move because of a hook, a rule or a limit.
	Refused
	// Unreadable means that an object to send is missing or damaged in this repository.
	Unreadable
)

// Outcome is a Move and its result.
type Outcome struct {
	Move

	Status Status
	Reason string // the message of the remote or of the local git; "" for Moved and UpToDate
}

// Push moves refs at remote, which is the name of a configured remote or a URL. It returns the outcome of each move,
// in order. No two moves may name the same ref.
//
// Push sends the moves in chunks. If the remote supports atomic pushes, a chunk moves as a whole or not at all. If a
// stale ref prevents the moves of its chunk, Push sends the chunk again without the stale ref. If the remote refuses a
// chunk, Push sends the halves of the chunk, down to single refs. If both halves are accepted, the chunk was too large,
// and later chunks have the accepted size. After three successive refusals of single refs, Push gives up, and the
// remaining moves are Refused. If this repository cannot read an object, Push also halves the chunk, until the ref that
// needs the object is alone.
//
// If the connection or this repository fails, Push returns an error and the outcomes so far, which are valid. The
// results of the other moves are unknown. The caller can repeat Push to complete them.
func (t *Transport) Push(ctx context.Context, remote string, moves []Move) ([]Outcome, error) {
	p := &pusher{t: t, remote: remote, atomic: true, size: t.opts.Chunk, contended: maxContended}
	if p.size <= 0 {
		p.size = defaultChunk
	}
	p.settled = make(map[refs.Name]Outcome, len(moves))
	if len(moves) >= manyMoves {
		var err error
		if p.from, err = t.scratchDir(ctx); err != nil {
			return nil, err
		}
		if p.from != "" {
			defer os.RemoveAll(p.from) //nolint:errcheck // the system cleans its folder of temporary files
		}
	}
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

// pusher is a Push in progress.
type pusher struct {
	t         *Transport
	remote    string
	from      string                // the git directory to push from; "" for the repository's own
	atomic    bool                  // false after the remote rejected an atomic push
	size      int                   // number of moves in the next chunk
	settled   map[refs.Name]Outcome // the outcomes so far
	refused   int                   // number of Refused and Unreadable moves
	inARow    int                   // number of refusals since a push last moved a ref
	over      string                // the reason to give up; "" while the push continues
	contended int                   // number of remaining retries after another process has moved or locked a ref
}

// settle records the outcome of a move, and counts it if it is Refused or Unreadable.
func (p *pusher) settle(move Move, status Status, reason string) {
	p.settled[move.Name] = Outcome{Move: move, Status: status, Reason: reason}
	if status == Refused || status == Unreadable {
		p.refused++
	}
}

// each pushes moves in chunks of at most p.size moves.
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

// try pushes a chunk, and repeats the push with parts of the chunk until each move has an outcome. If an earlier push
// gave up, p.over has the reason. Then try pushes nothing, and all moves are Refused. An error means that some moves
// have no outcome.
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
	if a := answers[chunk[0].Name]; a.verdict == unsent { // all refs of the chunk then have this verdict
		if len(chunk) > 1 {
			return p.halve(ctx, chunk)
		}
		p.settle(chunk[0], Unreadable, a.reason)
		return nil
	}
	left, refused, contended := p.sort(chunk, answers)
	if len(contended) > 0 {
		// The other process is probably done soon. If no retry is left, the moves count as refused.
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
		return p.halve(ctx, refused) // the remote may accept some of the moves
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
	return p.try(ctx, left) // without the stale and refused moves, which held up the moves in left
}

// sort records the outcomes in answers that are final, and returns the other moves of chunk. The moves in left were
// held up by other moves. The moves in refused were declined by the remote. The moves in contended lost a race
// against another process.
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
		case unknown, unsent, heldUp: // try and parsePorcelain have excluded unknown and unsent
			left = append(left, move)
		case raced:
			contended = append(contended, move)
		case declined:
			refused = append(refused, move)
		}
	}
	return left, refused, contended
}

// halve pushes a chunk again, in halves, after the remote refused the chunk or this repository could not read an
// object. If no move becomes Refused or Unreadable, the chunk was too large, and p.size keeps the smaller size.
// Otherwise, halve restores p.size.
func (p *pusher) halve(ctx context.Context, chunk []Move) error {
	size, refused := p.size, p.refused
	p.size = len(chunk) / 2
	err := p.each(ctx, chunk)
	if p.refused > refused {
		p.size = size
	}
	return err
}

// forgive changes the outcome of each Stale deletion to UpToDate if the remote does not have the ref, because the
// deletion is then unnecessary.
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

// unsettled returns the moves without an outcome in settled.
func unsettled(moves []Move, settled map[refs.Name]Outcome) []Move {
	var left []Move
	for _, move := range moves {
		if _, ok := settled[move.Name]; !ok {
			left = append(left, move)
		}
	}
	return left
}

// without returns moves without the move of the ref with the given name. If there is no such move, it returns moves
// itself. It does not change the array of moves.
func without(moves []Move, name refs.Name) []Move {
	for i, move := range moves {
		if move.Name == name {
			return append(moves[:i:i], moves[i+1:]...)
		}
	}
	return moves
}

// pause waits for the duration d. If ctx ends first, pause returns the cause of ctx.
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
