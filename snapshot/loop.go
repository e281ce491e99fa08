package snapshot

import (
	"errors"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// Loop is the state of a loop, which Smithers calls a ralph.
type Loop struct {
	RalphID   string `json:"ralphId"`
	Iteration int    `json:"iteration"` // the loop's newest iteration, counted from 0
	Done      bool   `json:"done"`
}

// loopKind declares the rows of the collection "loops".
var loopKind = row.Kind[Loop]{
	Name: "loop",
	Key: row.Key[Loop]{
		Of: func(l *Loop) string { return l.RalphID },
		Split: func(l *Loop, key string) error {
			l.RalphID = key
			return nil
		},
		Fields: []row.Field[Loop]{row.Text("ralphId", func(l *Loop) *string { return &l.RalphID })},
		Title:  func(l *Loop) string { return l.RalphID },
	},
	Fields: []row.Field[Loop]{
		row.Bool("done", func(l *Loop) *bool { return &l.Done }),
		row.Int("iteration", func(l *Loop) *int { return &l.Iteration }),
	},
	Check: Loop.check,
}

// EncodeLoop returns the row of a loop, without checking the loop.
func EncodeLoop(l Loop) page.Row { return loopKind.Encode(l) }

// DecodeLoop decodes the row of a loop. If EncodeLoop would not have written the row, or the loop is invalid,
// the error wraps objstore.ErrCorrupt.
func DecodeLoop(r page.Row) (Loop, error) { return loopKind.Decode(r) }

// check returns an error if the loop cannot be stored: if it has no id, or the iteration is out of range.
func (l Loop) check() error {
	switch {
	case l.RalphID == "":
		return errors.New("ralphId: missing")
	case l.Iteration < 0 || l.Iteration > row.MaxInteger:
		return errors.New("iteration: out of range")
	}
	return nil
}
