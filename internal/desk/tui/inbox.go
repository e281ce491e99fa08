package tui

import (
	"cmp"
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// inboxScreen lists what runs wait for, with the request of the cursor beside it.
type inboxScreen struct {
	requests []browse.Request
	read     bool
	at       int
	list     pane
}

// An inboxRead has the requests.
type inboxRead struct{ requests []browse.Request }

func (s *inboxScreen) load(m *model) tea.Cmd {
	return m.read.poll("inbox", func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		requests, err := from.Inbox(ctx)
		return inboxRead{requests}, err
	})
}

func (s *inboxScreen) update(_ *model, msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(inboxRead); ok {
		s.requests, s.read = msg.requests, true
		s.at = max(min(s.at, len(s.requests)-1), 0)
	}
	return nil
}

func (s *inboxScreen) press(m *model, key string) (tea.Cmd, bool) {
	if len(s.requests) == 0 {
		return nil, false
	}
	r := &s.requests[s.at]
	switch key {
	case "enter", "a":
		return m.settle(r.Run, &r.Ask, "answer"), true
	case "A":
		return m.settle(r.Run, &r.Ask, "deny"), true
	case "o", "l", "right":
		return m.open(newRunScreen(r.Run, -1)), true
	}
	by := rowsOf(key, m.height/2)
	s.at = moved(s.at, by, len(s.requests))
	return nil, by != 0
}

func (s *inboxScreen) draw(m *model, width, height int) []string {
	head := say(m.bold, " Inbox").add(m.none, "  "+plain.Count(len(s.requests), "request"))
	if s.read && len(s.requests) == 0 {
		return fill([]string{head.draw(width, m.Dots), m.ruleLine(width), line{}.draw(width, ""), say(m.dim, "   No run waits for anything.").draw(width, m.Dots)}, width, height, m)
	}
	below := make([]line, max((height-3)/2, 0))
	if s.at < len(s.requests) {
		below = append(requestLines(m, &s.requests[s.at], width), below...)[:len(below)]
	}
	row := func(i int, chosen bool) line { return m.marked(s.line(m, &s.requests[i]), chosen) }
	return m.listPage([]line{head}, &s.list, s.at, len(s.requests), row, below, width, height)
}

// line returns the line of a request.
func (s *inboxScreen) line(m *model, r *browse.Request) line {
	sign := m.Clock
	if r.ForPerson() {
		sign = m.Person
	}
	ln := say(m.wait, sign+" ").add(m.bold, pad(plain.Shorten(safe(r.Name), 18), 19)).add(m.none, pad(safe(r.NodeID), 12)+safe(plain.Words(r.What)))
	if r.SinceMs != nil {
		ln = ln.atRight(m.dim, " "+display.Span(m.now().Sub(time.UnixMilli(*r.SinceMs)))+" ")
	}
	return ln
}

// requestLines returns what a request asks, and how it is answered.
func requestLines(m *model, r *browse.Request, width int) (out []line) {
	for _, part := range wrap(safe(plain.Words(r.What)), width-4) {
		out = append(out, say(m.bold, " "+part))
	}
	if r.Summary != nil {
		for _, part := range wrap(safe(plain.Words(*r.Summary)), width-4) {
			out = append(out, say(m.none, " "+part))
		}
	}
	out = append(out, line{})
	for _, f := range r.Fields {
		out = append(out, say(m.none, "   "+pad(safe(cmp.Or(f.Name, "answer")), 16)).add(m.dim, safe(f.Says)+"  "+f.Need))
	}
	if r.DueAtMs != nil {
		out = append(out, say(m.dim, " until "+display.Moment(m.now(), *r.DueAtMs, "15:04")))
	}
	for _, c := range r.Commands {
		out = append(out, say(m.dim, " $ "+safe(c)))
	}
	return out
}

func (*inboxScreen) keys(*model) []hint {
	return []hint{{"⏎", "answer"}, {"A", "deny"}, {"o", "open the run"}, {"↑↓", "move"}}
}
