package tui

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxLogLines is how many lines of a log are shown.
const maxLogLines = 1000

// textLines returns the lines of the tab at the cursor.
func (s *runScreen) textLines(m *model, width int) []line {
	if s.run == nil || len(s.run.Shown) == 0 {
		return []line{say(m.dim, " nothing yet")}
	}
	switch s.tab {
	case tabLog:
		if s.run.Session {
			return s.talkLines(m, width)
		}
		return s.logLines(m, width)
	case tabTries:
		if s.run.Session {
			return s.usageLines(m)
		}
		return s.tryLines(m)
	case tabEvents:
		return s.eventLines(m, width)
	}
	frame := s.frames[s.pairAt(s.frame)]
	if frame == nil {
		return []line{say(m.dim, " reading")}
	}
	wide := s.wide(m) && !s.run.Session
	if s.tab == tabCode && !wide {
		return codeLines(m, frame, width)
	}
	out := append(s.waitLines(m, width), s.againstLine(m, frame), line{})
	out = append(out, stateLines(m, frame, width)...)
	if wide {
		return append(append(out, line{}), codeLines(m, frame, width)...)
	}
	return append(append(out, line{}), fileLines(m, frame)...)
}

// againstLine returns what is compared with what.
func (s *runCursor) againstLine(m *model, frame *browse.Frame) line {
	subject := safe(s.run.Shown[s.frame].Subject)
	if frame.State == nil {
		return say(m.dim, fmt.Sprintf(" frame %d, the first %s ", frame.At.Frame, m.Dot)).add(m.none, subject)
	}
	return say(m.dim, fmt.Sprintf(" frame %d against frame %d %s ", frame.At.Frame, frame.Against.Frame, m.Dot)).add(m.none, subject)
}

// stateLines returns what changed in the state at a frame.
func stateLines(m *model, frame *browse.Frame, width int) (out []line) {
	if frame.State == nil {
		return []line{say(m.dim, fmt.Sprintf(" %s, %s", plain.Count(frame.Total.Nodes, "node"), plain.Count(frame.Total.Outputs, "output")))}
	}
	d := frame.State
	sign := func(style lipgloss.Style, sign, text string) {
		out = append(out, say(style, " "+sign+" ").add(m.none, safe(text)))
	}
	for _, key := range d.NodesAdded {
		sign(m.ok, "+", key)
	}
	for _, n := range d.NodesChanged {
		sign(m.run, "~", n.Key)
		if n.From.State != n.To.State {
			out = append(out, say(m.dim, "     "+safe(string(n.From.State))+" "+m.Arrow+" ").add(m.none, safe(string(n.To.State))))
		}
	}
	for _, key := range d.NodesRemoved {
		sign(m.fail, m.Minus, key)
	}
	named := func(table, node string, iteration int) string {
		return "outputs." + table + "  " + snapshot.Key(node, iteration)
	}
	for _, o := range d.OutputsAdded {
		sign(m.ok, "+", named(o.Table, o.NodeID, o.Iteration))
		out = append(out, valueLines(m, o.Value, width)...)
	}
	for _, o := range d.OutputsChanged {
		sign(m.run, "~", named(o.Table, o.NodeID, o.Iteration))
		out = append(out, changedLines(m, o.From, o.To, width)...)
	}
	for _, o := range d.OutputsRemoved {
		sign(m.fail, m.Minus, named(o.Table, o.NodeID, o.Iteration))
	}
	for _, id := range d.LoopsAdded {
		sign(m.ok, "+", "loop "+id)
	}
	for _, l := range d.LoopsChanged {
		sign(m.run, "~", fmt.Sprintf("loop %s: iteration %d %s %d", l.RalphID, l.From.Iteration, m.Arrow, l.To.Iteration))
	}
	if d.Input != nil {
		sign(m.run, "~", "input")
		out = append(out, changedLines(m, d.Input.From, d.Input.To, width)...)
	}
	for _, g := range d.SignalsAdded {
		sign(m.ok, "+", "signal "+g.Name)
		out = append(out, valueLines(m, g.Payload, width)...)
	}
	out = append(out, mailLines(m, d)...)
	left := fmt.Sprintf("%s, %s unchanged", plain.Count(frame.Total.Nodes-len(d.NodesAdded)-len(d.NodesChanged), "node"),
		plain.Count(frame.Total.Outputs-len(d.OutputsAdded)-len(d.OutputsChanged), "output"))
	return append(out, say(m.dim, "   "+left))
}

