package inspect

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// hashShown is how many digits of a content hash people see.
	hashShown = 8
	// codeMark marks a frame that changed files.
	codeMark = "▪"
)

// timelineText writes timelines for people.
type timelineText struct {
	p         display.Painter
	zone      *time.Location
	long      bool                          // show content hashes and revisions, and the date in each line
	waits     map[string]string             // by run id: what the run waits for, in words
	cancelled map[string]string             // by the id of the run: who has cancelled it
	names     map[string]*agent.Name        // by the id of the run: how people know it, if it is a session
	effects   map[string][]list.Effect      // by run id: the effects of its frames, in the order of the frames
	left      map[string][]snapshot.LeftOut // by run id: see repositoriesLeft
	width     int                           // how many columns the terminal has; 0 if there is none
	all       bool                          // also show frames that only start steps that end later

	folded int          // the number of the steps whose starts were left out
	day    string       // the date that was written last
	line   bytes.Buffer // the line of the frame that is being written
}

// frameColumns has the widths of the columns in the timeline of a run: the frame number, the duration, and the changes
// of files. A column of width 0 is left out.
type frameColumns struct {
	number, took, code int
	revised            bool // whether any frame has a revision; otherwise the column of revisions is left out
}

// write writes the timeline of a run to b: a header line, a line for each frame, and a line about everything the run
// waits for. Below a frame, write adds a line for each fork that starts there. The timelines of forks in tree follow
// below, with a larger indent. Every line begins with indent.
func (t *timelineText) write(b *strings.Builder, tree *list.Tree, indent string) {
	run := tree.Timeline
	status := plain.Text(run.Status)
	room := t.room(indent + "  " + status)
	b.WriteString(indent + t.p.Paint(term.Bold, fit(plain.Text(run.RunID), &room)))
	if branch := run.Branch; branch != nil {
		from := timeline.Address{Run: branch.ParentRunID, Frame: branch.ParentFrameNo}
		b.WriteString(fit(fmt.Sprintf("%s (forked from %s)", label(branch.BranchLabel), plain.Text(from.String())), &room))
	}
	b.WriteString("  " + t.p.Status(status))
	if by := t.cancelled[run.RunID]; by != "" {
		b.WriteString(fit(" by "+plain.Text(by), &room))
	}
	b.WriteString(fit(t.named(run.RunID), &room) + "\n")
	if run.LeftOut > 0 {
		b.WriteString(indent + t.p.Paint(term.Dim, "  … "+plain.Count(run.LeftOut, "frame")+" before") + "\n")
		for _, f := range run.Older() {
			t.forks(b, f, tree, indent)
		}
	}
	columns, folded := t.columns(run), t.folds(run)
	for i, f := range run.Frames {
		if t.folded += folded[i]; folded[i] > 0 {
			continue
		}
		at := time.UnixMilli(f.CreatedAtMs).In(t.zone)
		if !t.long {
			t.date(b, at, indent)
		}
		t.frame(b, f, at, t.effect(run, i), columns, indent)
		t.forks(b, f, tree, indent)
	}
	below := func(text string) {
		room := t.room(indent)
		b.WriteString(indent + fit("  "+text, &room) + "\n")
	}
	if left := display.LeftOutNames(t.left[run.RunID]); len(left) > 0 {
		below("not in the frames: " + display.List(left))
	}
	if text := t.waits[run.RunID]; text != "" {
		below(text)
	}
	for i := range tree.Children {
		t.write(b, &tree.Children[i], indent+"    ")
	}
}

// forks writes a line for each fork of the frame f.
func (t *timelineText) forks(b *strings.Builder, f list.FrameInfo, tree *list.Tree, indent string) {
	for _, fork := range f.Forks {
		indent := indent + "  |-- "
		room := t.room(indent)
		text := label(fork.BranchLabel) + " (" + forkedAt(f, fork) + ")"
		if len(tree.Children) == 0 { // else its own timeline has the name
			text += t.named(fork.RunID)
		}
		b.WriteString(indent + t.p.Paint(term.Bold, fit(plain.Text(fork.RunID), &room)) + fit(text, &room) + "\n")
	}
}

