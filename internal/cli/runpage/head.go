package runpage

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// head writes the name, the state, when and how long, and the facts of the run.
func (v *page) head(c *canvas) {
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
func (v *page) standing(c *canvas) (sign, words, style string) {
	sign, words, style = c.g.Run(v.Row.Status, v.Stale)
	if v.Stale {
		return sign, words + " for " + display.Span(v.now.Sub(time.UnixMilli(v.Entry.AtMs))), style
	}
	if v.AwaitsPrompt() {
		_, _, style = c.g.Node(snapshot.NodeWaitingHuman)
		return c.g.Person, "waits for a prompt", style
	}
	if who := v.Cancelled; who != nil && who.By != nil {
		words += " by " + plain.Shorten(clean(*who.By), 30)
	}
	if !v.Row.Status.Waiting() || len(v.Asks) == 0 {
		return sign, words, style
	}
	for i := range v.Asks {
		if !v.Asks[i].Ready {
			sign, words = v.waitWords(c, &v.Asks[i])
			return sign, words, style
		}
	}
	return sign, "waits to be resumed", style
}

// waitWords returns the sign of a wait, and words for what it waits.
func (v *page) waitWords(c *canvas, w *summary.Ask) (sign, words string) {
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
func (v *page) until(ms int64) string {
	return strings.TrimPrefix(display.Moment(v.now, ms, "15:04"), "today ")
}

// facts writes the workflow, numbers and the place of the run.
func (v *page) facts(c *canvas) {
	var words []part
	add := func(text string) {
		if text != "" {
			words = append(words, part{text, ""})
		}
	}
	if v.Session {
		add(app.EngineName(v.Row.Workflow))
		add(plain.Count(v.Calls.Total, "call") + failedOf(v.Calls.Failed))
	} else {
		add(v.Row.Workflow)
		if v.Engine != "" {
			add("run by " + app.EngineName(v.Engine))
		}
		if v.Calls.Total > 0 {
			add(plain.Count(v.Calls.Total, "call") + failedOf(v.Calls.Failed))
		}
	}
	if n := v.Frames.All; n > 0 {
		add(plain.Count(n, "frame"))
	}
	if own := v.ownAttempts(); !v.Session && own > 0 {
		add(plain.Count(own, "attempt"))
	}
	if v.ForkCount > 0 {
		add(plain.Count(v.ForkCount, "fork"))
	}
	if !v.Code.IsZero() {
		add(c.code(v.Code.Added, v.Code.Removed) + " in " + plain.Count(v.Code.Files, "file"))
	}
	if v.Usage != nil && v.Usage.Tokens() > 0 {
		add(display.Tokens(v.Usage.Tokens()) + modelsOf(v.Usage))
	}
	if v.Usage != nil && v.Usage.CostUSD > 0 {
		add(plain.Cost(v.Usage.CostUSD))
	}
	for _, scorer := range v.Scorers {
		add(scorer.Name + " " + display.Score(scorer.Mean))
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
	if v.Row.Status.Waiting() && v.Ours {
		add("no process runs it")
	}
	c.flow(part{}, 2, 3, words, " "+c.g.Dot+" ")
}

// ownAttempts returns the number of attempts that the run does not have from its parent.
func (v *page) ownAttempts() (n int) {
	for _, a := range v.Attempts {
		if !a.Inherited {
			n++
		}
	}
	return n
}

// failedOf returns words for the number of things that failed, or "" for none.
func failedOf(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + plain.Number(n) + " failed"
}

// The limits of the values of an input.
const (
	valueShown  = 40
	inputsLines = 3
)

// inputs writes the members of the input.
func (v *page) inputs(c *canvas) {
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

// modelsOf returns the models of a run, with the tokens and the cost of each if there are several.
func modelsOf(u *summary.Usage) string {
	var names []string
	for _, m := range u.ByModel() {
		name := plain.Shorten(clean(m.Name), modelShown)
		if len(u.Models) > 1 {
			name += " " + strings.TrimSuffix(display.Tokens(m.Tokens), " tokens")
			if m.CostUSD > 0 {
				name += " " + plain.Cost(m.CostUSD)
			}
		}
		names = append(names, name)
	}
	if names == nil {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// modelShown is the width of the longest name of a model.
const modelShown = 40

// valueOf returns a member of an input as "name value".
func valueOf(m summary.InputValue, dots string) string {
	text, word := string(m.Value), ""
	if json.Unmarshal(m.Value, &word) == nil && word != "" && !strings.ContainsAny(word, " \n\t\"") {
		text = word
	}
	if m.Value == nil {
		text = "left out"
	}
	return strings.TrimSpace(clean(m.Name) + " " + term.CutEnd(clean(text), valueShown, dots))
}