// mailLines returns what changed in the requests of a run.
func mailLines(m *model, d *diff.Result) (out []line) {
	add := func(what string, keys []string, style lipgloss.Style, sign string) {
		for _, key := range keys {
			out = append(out, say(style, " "+sign+" ").add(m.none, what+" of "+safe(key)))
		}
	}
	add("approval", keysOf(d.ApprovalsAdded), m.ok, "+")
	add("question", keysOf(d.HumanRequestsAdded), m.ok, "+")
	add("wait", keysOf(d.WaitsAdded), m.ok, "+")
	for _, c := range d.ApprovalsChanged {
		out = append(out, say(m.run, " ~ ").add(m.none, "approval of "+safe(c.Key)).add(m.dim, "  "+safe(c.From.Status)+" "+m.Arrow+" ").add(m.none, safe(c.To.Status)))
	}
	for _, c := range d.HumanRequestsChanged {
		out = append(out, say(m.run, " ~ ").add(m.none, "question of "+safe(c.Key)).add(m.dim, "  "+safe(c.From.Status)+" "+m.Arrow+" ").add(m.none, safe(c.To.Status)))
	}
	return out
}

// keysOf returns the keys of rows of the mailbox.
func keysOf[T any](rows []diff.Mail[T]) []string {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Key
	}
	return keys
}

// maxValueLines is how many lines of one value are shown.
const maxValueLines = 200

// valueLines returns a value for people: a line a member, texts broken at the width.
func valueLines(m *model, value json.RawMessage, width int) (out []line) {
	var members jsontext.Members
	if json.Unmarshal(value, &members) != nil || !jsontext.IsObject(value) {
		members = jsontext.Members{{Value: value}}
	}
	names := 0
	for _, mem := range members {
		names = max(names, min(len(mem.Name), 12))
	}
	for _, mem := range members {
		name := pad(plain.Shorten(safe(mem.Name), 12), names)
		for i, part := range wrap(safe(display.Value(mem.Value, 4000)), width-names-8) {
			if i > 0 {
				name = blank(names)
			}
			out = append(out, say(m.dim, "     "+name+"  ").add(m.none, part))
			if len(out) == maxValueLines {
				return append(out, say(m.dim, "     "+m.Dots))
			}
		}
	}
	return out
}

// changedLines returns how a value differs from the one before: of two objects, the members that differ.
func changedLines(m *model, from, to json.RawMessage, width int) (out []line) {
	var was, is jsontext.Members
	if json.Unmarshal(from, &was) != nil || json.Unmarshal(to, &is) != nil || !jsontext.IsObject(from) || !jsontext.IsObject(to) {
		return append(out, valueChange(m, "", from, to, width)...)
	}
	old := make(map[string]json.RawMessage)
	for _, mem := range was {
		old[mem.Name] = mem.Value
	}
	for _, mem := range is {
		if before := old[mem.Name]; string(before) != string(mem.Value) {
			out = append(out, valueChange(m, mem.Name, before, mem.Value, width)...)
		}
		delete(old, mem.Name)
	}
	for _, mem := range was {
		if _, gone := old[mem.Name]; gone {
			out = append(out, valueChange(m, mem.Name, mem.Value, nil, width)...)
		}
	}
	return out
}

// valueChange returns the lines of a value that changed.
func valueChange(m *model, name string, from, to json.RawMessage, width int) (out []line) {
	head := "     "
	if name != "" {
		out = append(out, say(m.dim, head+safe(name)))
		head += "  "
	}
	if from != nil {
		out = append(out, say(m.fail, head+m.Minus+" "+plain.Shorten(safe(display.Value(from, 1000)), max(width-len(head)-3, 8))))
	}
	if to != nil {
		out = append(out, say(m.ok, head+"+ "+plain.Shorten(safe(display.Value(to, 1000)), max(width-len(head)-3, 8))))
	}
	return out
}

// fileLines returns the names of the files that changed at a frame.
func fileLines(m *model, frame *browse.Frame) (out []line) {
	switch {
	case frame.NoFiles:
		return []line{say(m.dim, " no files were captured")}
	case len(frame.Code) == 0:
		return nil
	}
	count, added, removed := 0, int64(0), int64(0)
	for _, code := range frame.Code {
		for _, f := range code.Changes {
			count++
			added += f.Added
			removed += f.Removed
		}
	}
	out = append(out, say(m.bold, " Code").add(m.none, "  "+plain.Count(count, "file")+" ").add(m.none, linesText(m, added, removed)))
	for _, code := range frame.Code {
		if code.Worktree != "" {
			out = append(out, say(m.dim, "  worktree of "+safe(code.Worktree)))
		}
		for _, f := range code.Changes {
			op := strings.ToUpper(f.Op[:1])
			if f.Op == "modify" {
				op = "M"
			}
			out = append(out, say(m.dim, "  "+op+" ").add(m.none, safe(f.Path)).atRight(m.none, lineCounts(m, f)+"  "))
		}
	}
	return out
}

