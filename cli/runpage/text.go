package runpage

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/app/summary"
	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Text returns the page of the run.
func (v *View) Text(style Style) string {
	c := &canvas{p: style.Painter, g: style.Glyphs, width: min(max(style.Columns, narrowest), widest), now: v.now}
	v.head(c)
	v.failure(c)
	v.waiting(c)
	v.runningNow(c)
	if v.Session {
		v.turnList(c)
	} else {
		v.steps(c)
	}
	v.outputList(c)
	v.forkList(c)
	v.nextList(c)
	return c.String()
}

// unread writes a line for each of the parts that could not be read.
func (v *View) unread(c *canvas, parts ...summary.Part) {
	for _, part_ := range parts {
		err := v.Unread[part_]
		if err == nil {
			continue
		}
		var known *fault.Error
		text := err.Error()
		if errors.As(err, &known) {
			text = known.Msg
		}
		c.line(part{"! ", term.Red}, part{fmt.Sprintf("not all of the %s can be read: %s", part_, plain.OneLine(text)), ""})
	}
}

// head writes the name, the state, when and how long, and the facts of the run.
func (v *View) head(c *canvas) {
	sign, words, style := v.standing(c)
	when := display.Moment(v.now, v.StartMs, time.TimeOnly)
	if v.TookMs > 0 || v.WaitedMs == 0 {
		when += ", " + display.Took(v.TookMs)
	}
	if v.WaitedMs > 0 && !v.Row.Status.Waiting() {
		when += ", waited " + display.Took(v.WaitedMs)
	}
	name, id := v.Row.ID, ""
	if parent := v.Row.Parent; parent != nil && parent.Label != "" {
		name, id = parent.Label, "  "+v.Row.ID
	}
	taken := 2 + term.Width(id) + 2 + term.Width(words)
	room := c.width - taken - 2 - term.Width(when)
	if room < shortestName {
		room = c.width - taken // the time gets a line of its own
	}
	name = c.fit(name, max(room, shortestName))
	parts := []part{{sign + " ", style}, {name, term.Bold}, {id, term.Grey}, {"  " + words, style}}
	if gap := c.width - taken - term.Width(name) - term.Width(when) - 3; gap >= 0 {
		parts = append(parts, part{strings.Repeat(" ", gap+2), ""}, part{when, ""})
		c.line(parts...)
	} else {
		c.line(parts...)
		c.line(part{"  " + when, ""})
	}
	v.facts(c)
	v.inputs(c)
	v.unread(c, summary.PartInput, summary.PartFrames, summary.PartCode, summary.PartUsage)
}

// shortestName is the number of columns that the name of the run has at least.
const shortestName = 12

// standing returns how the run stands: a sign, words and their style.
func (v *View) standing(c *canvas) (sign, words, style string) {
	sign, words, style = c.g.Run(v.Row.Status, v.Stale)
	if v.Stale {
		return sign, words + " for " + display.Span(v.now.Sub(time.UnixMilli(v.Entry.AtMs))), style
	}
	if !v.Row.Status.Waiting() || len(v.Waits) == 0 {
		return sign, words, style
	}
	for i := range v.Waits {
		if !v.Waits[i].Ready {
			sign, words = v.waitWords(c, &v.Waits[i])
			return sign, words, style
		}
	}
	return sign, "waits to be resumed", style
}

// waitWords returns the sign of a wait, and words for what it waits.
func (v *View) waitWords(c *canvas, w *Wait) (sign, words string) {
	switch {
	case w.For == "approval":
		return c.g.Person, "waits for approval"
	case w.For == "human":
		return c.g.Person, "waits for an answer"
	case w.For == "signal":
		return c.g.Clock, "waits for " + plain.Shorten(clean(w.What), 30)
	case w.DueAtMs != nil:
		return c.g.Clock, "waits until " + v.until(*w.DueAtMs)
	}
	return c.g.Clock, "waits"
}

// until returns a moment to which something waits.
func (v *View) until(ms int64) string {
	return strings.TrimPrefix(display.Moment(v.now, ms, "15:04"), "today ")
}

