package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// strip returns the line of frames: a cell a frame while they fit, else a cell is several frames and shows the worst of them.
func (s *runCursor) strip(m *model, width int) line {
	total := len(s.run.Shown)
	if total == 0 {
		return say(m.dim, " no frames yet")
	}
	at := s.run.Shown[s.frame]
	place := fmt.Sprintf("%s of %s", plain.Number(at.FrameNo), plain.Number(s.run.Shown[total-1].FrameNo))
	if since := s.at(m) - s.run.StartMs; since > 0 {
		place += "   +" + display.Took(since)
	}
	ln := say(m.dim, " frame ").atRight(m.dim, place+" ")
	room := width - len(" frame ") - len(place) - 4
	gap := " "
	if total*2 > room {
		gap = ""
	}
	cells := min(total, max(room/(1+len(gap)), 1))
	failures := s.failures()
	for c := range cells {
		from, to := c*total/cells, (c+1)*total/cells
		text, style := m.Dot, m.dim
		for i := from; i < to; i++ {
			if s.changedCode(i) && text == m.Dot {
				text, style = m.Code, m.accent
			}
			if failures[s.run.Shown[i].FrameNo] {
				text, style = m.Failed, m.fail
			}
		}
		if s.frame >= from && s.frame < to {
			text, style = m.block, m.back
			if !m.ascii {
				style = m.none
			}
		}
		ln = ln.add(m.none, gap).add(style, text)
	}
	return ln
}

// at returns the time of the cursor: at the newest frame of a run that runs, it is now.
func (s *runCursor) at(m *model) int64 {
	if s.frame == len(s.run.Shown)-1 && s.run.Row.Status == snapshot.RunRunning && !s.run.Stale {
		return m.now().UnixMilli()
	}
	return s.run.Shown[s.frame].CreatedAtMs
}

// failures returns the frames at which an attempt failed.
func (s *runCursor) failures() map[int64]bool {
	out := make(map[int64]bool)
	for _, a := range s.run.Attempts {
		if a.At != nil && a.State == "failed" && !a.Inherited {
			out[*a.At] = true
		}
	}
	return out
}

// tildes is how often a text is tried.
func timesText(m *model, n int) string {
	if n < 2 {
		return ""
	}
	return map[bool]string{true: "x", false: "×"}[m.ascii] + strconv.Itoa(n)
}

// blank is an empty text of a width.
func blank(width int) string { return strings.Repeat(" ", max(width, 0)) }