// room returns how many columns a line has besides what is taken. A line is cut only on a narrow terminal.
func (t *timelineText) room(taken string) int {
	if !t.narrow() {
		return math.MaxInt
	}
	return t.width - term.Width(taken)
}

// fit cuts text to the columns in room, and takes its width from room.
func fit(text string, room *int) string {
	if *room < 1 {
		return ""
	}
	text = term.CutEnd(text, *room, "…")
	*room -= term.Width(text)
	return text
}

// folds returns, by the index in run.Frames, how many steps a frame starts, if it does nothing else and later frames show their ends; else 0.
func (t *timelineText) folds(run list.RunTimeline) []int {
	out := make([]int, len(run.Frames))
	if t.all {
		return out
	}
	told := make(map[string]bool) // the steps that later frames name
	for i, f := range slices.Backward(run.Frames) {
		starts, try, ok := strings.Cut(f.Subject, " started")
		if ok && (try == "" || strings.HasPrefix(try, " (attempt ")) && !strings.Contains(try, ";") {
			names := strings.Split(starts, ", ")
			if !t.effect(run, i).Changed && len(f.Forks) == 0 && !slices.ContainsFunc(names, func(name string) bool { return !told[name] }) {
				out[i] = len(names)
			}
			continue
		}
		what, _, _ := strings.Cut(f.Subject, ": ") // the text of an error may have any words
		for phrase := range strings.SplitSeq(what, "; ") {
			for name := range strings.SplitSeq(phrase, ", ") {
				name, _, _ = strings.Cut(name, " ")
				told[name] = true
			}
		}
	}
	return out
}

// narrow reports whether a terminal has no room for words that can be guessed.
func (t *timelineText) narrow() bool { return t.width > 0 && t.width < 60 }

// named returns the name of a session with spaces before it, or "".
func (t *timelineText) named(run string) string {
	if text := t.names[run].Text(); text != "" {
		return "  " + text
	}
	return ""
}

// effect returns what the frame with the index i in run.Frames changed. The result is the zero value if the effects of
// the run are not known.
func (t *timelineText) effect(run list.RunTimeline, i int) list.Effect {
	if effects := t.effects[run.RunID]; i < len(effects) {
		return effects[i]
	}
	return list.Effect{}
}

// columns returns the widths of the columns for the frames of a run.
func (t *timelineText) columns(run list.RunTimeline) frameColumns {
	c := frameColumns{number: 1}
	for i, f := range run.Frames {
		effect := t.effect(run, i)
		c.number = max(c.number, len(strconv.FormatInt(f.FrameNo, 10)))
		c.took = max(c.took, utf8.RuneCountInString(tookText(effect)))
		c.code = max(c.code, utf8.RuneCountInString(codeText(display.Painter{}, effect)))
		c.revised = c.revised || f.VCS != nil
	}
	return c
}

// date writes a line with the date of a frame, unless it is the date that the last call wrote. at is the time of the
// frame. The line begins with indent.
func (t *timelineText) date(b *strings.Builder, at time.Time, indent string) {
	// A date with a day of two digits has one byte more than the layout. Appending to an array allocates nothing.
	var digits [len("Mon 2 Jan 2006") + 1]byte
	if day := at.AppendFormat(digits[:0], "Mon 2 Jan 2006"); string(day) != t.day {
		t.day = string(day)
		b.WriteString(indent + "  " + t.p.Paint(term.Dim, t.day) + "\n")
	}
}