// facts writes the workflow, numbers and the place of the run.
func (v *View) facts(c *canvas) {
	var words []part
	add := func(text string) {
		if text != "" {
			words = append(words, part{text, ""})
		}
	}
	if v.Session {
		add(app.EngineName(v.Row.Workflow))
		add(count(v.Calls.Total, "call") + failedOf(v.Calls.Failed))
	} else {
		add(v.Row.Workflow)
	}
	if n := v.Frames.All; n > 0 {
		add(count(n, "frame"))
	}
	if own := v.ownAttempts(); !v.Session && own > 0 {
		add(count(own, "attempt"))
	}
	if v.Forked > 0 {
		add(count(v.Forked, "fork"))
	}
	if !v.Code.IsZero() {
		add(c.code(v.Code.Added, v.Code.Removed) + " in " + count(v.Code.Files, "file"))
	}
	if v.Usage != nil && v.Usage.Tokens() > 0 {
		add(display.Tokens(v.Usage.Tokens()))
	}
	if v.Usage != nil && v.Usage.CostUSD > 0 {
		add(display.Cost(v.Usage.CostUSD))
	}
	if o := v.Origin; o != nil {
		from := "forked from " + o.At.String()
		if o.Elsewhere {
			from = "forked from another repository's " + o.At.String()
		}
		add(from)
	}
	if vcs := v.VCS; vcs != nil && vcs.Pointer() != "" {
		at := "at " + display.ShortRevision(vcs.Type, vcs.CommitID, vcs.ChangeID)
		if vcs.Branch != "" {
			at = vcs.Branch + " " + at
		}
		add(at)
		if vcs.Root != "" {
			add("in " + vcs.Root)
		}
	}
	if v.Row.Status.Waiting() && v.ours {
		add("no process runs it")
	}
	c.flow(part{}, 2, 3, words, " "+c.g.Dot+" ")
}

// ownAttempts returns the number of attempts that the run does not have from its parent.
func (v *View) ownAttempts() (n int) {
	for _, a := range v.Attempts {
		if !a.Inherited {
			n++
		}
	}
	return n
}

// count returns a number and a word, such as "1 run" or "1 204 runs".
func count(n int, word string) string {
	text := plain.Count(n, word)
	_, word, _ = strings.Cut(text, " ")
	return display.Number(int64(n)) + " " + word
}

// failedOf returns words for the number of things that failed, or "" for none.
func failedOf(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + display.Number(int64(n)) + " failed"
}

// code returns numbers of lines, such as "+3 −1". A side that is 0 is left out.
func (c *canvas) code(added, removed int64) string {
	var sides []string
	if added > 0 {
		sides = append(sides, "+"+display.Number(added))
	}
	if removed > 0 {
		sides = append(sides, c.g.Minus+display.Number(removed))
	}
	return strings.Join(sides, " ")
}

// codeParts returns numbers of lines as parts of a line, right-aligned in width columns.
func (c *canvas) codeParts(added, removed int64, width int) []part {
	text := c.code(added, removed)
	parts := []part{{strings.Repeat(" ", max(width-term.Width(text), 0)), ""}}
	plus, minus, both := strings.Cut(text, " "+c.g.Minus)
	switch {
	case both:
		return append(parts, part{plus, term.Green}, part{" " + c.g.Minus + minus, term.Red})
	case removed > 0:
		return append(parts, part{text, term.Red})
	}
	return append(parts, part{text, term.Green})
}

// The limits of the values of an input.
const (
	valueShown  = 40
	inputsLines = 3
)

// inputs writes the members of the input.
func (v *View) inputs(c *canvas) {
	members := membersOf(v.Input)
	if len(members) == 0 || v.Session {
		return
	}
	words := make([]part, len(members))
	for i, m := range members {
		words[i].text = valueOf(m, c.g.Dots)
	}
	c.flow(part{"input", term.Grey}, 9, inputsLines, words, "  ")
}

// membersOf returns the members of a JSON object in their order, at most most. Another value is one member without a name.
func membersOf(value json.RawMessage) []summary.InputValue {
	const most = 100
	var members jsontext.Members
	if value == nil {
		return nil
	}
	if json.Unmarshal(value, &members) != nil {
		return []summary.InputValue{{Value: value}}
	}
	list := make([]summary.InputValue, 0, min(len(members), most))
	for _, m := range members[:min(len(members), most)] {
		list = append(list, summary.InputValue{Name: m.Name, Value: m.Value})
	}
	return list
}

