package comparison

import (
	"bytes"
	"iter"
	"strings"

	"github.com/git-smithers/git-smithers/internal/diff/align"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// calls yields the rows of the calls of the step of a row. It returns false if the rows end here.
func (c *comparer) calls(row Row, yield func(Row, error) bool) bool {
	var a, b []*Call
	if row.A != nil {
		a = row.A.Calls
	}
	if row.B != nil {
		b = row.B.Calls
	}
	if c.said {
		if err := c.say(a, b); err != nil {
			yield(Row{}, err)
			return false
		}
	}
	inherited := 0 // calls of the beginning that both runs have, stored in the same words
	for inherited < min(len(a), len(b)) && bytes.Equal(a[inherited].row, b[inherited].row) {
		if !yield(Row{A: row.A, B: row.B, CallA: a[inherited], CallB: b[inherited]}, nil) {
			return false
		}
		inherited++
	}
	a, b = a[inherited:], b[inherited:]
	if !c.said {
		if err := c.say(a, b); err != nil {
			yield(Row{}, err)
			return false
		}
	}
	for _, p := range align.Sequences(callKeys(a), callKeys(b)) {
		next := Row{A: row.A, B: row.B}
		var err error
		if p.A != align.None {
			next.CallA = a[p.A]
		}
		if p.B != align.None {
			next.CallB = b[p.B]
		}
		if next.InBoth() {
			next.Differs, err = c.call(next.CallA, next.CallB)
		}
		next.Open = next.CallA.open() && !row.A.hasCome() && !c.a.Row.Status.Ended() ||
			next.CallB.open() && !row.B.hasCome() && !c.b.Row.Status.Ended()
		if !yield(next, err) || err != nil {
			return false
		}
	}
	return true
}

// open reports whether the call is missing, or has not ended. c may be nil.
func (c *Call) open() bool { return c == nil || c.Status == snapshot.ToolCallIntended }

// say sets Said of the calls of both courses.
func (c *comparer) say(a, b []*Call) (err error) {
	for _, call := range a {
		if call.Said, err = c.a.texts.Input(call.ToolCall); err != nil {
			return err
		}
	}
	for _, call := range b {
		if call.Said, err = c.b.texts.Input(call.ToolCall); err != nil {
			return err
		}
	}
	return nil
}

// A callKey is by what a tool call is matched.
type callKey struct{ tool, input string }

// callKeys returns the keys of calls.
func callKeys(calls []*Call) []callKey {
	keys := make([]callKey, len(calls))
	for i, call := range calls {
		keys[i] = callKey{call.ToolName, string(Compact(call.Said))}
	}
	return keys
}

// call returns the differences between the outcomes of a call.
func (c *comparer) call(a, b *Call) ([]Difference, error) {
	var out []Difference
	if a.Status != b.Status {
		out = append(out, Difference{What: DiffersState, From: quoted(a.Status), To: quoted(b.Status)})
	}
	from, err := c.a.texts.Output(a.ToolCall)
	if err != nil {
		return nil, err
	}
	to, err := c.b.texts.Output(b.ToolCall)
	if err != nil {
		return nil, err
	}
	if from != nil && to != nil && !bytes.Equal(from, to) {
		was, is := firstLine(from, to)
		out = append(out, Difference{What: DiffersOutput, From: quoted(was), To: quoted(is)})
	}
	return out, nil
}

// lineShown is the size of the longest line in a Difference, in bytes.
const lineShown = 200

// firstLine returns the first line that differs in two different texts. The line of a text that has ended is "".
func firstLine(a, b []byte) (was, is string) {
	nextA, stopA := iter.Pull(strings.SplitSeq(string(a), "\n"))
	defer stopA()
	nextB, stopB := iter.Pull(strings.SplitSeq(string(b), "\n"))
	defer stopB()
	for {
		was, moreA := nextA()
		is, moreB := nextB()
		if was != is || !moreA || !moreB {
			return plain.Cut(strings.ToValidUTF8(was, "\uFFFD"), lineShown), plain.Cut(strings.ToValidUTF8(is, "\uFFFD"), lineShown)
		}
	}
}
