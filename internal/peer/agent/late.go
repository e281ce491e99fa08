package agent

import (
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
)

// A hook reads a bounded part of a transcript, so the next prompt can come before all lines of a turn were read. These lines still count for
// their turn: the memory keeps the turn, and the size that the file had at the prompt.

// lateTurn is a turn that has ended before all of its lines were read.
type lateTurn struct {
	End    int64                    `json:"end"` // the offset in the newest transcript at which the lines of the next turn begin
	Turn   int                      `json:"turn"`
	Calls  int                      `json:"calls"`
	Usage  dialect.Usage            `json:"usage"`
	Models map[string]dialect.Usage `json:"models,omitempty"`
}

const (
	// maxLate is the largest number of turns that wait for their lines. The lines of further ones count for the next turn.
	maxLate = 200
	// maxSeen is the largest number of sizes that a session remembers.
	maxSeen = 1000
)

// swap makes the late turn the turn of the memory, and the other way round.
func (m *memory) swap(l *lateTurn) {
	m.Turn, l.Turn = l.Turn, m.Turn
	m.Calls, l.Calls = l.Calls, m.Calls
	m.Usage, l.Usage = l.Usage, m.Usage
	m.Models, l.Models = l.Models, m.Models
}

// isBehind reports whether a transcript was not read to its end.
func (m *memory) isBehind() bool {
	for _, to := range m.Read {
		if to.Size > 0 {
			return true
		}
	}
	return false
}

// see notes that the newest transcript was read up to next, and that size is its size, or 0 if that is all of it. It returns the sizes at earlier hooks.
func (m *memory) see(next, size int64) []int64 {
	before := m.Seen
	m.Seen = slices.DeleteFunc(slices.Clone(before), func(end int64) bool { return end < next })
	if size > 0 && len(m.Seen) < maxSeen && !slices.Contains(m.Seen, size) {
		m.Seen = append(m.Seen, size)
	}
	return before
}

// sizeBehind returns the size of the file at path if it goes on behind offset, and stopped says that the hook has read as much as it may. Otherwise it
// returns 0.
func sizeBehind(path string, offset int64, stopped bool) int64 {
	if !stopped {
		return 0
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() <= offset {
		return 0
	}
	return info.Size()
}

// takeLate takes in those of the lines that belong to turns of before, and returns the others. The transcript was read up to next.
func (d *drafter) takeLate(path string, lines []dialect.Line, next int64, to *readTo) ([]dialect.Line, error) {
	for len(d.mem.Late) > 0 {
		late := &d.mem.Late[0]
		n := slices.IndexFunc(lines, func(l dialect.Line) bool { return l.Offset >= late.End })
		if n < 0 {
			n = len(lines)
		}
		d.mem.swap(late)
		before, failed, notices := d.mem.Usage, d.mem.Failed, d.notices
		err := d.takeLines(d.mem.transcript(), path, lines[:n], to)
		if d.mem.Failed, d.notices = failed, notices; err == nil {
			err = d.countTurn(before)
		}
		if err == nil {
			err = d.setRow()
		}
		if d.mem.swap(late); err != nil {
			return nil, err
		}
		if lines = lines[n:]; next < late.End {
			return lines, nil
		}
		d.mem.Late = d.mem.Late[1:]
	}
	return lines, nil
}