// valueOf returns a member of an input as "name value".
func valueOf(m summary.InputValue, dots string) string {
	text := string(m.Value)
	if word := wordsOf(m.Value); word != "" && !strings.ContainsAny(word, " \n\t\"") && text[0] == '"' {
		text = word
	}
	if m.Value == nil {
		text = "left out"
	}
	return strings.TrimSpace(clean(m.Name) + " " + term.CutEnd(clean(text), valueShown, dots))
}

// failure writes which step failed, the end of what it printed, and the last change of files before it.
func (v *View) failure(c *canvas) {
	f := v.Failure
	if f == nil {
		return
	}
	c.WriteByte('\n')
	reason := withoutCode(f.Error)
	if f.Step == nil {
		c.line(part{c.g.Failed + " the run failed: " + reason, term.Bold + ";" + term.Red})
		v.unread(c, summary.PartFailure)
		return
	}
	where := ""
	if f.Step.RalphID != nil {
		where = fmt.Sprintf("iteration %d of %s, ", f.Step.Iteration, *f.Step.RalphID)
	}
	tries := "failed"
	if f.Tries > 1 {
		tries = fmt.Sprintf("failed %d times", f.Tries)
	}
	c.line(part{c.g.Failed + " ", term.Red}, part{f.Step.NodeID + "  " + where + tries + ": " + reason, term.Bold})
	bar := part{"  " + c.g.Bar + " ", term.Grey}
	if v.cut > 0 {
		c.line(bar, part{c.g.Dots + " " + count(v.cut, "line") + " above", term.Grey})
	}
	for _, text := range v.log {
		style := ""
		if looksLikeError(text) {
			style = term.Red
		}
		c.line(bar, part{strings.ReplaceAll(text, "\t", "    "), style})
	}
	v.unread(c, PartLog)
	if change := f.Change; change != nil {
		by := ""
		if change.Step != "" {
			by = change.Step + ", "
		}
		what := fmt.Sprintf("  last change before it  %sframe %d: %s ", by, change.Frame, count(change.Code.Files, "file"))
		c.line(append([]part{{what, ""}}, c.codeParts(change.Code.Added, change.Code.Removed, 0)...)...)
	}
	v.unread(c, summary.PartFailure)
}

// withoutCode returns an error of an attempt without its code: "code: reason" becomes "reason".
func withoutCode(text string) string {
	code, reason, found := strings.Cut(text, ": ")
	if found && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") == "" {
		return reason
	}
	return text
}