// lineCounts returns how many lines of a file changed, or what else happened to it.
func lineCounts(m *model, f files.FileDiff) string {
	if f.Binary {
		return "binary"
	}
	return linesText(m, f.Added, f.Removed)
}

// codeLines returns the patch of a frame.
func codeLines(m *model, frame *browse.Frame, width int) (out []line) {
	switch {
	case frame.NoFiles:
		return []line{say(m.dim, " no files were captured")}
	case frame.State == nil:
		return []line{say(m.dim, " the first frame: there is nothing to compare with")}
	case len(frame.Code) == 0:
		return []line{say(m.dim, " no file changed")}
	}
	for _, code := range frame.Code {
		if code.Worktree != "" {
			out = append(out, say(m.bold, " worktree of "+safe(code.Worktree)))
		}
		for _, f := range code.Changes {
			out = append(out, fileHead(m, f, width))
			for i, h := range f.Hunks {
				out = append(out, hunkLines(m, h, i > 0)...)
			}
			if f.HunksLeft > 0 {
				out = append(out, say(m.dim, "   "+plain.Count(f.HunksLeft, "more hunk")))
			}
		}
	}
	return out
}

// fileHead returns the line above the patch of a file.
func fileHead(m *model, f files.FileDiff, width int) line {
	what := ""
	switch {
	case f.FromMode == "":
		what = "new "
	case f.ToMode == "":
		what = "removed "
	case f.OldPath != "":
		what = "renamed from " + safe(f.OldPath) + " "
	}
	counts := lineCounts(m, f)
	rest := max(width-len(safe(f.Path))-len(what)-len(counts)-10, 1)
	ln := say(m.dim, strings.Repeat(m.rule, 3)+" ").add(m.bold, safe(f.Path)).add(m.dim, " "+strings.Repeat(m.rule, rest)+" "+what).add(m.none, counts).add(m.dim, " "+m.rule)
	ln.head = true
	return ln
}

// hunkLines returns the lines of a hunk with their numbers.
func hunkLines(m *model, h files.Hunk, gap bool) (out []line) {
	if gap {
		out = append(out, say(m.dim, "   "+m.Dots))
	}
	from, to := h.From, h.To
	for _, text := range h.Lines {
		number := func(n int64) string { return padLeft(strconv.FormatInt(n, 10), 4) }
		switch text[0] {
		case ' ':
			ln := say(m.dim, number(from)+number(to)+"   ").add(m.none, safe(text[1:]))
			ln.at = int(to)
			out = append(out, ln)
			from, to = from+1, to+1
		case '-':
			out = append(out, say(m.dim, number(from)+"    ").add(m.fail, " "+m.Minus+" "+safe(text[1:])))
			from++
		case '+':
			ln := say(m.dim, "    "+number(to)).add(m.ok, " + "+safe(text[1:]))
			ln.at = int(to)
			out = append(out, ln)
			to++
		default:
			out = append(out, say(m.dim, "           no line feed at the end of the file"))
		}
	}
	return out
}

// logLines returns the log of the chosen attempt.
func (s *runScreen) logLines(m *model, width int) (out []line) {
	a := s.attempt()
	if a == nil {
		return []line{say(m.dim, " no step is chosen")}
	}
	head := display.AttemptKey(s.logKey()) + ": " + a.State
	if a.Error != "" {
		head += ": " + runpage.WithoutCode(plain.OneLine(a.Error))
	}
	out = append(out, say(m.dim, " "+safe(head)))
	if s.logOf != s.logKey() {
		return append(out, say(m.dim, " reading"))
	}
	if s.log == "" {
		return append(append(out, say(m.dim, " it has written nothing")), s.nextLines(m, width)...)
	}
	lines := plain.Lines(plain.Uncolored(s.log))
	if left := len(lines) - maxLogLines; left > 0 {
		out = append(out, say(m.dim, " "+plain.Count(left, "line")+" above"))
		lines = lines[left:]
	}
	for _, l := range lines {
		found := s.find != "" && strings.Contains(strings.ToLower(l), strings.ToLower(s.find))
		for _, text := range wrap(safe(l), width-1) {
			ln := say(m.none, " "+text)
			if found {
				ln = ln.whole(m.accent.Bold(true))
			}
			out = append(out, ln)
		}
	}
	return append(out, s.nextLines(m, width)...)
}

