package smithers

import (
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
)

// rendered is the tree for a draft; nil where it is as before, or unknown.
func (l *runLine) rendered(tree string) []byte {
	if tree == "" || tree == l.ours || tree == export.NoTree && l.ours == "" {
		return nil
	}
	return []byte(tree)
}

// inflate gives the rendered tree that Smithers has at a frame, "" for none, and why it cannot be told.
func (l *runLine) inflate(p *peerRun, no int64) (string, error) {
	row, ok := p.frameRows[no]
	if !ok {
		return l.tree, nil
	}
	encoding := dbrow.TextOf(row, "encoding")
	if encoding == source.DeltaFrame && l.tree == "" {
		return "", fmt.Errorf("the delta of frame %d has no frame before it", no)
	}
	tree, err := source.Inflate(l.tree, dbrow.TextOf(row, "xml_json"), encoding)
	if err != nil {
		return "", fmt.Errorf("frame %d cannot be read: %w", no, err)
	}
	return tree, nil
}

// passOver makes the tree of the newest frame between two that has no snapshot the one that what
// follows goes on from.
func (l *runLine) passOver(p *peerRun, after, before int64) {
	i, _ := slices.BinarySearch(p.lonely, after)
	for ; i < len(p.lonely) && p.lonely[i] < before; i++ {
		l.tree, _ = l.inflate(p, p.lonely[i])
	}
}

// inflateTo is the rendered tree at a frame that is stored, from the last one before it that is whole.
func (l *runLine) inflateTo(p *peerRun, no int64) string {
	var rows []int64
	for n := range p.frameRows {
		if n <= no {
			rows = append(rows, n)
		}
	}
	slices.Sort(rows)
	first := len(rows) - 1
	for first > 0 && dbrow.TextOf(p.frameRows[rows[first]], "encoding") == source.DeltaFrame {
		first--
	}
	l.tree = ""
	for _, n := range rows[max(first, 0):] {
		l.tree, _ = l.inflate(p, n)
	}
	return l.tree
}
