package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// runsScreen lists the runs: what runs or waits, then the newest, forks under their parents.
type runsScreen struct {
	rows    []browse.RunRow
	reasons map[string]string // why a run failed, by its id and newest frame
	read    bool              // rows were read once
	filter  string
	at      string // the id of the run of the cursor
	list    pane
	preview *browse.Run // of the run of the cursor; nil while it is read
	marked  []string    // the runs to compare
}

// A runsRead has the runs.
type runsRead struct{ rows []browse.RunRow }

// A reasonsRead has why runs failed.
type reasonsRead struct{ reasons map[string]string }

// A previewRead has the run of the cursor.
type previewRead struct{ run *browse.Run }

func (s *runsScreen) load(m *model) tea.Cmd {
	return m.read.poll("runs", func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		rows, err := from.Runs(ctx)
		return runsRead{rows}, err
	})
}

func (s *runsScreen) update(m *model, msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case runsRead:
		s.rows, s.read = msg.rows, true
		if shown := s.shown(); s.at == "" && len(shown) > 0 {
			s.at = shown[0].RunID
		}
		return tea.Batch(s.readReasons(m), s.readPreview(m))
	case reasonsRead:
		s.reasons = msg.reasons
	case previewRead:
		if msg.run.Row.ID == s.at {
			s.preview = msg.run
		}
	}
	return nil
}

// reasonKey returns the key of a run in reasons.
func reasonKey(row browse.RunRow) string { return fmt.Sprint(row.RunID, ":", row.LatestFrame) }