// nextLines returns the commands that go on from a run that failed or waits, if the cursor is at its newest frame.
func (s *runCursor) nextLines(m *model, width int) (out []line) {
	if s.frame < len(s.run.Shown)-1 || s.run.Failure == nil && len(s.run.Asks) == 0 {
		return nil
	}
	out = append(out, line{}, say(m.bold, " What next"))
	next := make([]summary.Command, 0, len(s.run.Next))
	for _, ask := range s.run.Asks {
		for _, command := range ask.Commands {
			if ask.Ready {
				break // a resume is among those of the run
			}
			next = append(next, summary.Command{Line: command})
		}
	}
	for i := range s.run.Forked {
		if f := &s.run.Forked[i]; f.Better {
			next = append(next, summary.Command{Line: fault.CommandLine(fault.Program, "land", f.RunID), Does: "the work of the fork " + s.forkName(f) + ", in which the failed step finished"})
		}
	}
	for _, c := range append(next, s.run.Next...) {
		for i, text := range wrapCommand(safe(c.Line), width-4) {
			out = append(out, say(m.accent, map[bool]string{true: " $ ", false: "   "}[i == 0]).add(m.none, text))
		}
		if c.Does != "" {
			out = append(out, say(m.dim, "     "+safe(c.Does)))
		}
	}
	return out
}

// waitLines returns what the run waits for, and what goes on from there, if the cursor is at its newest frame.
func (s *runCursor) waitLines(m *model, width int) (out []line) {
	if s.frame < len(s.run.Shown)-1 || len(s.run.Asks) == 0 {
		return nil
	}
	for _, ask := range s.run.Asks {
		for i, text := range wrap(safe(waitText(ask)), width-4) {
			out = append(out, say(m.wait, " "+map[bool]string{true: m.Person, false: " "}[i == 0]+" ").add(m.none, text))
		}
	}
	return append(append(out, s.nextLines(m, width)...), line{})
}

// tryLines returns the attempts of the chosen step or, if none is chosen, of all.
func (s *runCursor) tryLines(m *model) (out []line) {
	out = append(out, say(m.dim, "   "+pad("TASK", 20)+padLeft("#", 3)+padLeft("START", 10)+padLeft("TOOK", 10)+padLeft("FRAME", 7)+"  ERROR"))
	for _, a := range s.run.Attempts {
		sign, _, style := m.Node(snapshot.NodeState(a.State))
		frame := ""
		if a.At != nil {
			frame = strconv.FormatInt(*a.At, 10)
		}
		ln := say(m.style(style), " "+sign+" ").add(m.none, pad(plain.Shorten(safe(display.AttemptName(a.NodeID, a.Iteration)), 19), 20)+padLeft(strconv.Itoa(a.Number), 3))
		start := "before"
		if !a.Inherited {
			start = "+" + display.Took(max(a.StartedAtMs-s.run.StartMs, 0))
		}
		ln = ln.add(m.dim, padLeft(start, 10)+padLeft(display.Took(a.TookMs), 10)+padLeft(frame, 7)).add(m.fail, "  "+safe(runpage.WithoutCode(plain.OneLine(a.Error))))
		if step := s.chosen(); step != nil && (step.NodeID != a.NodeID || step.Iteration != a.Iteration) {
			ln = ln.whole(m.dim)
		}
		out = append(out, ln)
	}
	return out
}

// eventLines returns the events of the run.
func (s *runScreen) eventLines(m *model, _ int) (out []line) {
	for _, e := range s.events {
		var about struct {
			NodeID    string `json:"nodeId"`
			Iteration int    `json:"iteration"`
		}
		_ = json.Unmarshal(e.Payload, &about) // else it is about no task
		ln := say(m.dim, padLeft(strconv.FormatInt(e.Seq, 10), 6)+"  "+pad("+"+display.Took(max(e.AtMs-s.run.StartMs, 0)), 10)).add(m.none, pad(safe(e.Type), 24))
		if about.NodeID != "" {
			ln = ln.add(m.none, safe(display.AttemptName(about.NodeID, about.Iteration)))
		}
		out = append(out, ln)
	}
	if len(out) == 0 {
		return []line{say(m.dim, " no events")}
	}
	return out
}
