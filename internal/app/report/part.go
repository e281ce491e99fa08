package report

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/internal/app/summary"
)

// PartKind says what the lines of a part are.
type PartKind string

// The kinds of parts.
const (
	LogPart   PartKind = "log"
	StatePart PartKind = "state"
	CodePart  PartKind = "code"
	TalkPart  PartKind = "talk"
)

// Part is a part of a report that can be opened.
type Part struct {
	Kind  PartKind
	State State  // of the step that the part is about; "" for none
	Title string // the step
	Frame string // the address of the frame; "" for none
	About string // what the part has of it, in words of ours
	Code  summary.Code
	Open  bool
	Lines []Line
	// Left is the number of lines that are left out: at the beginning of a log, and at the end of everything else.
	Left int
	Rest string // the command that shows the rest; "" for none
}

// LineKind says what a line of a part is.
type LineKind string

// The kinds of lines.
const (
	TextLine    LineKind = "text"
	BadLine     LineKind = "bad"     // of a log: it looks like an error
	FileLine    LineKind = "file"    // the name of a file, with what happened to it
	HunkLine    LineKind = "hunk"    // lines are left out here that have not changed
	SameLine    LineKind = "same"    // of a file, or a state
	AddedLine   LineKind = "added"   // of a file, or a state
	RemovedLine LineKind = "removed" // of a file, or a state
	ChangedLine LineKind = "changed" // of a state
	HeadLine    LineKind = "head"    // of a state: a heading
	PromptLine  LineKind = "prompt"
	AnswerLine  LineKind = "answer"
	CallLine    LineKind = "call"
	OutputLine  LineKind = "output" // the output of the call above
)

// Line is a line of a part. A prompt and an answer are one line with line feeds.
type Line struct {
	Kind   LineKind
	Text   string
	Cut    int // the number of bytes that are left out at the end of Text
	Number int // the number of the line in the file; 0 if it has none
	// MarkFrom and MarkTo are the part of Text in bytes that differs from the line that it replaces; equal for none.
	MarkFrom, MarkTo int

	Code summary.Code // of a file
	// Of a call:
	State  State
	Tool   string
	TookMs int64  // -1 if unknown
	Frame  string // the address of the frame; "" for none
}

// Fit takes lines out of the parts until cost says at most budget for all lines that are left. Parts that are short stay whole; the
// others get the same amount each. Left counts the rest. A log keeps its end, everything else its beginning.
func (r *Report) Fit(budget int, cost func(*Line) int) {
	type wish struct {
		part *Part
		cost int
	}
	var wishes []wish
	for _, run := range r.Runs {
		for _, part := range run.Parts {
			w := wish{part, 0}
			for i := range part.Lines {
				w.cost += cost(&part.Lines[i])
			}
			wishes = append(wishes, w)
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(a.cost, b.cost) })
	for i, w := range wishes {
		share := max(budget, 0) / (len(wishes) - i)
		if w.cost > share {
			w.cost = w.part.shorten(share, cost)
		}
		budget -= w.cost
	}
}

// shorten takes out lines until the part costs at most most, and returns what it costs.
func (p *Part) shorten(most int, cost func(*Line) int) int {
	total, keep := 0, 0
	for ; keep < len(p.Lines); keep++ {
		at := keep
		if p.Kind == LogPart {
			at = len(p.Lines) - 1 - keep
		}
		next := cost(&p.Lines[at])
		if total+next > most {
			break
		}
		total += next
	}
	p.Left += len(p.Lines) - keep
	if p.Kind == LogPart {
		p.Lines = p.Lines[len(p.Lines)-keep:]
	} else {
		p.Lines = p.Lines[:keep]
	}
	return total
}