// frame writes the line of the frame f. at is the time of the frame, in the zone in which it is shown. effect has the
// changes of the frame, and columns has the widths of the columns. The text of a failed step is red. A dropped frame is
// faint, and has no other colour. The line begins with indent.
func (t *timelineText) frame(b *strings.Builder, f list.FrameInfo, at time.Time, effect list.Effect, columns frameColumns, indent string) {
	paint, mark := t.p, ""
	if f.Dropped {
		paint, mark = display.Painter{}, " (dropped)"
	}
	layout, word := time.TimeOnly, "Frame "
	if t.narrow() {
		layout, word = "15:04", ""
	}
	if t.long {
		layout = time.DateTime
	}
	line := &t.line
	line.Reset()
	fmt.Fprintf(line, "%s%*d  %s", word, columns.number, f.FrameNo, paint.Paint(term.Dim, at.Format(layout)))
	if columns.took > 0 {
		fmt.Fprintf(line, "  %*s", columns.took, tookText(effect))
	}
	if columns.code > 0 {
		line.WriteString("  " + display.Padded(codeText(paint, effect), codeText(display.Painter{}, effect), columns.code))
	}
	if t.long {
		line.WriteString("  " + paint.Paint(term.Yellow, shortHash(f.ContentHash)))
		if columns.revised {
			line.WriteString("  " + frameRevision(paint, f.VCS))
		}
	}
	what := plain.Text(f.Subject)
	if t.narrow() && !t.long {
		before := len(indent) + columns.number + columns.took + columns.code + len("    15:04      "+mark)
		what = term.CutEnd(what, max(t.width-before, 10), "…")
	}
	if effect.Failed {
		what = paint.Paint(term.Red, what)
	}
	line.WriteString("  " + what + mark)
	b.WriteString(indent + "  ")
	if f.Dropped {
		b.WriteString(t.p.Paint(term.Dim, line.String()))
	} else {
		b.Write(line.Bytes())
	}
	b.WriteByte('\n')
}

// tookText returns how long the step that ended with a frame took, or "" if no step ended.
func tookText(effect list.Effect) string {
	if !effect.Ended {
		return ""
	}
	return display.Duration(time.Duration(effect.TookMs) * time.Millisecond)
}

// codeText returns the mark of a frame that changed files, with the numbers of added and removed lines if they were
// counted. It returns "" for any other frame.
func codeText(p display.Painter, effect list.Effect) string {
	if !effect.Changed {
		return ""
	}
	text := p.Paint(term.Cyan, codeMark)
	if lines := effect.Lines; lines != nil && lines.Added > 0 {
		text += " " + p.Paint(term.Green, "+"+plain.Number(lines.Added))
	}
	if lines := effect.Lines; lines != nil && lines.Removed > 0 {
		text += " " + p.Paint(term.Red, "−"+plain.Number(lines.Removed))
	}
	return text
}

// forkedAt returns words about the frame at which a fork starts. It adds a remark if this frame was dropped, and a
// remark if the fork was undone. f is the frame below which the timeline lists the fork. If the timeline does not show
// the frame at which the fork starts, f is an earlier frame.
func forkedAt(f list.FrameInfo, fork list.ForkInfo) string {
	text := fmt.Sprintf("forked at frame %d", fork.ParentFrameNo)
	if fork.ParentFrameNo != f.FrameNo {
		text += ", which was dropped"
	}
	if fork.Undone {
		text += ", undone"
	}
	return text
}

// frameRevision returns the short revision of a frame, padded to the width of its column. If v is nil, the frame has no
// revision, and the result has only spaces.
func frameRevision(p display.Painter, v *list.FrameVCS) string {
	text := ""
	if v != nil {
		text = plain.Text(display.ShortRevision(v.VCSType, v.VCSPointer, display.OrEmpty(v.ChangeID)))
	}
	return display.Padded(p.Revision(text), text, display.RevisionShown)
}

// label returns the label of a fork in brackets, with a space before it. It returns "" if text is nil or "".
func label(text *string) string {
	if text == nil || *text == "" {
		return ""
	}
	return " [" + plain.Text(*text) + "]"
}

func shortHash(hash string) string { return hash[:min(hashShown, len(hash))] }
