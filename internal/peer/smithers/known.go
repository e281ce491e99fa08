package smithers

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
)

// knownRows is the data about a run that the next pass of a watch needs: the rows of the database up to the newest
// imported frame, and the state of the run's line. The fields have the names and meanings of the fields of runLine.
type knownRows struct {
	dbrun.SeenRows

	line   []tables.FrameFacts
	byPeer map[int64]tables.FrameFacts
	seq    int64
	before workcopy.Moment
	tree   string
}

// rowsKnown returns the rows that the pass knows, for the next pass of a watch. It returns nil if lineKnown
// returns nil, if no event is stored, or if the database has fewer events than the repository. It also returns
// nil if a clock was set back: see dbrun.Run.Seen.
func (r *runPass) rowsKnown() *knownRows {
	k := r.lineKnown()
	if k == nil || r.behind == 0 || r.behind > len(r.Events.All) {
		return nil
	}
	seen := r.Seen(r.behind, r.done)
	if seen == nil {
		return nil
	}
	k.SeenRows, k.seq = *seen, r.nextSeq()
	return k
}

// lineKnown returns the state of the line at the newest frame, for the next pass of a watch. If this pass found no
// new frame, lineKnown returns a copy of r.recalled. Otherwise it returns a new knownRows, whose Seen and seq the
// caller sets. It returns nil if the run has no frame, or if the pass does not know the line up to the newest
// frame.
func (r *runPass) lineKnown() *knownRows {
	n := len(r.Heads)
	switch {
	case n == 0:
		return nil
	case r.before == nil && r.recalled != nil && slices.Equal(r.Heads, r.recalled.Heads):
		k := *r.recalled
		return &k
	case r.before == nil || len(r.line) != n:
		return nil
	}
	one, newest := r.line[n-1], r.Heads[n-1]
	if one.PeerNo != newest.Frame || one.AtMs != newest.AtMs || r.before.AtMs != newest.AtMs {
		return nil
	}
	return &knownRows{line: r.line, byPeer: r.byPeer, before: *r.before, tree: r.tree}
}

// followKnown sets the line to k, the state at the end of the previous pass.
func (l *runLine) followKnown(k *knownRows) {
	l.line, l.byPeer, l.seq = k.line, k.byPeer, &k.seq
	l.before, l.tree = &k.before, k.tree
}