// looksLikeError reports whether a line of a log begins as an error does.
func looksLikeError(text string) bool {
	text = strings.ToLower(strings.TrimLeft(text, " \t"))
	for _, begin := range []string{"not ok", "error", "fatal", "panic:", "fail", "traceback", "uncaught"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

// waiting writes what the run waits for, and how to answer.
func (v *View) waiting(c *canvas) {
	if v.Row.Status.Ended() {
		return
	}
	if v.Unread[summary.PartWaits] != nil {
		c.WriteByte('\n')
		v.unread(c, summary.PartWaits)
	}
	for i := range v.Waits[:min(len(v.Waits), waitsShown)] {
		v.wait(c, &v.Waits[i])
	}
	if more := len(v.Waits) - waitsShown; more > 0 {
		c.line(part{fmt.Sprintf("  and %d more: `git smithers inbox` lists them", more), term.Grey})
	}
}

// wait writes one wait.
func (v *View) wait(c *canvas, w *Wait) {
	c.WriteByte('\n')
	sign, _ := v.waitWords(c, w)
	what := w.What
	switch {
	case w.For == "signal":
		what = "waits for the signal " + w.What
		if w.CorrelationID != nil {
			what += ", correlation " + *w.CorrelationID
		}
	case w.For == "timer" && w.DueAtMs != nil:
		what = "waits until " + v.until(*w.DueAtMs)
	}
	since := v.sinceWords(w)
	name := sign + " " + v.wordOf(w.NodeID, w.Iteration) + "  "
	room := c.width - term.Width(clean(name))
	text := term.CutEnd(clean(plain.OneLine(what)), max(room, shortestName), c.g.Dots)
	parts := []part{{name, term.Yellow}, {text, term.Yellow}}
	if gap := room - term.Width(text) - term.Width(since); since != "" && gap >= 2 {
		c.line(append(parts, part{strings.Repeat(" ", gap) + since, term.Grey})...)
	} else {
		c.line(parts...)
		c.line(part{"    " + since, term.Grey})
	}
	for _, line := range plain.Lines(w.Summary)[:min(len(plain.Lines(w.Summary)), fieldsShown)] {
		if line != "" {
			c.line(part{"    " + line, ""})
		}
	}
	v.fields(c, w)
	if !w.Ready {
		for _, how := range w.Commands {
			c.whole(how, part{}, 0)
		}
	}
}

// wordOf returns the name of a step in the head of a wait.
func (v *View) wordOf(node string, iteration int) string {
	if iteration > 0 {
		return snapshot.Key(node, iteration)
	}
	return node
}

// sinceWords returns since when a wait is, and how long it still is.
func (v *View) sinceWords(w *Wait) string {
	var words []string
	if w.SinceMs > 0 && (w.For == "approval" || w.For == "human") {
		words = append(words, "asked "+ago(v.now, w.SinceMs))
	}
	if w.Ready {
		return strings.Join(append(words, "answered"), ", ")
	}
	if w.DueAtMs != nil {
		if left := time.UnixMilli(*w.DueAtMs).Sub(v.now); left > 0 {
			words = append(words, display.Span(left)+" left")
		}
	}
	return strings.Join(words, ", ")
}

// ago returns how long ago a moment was.
func ago(now time.Time, ms int64) string {
	if d := now.Sub(time.UnixMilli(ms)); d >= time.Minute {
		return display.Span(d) + " ago"
	}
	return "just now"
}

// fields writes the fields of the answer to a request.
func (v *View) fields(c *canvas, w *Wait) {
	fields := fieldsOf(w.Form)
	if w.Ready {
		return
	}
	name, says := 0, 0
	for _, f := range fields[:min(len(fields), fieldsShown)] {
		name, says = max(name, term.Width(clean(f.Name))), max(says, term.Width(clean(f.Says)))
	}
	name, says = min(name, c.width/4), min(says, c.width/2)
	for _, f := range fields[:min(len(fields), fieldsShown)] {
		parts := []part{{"    ", ""}}
		if name > 0 {
			parts = append(parts, part{c.left(f.Name, name) + "   ", term.Bold})
		}
		text := term.CutEnd(clean(f.Says), says, c.g.Dots)
		pad := strings.Repeat(" ", says-term.Width(text))
		c.line(append(parts, part{text + pad + "   " + f.Need, term.Grey})...)
	}
	if more := len(fields) - fieldsShown; more > 0 {
		c.line(part{fmt.Sprintf("    and %d more", more), term.Grey})
	}
}

// runningNow writes the attempts that run.
func (v *View) runningNow(c *canvas) {
	if v.Row.Status != snapshot.RunRunning || v.Session {
		return
	}
	first := true
	for i := range v.Steps {
		step := &v.Steps[i]
		last := step.Last()
		if step.State != snapshot.NodeInProgress || last == nil {
			continue
		}
		if first {
			c.WriteByte('\n')
			first = false
		}
		sign, words := c.g.Running, "running for "+display.Took(last.TookMs())
		if v.Stale {
			sign, words = c.g.Silent, "was running"
		}
		if last.Attempt.Attempt > 1 {
			words = fmt.Sprintf("attempt %d, %s", last.Attempt.Attempt, words)
		}
		c.line(part{sign + " ", term.Blue}, part{step.Name() + "  ", term.Bold}, part{words, ""})
	}
}

// outputList writes the outputs of the last steps.
func (v *View) outputList(c *canvas) {
	if len(v.outputs) == 0 && v.Unread[PartOutputs] == nil {
		return
	}
	c.title("Outputs")
	width := 0
	for _, o := range v.outputs {
		width = max(width, min(term.Width(clean(o.step.Name())), c.width/3))
	}
	for _, o := range v.outputs {
		members := membersOf(o.value)
		words := make([]part, len(members))
		for i, m := range members {
			words[i].text = valueOf(m, c.g.Dots)
		}
		c.flow(part{o.step.Name(), ""}, 2+width+2, inputsLines, words, "  ")
	}
	v.unread(c, PartOutputs)
}

// nextList writes what to type next.
func (v *View) nextList(c *canvas) {
	if len(v.Next) == 0 {
		return
	}
	c.title("Next")
	column := 0
	for _, next := range v.Next {
		if n := term.Width(clean(next.Line)) + 2; n+2+term.Width(next.Does) <= c.width {
			column = max(column, n)
		}
	}
	for _, next := range v.Next {
		c.whole(next.Line, part{next.Does, term.Grey}, column)
	}
}