// readReasons reads why the failed runs that are shown have failed, but those that are known.
func (s *runsScreen) readReasons(m *model) tea.Cmd {
	var missing []browse.RunRow
	known := make(map[string]string)
	shown := s.shown()
	for i := s.list.top; i < min(s.list.top+m.height, len(shown)); i++ {
		if row := shown[i]; row.Status == string(snapshot.RunFailed) {
			if reason, ok := s.reasons[reasonKey(row)]; ok {
				known[reasonKey(row)] = reason
			} else {
				missing = append(missing, row)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return m.read.do("reasons", func(_ context.Context, from *browse.Reader) (tea.Msg, error) {
		for _, row := range missing {
			reason, err := from.Reason(row)
			if err != nil {
				reason = err.Error()
			}
			known[reasonKey(row)] = reason
		}
		return reasonsRead{known}, nil
	})
}

// readPreview reads the run of the cursor.
func (s *runsScreen) readPreview(m *model) tea.Cmd {
	id := s.at
	if id == "" {
		return nil
	}
	return m.read.do("preview", func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		run, err := from.Run(ctx, id, -1)
		return previewRead{run}, err
	})
}

// shown returns the rows that the filter leaves.
func (s *runsScreen) shown() []browse.RunRow {
	if s.filter == "" {
		return s.rows
	}
	var out []browse.RunRow
	for _, row := range s.rows {
		if !slices.ContainsFunc(strings.Fields(strings.ToLower(s.filter)), func(term string) bool { return !hasTerm(row, term) }) {
			row.Depth = 0
			out = append(out, row)
		}
	}
	return out
}

// hasTerm reports whether a term of a filter fits a run: a word, or status:WORD or workflow:WORD. A minus sign before it turns it around.
func hasTerm(row browse.RunRow, term string) bool {
	if not, ok := strings.CutPrefix(term, "-"); ok && not != "" {
		return !hasTerm(row, not)
	}
	in := []string{row.RunID, runName(row), row.WorkflowName, row.Status}
	if key, word, _ := strings.Cut(term, ":"); key == "status" {
		in, term = []string{row.Status}, word
	} else if key == "workflow" {
		in, term = []string{row.WorkflowName}, word
	}
	return strings.Contains(strings.ToLower(strings.Join(in, " ")), term)
}

// index returns the position of the cursor among the rows that are shown.
func (s *runsScreen) index(rows []browse.RunRow) int {
	return max(slices.IndexFunc(rows, func(row browse.RunRow) bool { return row.RunID == s.at }), 0)
}

// move moves the cursor.
func (s *runsScreen) move(m *model, by int) tea.Cmd {
	rows := s.shown()
	if len(rows) == 0 {
		return nil
	}
	next := rows[moved(s.index(rows), by, len(rows))].RunID
	if next == s.at {
		return nil
	}
	s.at, s.preview = next, nil
	return tea.Batch(s.readPreview(m), s.readReasons(m))
}

func (s *runsScreen) press(m *model, key string) (tea.Cmd, bool) {
	if by := rowsOf(key, m.height/2); by != 0 {
		return s.move(m, by), true
	}
	switch key {
	case "i":
		return m.open(new(inboxScreen)), true
	case "space":
		s.toggle()
		return nil, true
	case "c":
		return s.compare(m), true
	case "/":
		m.over = newPrompt(m, "/", s.filter)
		return nil, true
	case "esc":
		if s.filter != "" {
			s.filter = ""
			return s.load(m), true
		}
	case "enter", "l", "right":
		if s.at != "" {
			return m.open(newRunScreen(s.at, -1)), true
		}
	case "f", "r", "u", "a", "A", "x", "z", "L", "P", "y", "S":
		if s.preview != nil { // at its newest frame
			over := newRunScreen(s.at, -1)
			over.run, over.frame = s.preview, max(len(s.preview.Shown)-1, 0)
			return over.act(m, key)
		}
	}
	return nil, false
}

// toggle marks the run of the cursor for a comparison, or takes the mark away.
func (s *runsScreen) toggle() {
	if i := slices.Index(s.marked, s.at); i >= 0 {
		s.marked = slices.Delete(s.marked, i, i+1)
	} else if s.at != "" {
		s.marked = append(s.marked, s.at)
	}
}

// compare opens the comparison of the marked runs or, if none is marked, of the run of the cursor with its forks.
func (s *runsScreen) compare(m *model) tea.Cmd {
	runs := slices.Clone(s.marked)
	if !slices.Contains(runs, s.at) && s.at != "" {
		runs = append([]string{s.at}, runs...)
	}
	if len(s.marked) == 0 {
		for _, row := range s.rows {
			if parentOf(row) == s.at {
				runs = append(runs, row.RunID)
			}
		}
	}
	return m.compare(runs, "", "mark runs with space, or choose a run with forks")
}

// parentOf returns the id of the parent of a run, or "".
func parentOf(row browse.RunRow) string { return display.OrEmpty(row.ParentRunID) }

// runName returns the name of a run for people: its label or its first prompt, or else its id.
func runName(row browse.RunRow) string {
	switch {
	case row.Name != nil && row.Name.Text() != "":
		return row.Name.Text()
	case row.BranchLabel != nil && *row.BranchLabel != "":
		return *row.BranchLabel
	}
	return row.RunID
}

func (s *runsScreen) draw(m *model, width, height int) []string {
	rows := s.shown()
	head := line{}.add(m.bold, " Runs").add(m.none, "  "+countOf(len(rows), len(s.rows)))
	if s.filter != "" {
		head = head.add(m.accent, "   /"+safe(s.filter))
	}
	if waits := s.waits(); waits > 0 {
		head = head.atRight(m.wait, fmt.Sprintf("%s %d wait for you ", m.Person, waits))
	}
	if s.read && len(s.rows) == 0 {
		return fill(append([]string{head.draw(width, m.Dots), m.ruleLine(width)}, s.empty(m, width)...), width, height, m)
	}
	nameWidth, flowWidth := 18, 10
	if width >= 120 {
		nameWidth, flowWidth = 40, 16
	}
	heads := []line{head}
	if width >= 80 {
		heads = append(heads, say(m.dim, "     "+pad("RUN", nameWidth)+pad("WORKFLOW", flowWidth)+"STATUS").atRight(m.dim, pad("CODE", 12)+"   TOOK "))
	}
	var below []line
	if height >= 16 && width >= 80 {
		const shown = 5
		below = append(s.previewLines(m), make([]line, shown)...)[:shown]
	}
	row := func(i int, chosen bool) line { return s.row(m, rows[i], chosen, width, nameWidth, flowWidth) }
	return m.listPage(heads, &s.list, s.index(rows), len(rows), row, below, width, height)
}

// row returns the line of a run.
func (s *runsScreen) row(m *model, row browse.RunRow, chosen bool, width, nameWidth, flowWidth int) line {
	sign, word, style := m.Run(snapshot.RunStatus(row.Status), row.Stale)
	ln := say(m.style(style), sign+" ")
	tree := ""
	if row.Depth > 0 {
		tree = strings.Repeat("  ", row.Depth-1) + map[bool]string{true: m.End, false: m.Branch}[row.Last] + " "
	}
	ln = ln.add(m.dim, tree).add(m.none, pad(plain.Shorten(safe(runName(row)), max(nameWidth-1-ansi.StringWidth(tree), 1)), nameWidth-ansi.StringWidth(tree)))
	if width >= 80 {
		ln = ln.add(m.none, pad(plain.Shorten(safe(row.WorkflowName), flowWidth-1), flowWidth))
	}
	said := m.style(style)
	if row.Status == string(snapshot.RunFinished) {
		said = m.none
	}
	ln = ln.add(said, safe(s.status(m, row, word)))
	took := ""
	if row.TookMs != nil {
		took = display.Took(*row.TookMs)
	}
	code := ""
	if row.Lines != nil {
		code = linesText(m, row.Lines.Added, row.Lines.Removed)
	}
	if width >= 80 {
		ln = ln.atRight(m.none, "  "+padLeft(code, 11)+" ").atRight(m.dim, padLeft(took, 9)+" ")
	} else {
		ln = ln.atRight(m.dim, " "+took+" ")
	}
	if ln = m.marked(ln, chosen); !chosen && slices.Contains(s.marked, row.RunID) {
		ln.spans[0].text = " + "
	}
	return ln
}

// status returns what the list says of the status of a run: why it failed, or what it waits for.
func (s *runsScreen) status(m *model, row browse.RunRow, word string) string {
	switch {
	case row.Stale:
		return "no sign of life for " + display.Span(m.now().Sub(time.UnixMilli(row.UpdatedAtMs)))
	case row.Status == string(snapshot.RunFailed):
		if reason := s.reasons[reasonKey(row)]; reason != "" {
			return plain.OneLine(reason)
		}
	case len(row.Waiting) == 0 && snapshot.RunStatus(row.Status).Waiting():
		return "answered: u resumes it"
	case len(row.Waiting) > 0:
		w := row.Waiting[0]
		if w.DueAtMs != nil && w.For == "timer" {
			return "until " + display.Moment(m.now(), *w.DueAtMs, "15:04")
		}
		return w.NodeID + ": " + plain.Words(w.What)
	}
	return word
}

// previewLines returns what the lower pane says of the run of the cursor.
func (s *runsScreen) previewLines(m *model) []line {
	if s.preview == nil {
		return nil
	}
	return runPreview(m, s.preview)
}

// empty returns what the screen says where there are no runs.
func (s *runsScreen) empty(m *model, width int) []string {
	lines := []line{{}, {}, {}, say(m.bold, "       No runs yet in this repository."), {}}
	for _, l := range [][2]string{
		{"git smithers run flow.yaml", "runs a workflow"},
		{"git smithers session enable claude", "captures an agent's sessions"},
		{"git smithers import smithers.db", "brings the runs of Smithers"},
		{"git smithers fetch", "brings those of a remote"},
	} {
		lines = append(lines, say(m.none, "       "+pad(l[0], 38)).add(m.dim, l[1]))
	}
	out := make([]string, len(lines))
	for i, ln := range lines {
		out[i] = ln.draw(width, m.Dots)
	}
	return out
}

// waits returns how many runs wait for a person.
func (s *runsScreen) waits() (n int) {
	for _, row := range s.rows {
		if status := snapshot.RunStatus(row.Status); status == snapshot.RunWaitingApproval || status == snapshot.RunWaitingHuman {
			n++
		}
	}
	return n
}

// setFind filters the runs.
func (s *runsScreen) setFind(_ *model, text string) { s.filter = text }

func (s *runsScreen) keys(*model) []hint {
	return []hint{{"⏎", "open"}, {"i", "inbox"}, {"space", "mark"}, {"c", "compare"}, {"/", "filter"}, {":", "command"}}
}
