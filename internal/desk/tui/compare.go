package tui

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// compareScreen shows runs beside each other: a column a run, the base first.
type compareScreen struct {
	runs   []string
	by     string // the value that ranks them; "" for none
	result *comparison.Comparison
	only   bool // only rows that differ
	column int  // the column of the cursor
	text   pane
}

// maxCompared is the largest number of runs that are compared.
const maxCompared = 8

// compare opens the comparison of runs, ranked by a value, or says why there is none if they are fewer than two.
func (m *model) compare(runs []string, by, none string) tea.Cmd {
	if len(runs) < 2 {
		m.note = none
		return nil
	}
	return m.open(&compareScreen{runs: runs[:min(len(runs), maxCompared)], by: by})
}

// A compareRead has a comparison of runs.
type compareRead struct {
	of     string
	result *comparison.Comparison
}

func (s *compareScreen) load(m *model) tea.Cmd {
	if s.result != nil && !slices.ContainsFunc(s.result.Runs, func(r *comparison.Run) bool { return !r.Row.Status.Ended() }) {
		return nil
	}
	runs := slices.Clone(s.runs)
	return m.read.do("compare", func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		result, err := from.Compare(ctx, runs, s.by)
		return compareRead{strings.Join(runs, " "), result}, err
	})
}

func (s *compareScreen) update(_ *model, msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(compareRead); ok && msg.of == strings.Join(s.runs, " ") {
		s.result = msg.result
	}
	return nil
}

func (s *compareScreen) press(m *model, key string) (tea.Cmd, bool) {
	if s.result == nil {
		return nil, false
	}
	switch key {
	case "h", "left":
		s.column = max(s.column-1, 0)
	case "l", "right":
		s.column = min(s.column+1, len(s.result.Runs)-1)
	case "v":
		s.only = !s.only
	case "enter":
		return m.open(newRunScreen(s.result.Runs[s.column].Row.ID, -1)), true
	default:
		by := rowsOf(key, m.height/2)
		s.text.top += by
		return nil, by != 0
	}
	return nil, true
}

func (s *compareScreen) draw(m *model, width, height int) []string {
	out := []string{say(m.bold, " Compare").add(m.none, "  "+plain.Count(len(s.runs), "run")).draw(width, m.Dots), m.ruleLine(width)}
	if s.result == nil {
		return fill(out, width, height, m)
	}
	s.text.lines = s.lines(m, width)
	listed := max(height-len(out)-2, 1)
	s.text.clamp(listed)
	out = append(out, s.text.draw(width, listed, m.Dots)...)
	args := append([]string{"compare"}, s.runs...)
	if s.by != "" {
		args = append(args, "--by="+s.by)
	}
	return append(out, m.ruleLine(width), say(m.dim, " $ "+safe(fault.CommandLine(fault.Program, args...))).draw(width, m.Dots))
}

// lines returns the rows of the comparison.
func (s *compareScreen) lines(m *model, width int) (out []line) {
	runs := s.result.Runs
	first := 18
	shown := max(min((width-first)/18, len(runs)), 1)
	from := max(min(s.column-shown+1, len(runs)-shown), 0) // the first column scrolls away last
	each := (width - first) / shown
	row := func(name string, cell func(r *comparison.Run) string) {
		base := cell(runs[0])
		texts := make([]string, len(runs))
		same := true
		for i, r := range runs {
			texts[i] = cell(r)
			same = same && texts[i] == base
		}
		if s.only && same {
			return
		}
		ln := say(m.dim, " "+pad(plain.Shorten(safe(name), first-2), first-1))
		for i := from; i < from+shown; i++ {
			style := m.none
			if i > 0 && texts[i] == base {
				style = m.dim
			}
			if i == s.column {
				style = style.Bold(true)
			}
			ln = ln.add(style, pad(plain.Shorten(safe(texts[i]), each-2), each))
		}
		out = append(out, ln)
	}
	row("", func(r *comparison.Run) string { return compareName(r) })
	row("status", func(r *comparison.Run) string {
		sign, word, _ := m.Run(r.Row.Status, r.Stale)
		return sign + " " + word
	})
	row("forked from", func(r *comparison.Run) string {
		if r.Origin == nil {
			return ""
		}
		return r.Origin.At.String()
	})
	row("first differs at", func(r *comparison.Run) string { return differsAt(r) })
	for _, name := range s.result.Inputs {
		row(strings.TrimSuffix("input."+name, "."), func(r *comparison.Run) string { return value(r.Inputs[name]) })
	}
	for _, c := range s.result.Outputs {
		row(c.String(), func(r *comparison.Run) string { return value(r.Outputs[c.String()]) })
	}
	row("failed", func(r *comparison.Run) string {
		if r.Failure == nil {
			return ""
		}
		return runpage.WithoutCode(plain.OneLine(r.Failure.Error))
	})
	row("failed attempts", func(r *comparison.Run) string { return plain.Number(r.Failed) })
	row("took", func(r *comparison.Run) string { return display.Took(r.TookMs) })
	row("tokens", func(r *comparison.Run) string {
		if r.Usage == nil {
			return ""
		}
		return plain.Number(r.Usage.Tokens())
	})
	row("code", func(r *comparison.Run) string { return codeText(m, r.Code) })
	row("best", func(r *comparison.Run) string {
		for _, i := range s.result.Best {
			if runs[i] == r {
				return m.Finished + " " + s.result.Decided
			}
		}
		return ""
	})
	return out
}

// compareName returns the name of a run in a comparison.
func compareName(r *comparison.Run) string {
	switch b := r.Frames.Branch; {
	case r.Name != nil && r.Name.Text() != "":
		return r.Name.Text()
	case b != nil && b.BranchLabel != nil && *b.BranchLabel != "":
		return *b.BranchLabel
	}
	return r.Row.ID
}

// differsAt returns the step at which a run first differs from the base.
func differsAt(r *comparison.Run) string {
	row := r.First.Row
	switch {
	case row == nil:
		return ""
	case row.B != nil:
		return row.B.Name()
	case row.A != nil:
		return row.A.Name()
	}
	return ""
}

// value returns a value for a cell.
func value(v json.RawMessage) string {
	if v == nil {
		return ""
	}
	return display.Value(v, 200)
}

func (s *compareScreen) keys(*model) []hint {
	return []hint{{"←→", "run"}, {"⏎", "open"}, {"v", "only differences"}, {"↑↓", "scroll"}}
}
