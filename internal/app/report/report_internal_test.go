package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestALogIsReadableWithoutATerminal(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":                           "red",
		"\x1b]8;;http://a\x07link\x1b]8;;\x1b\\":         "link",
		"\x1b]0;title\x07text":                           "text",
		"10%\r50%\r100%\ndone\r\n":                       "100%\ndone\n",
		"se\x1b[31mcret":                                 "secret",
		"\x1b":                                           "",
		"\x1b]unfinished\nnext":                          "\nnext",
		"\x1b(B\x1b[?25lx\x1b[2K\x1b[1A\x1b7\x1b=\x1bMy": "xy",
	} {
		assert.Equal(t, want, readable(log), "%q", log)
	}
}

func TestLinesThatLookLikeErrorsAreFound(t *testing.T) {
	t.Parallel()
	for line, bad := range map[string]bool{
		"not ok 4 - trim": true, "Error: 2 failed": true, "  TypeError: x": true, "FAIL\tpkg": true, "fatal: no": true, "--- FAIL: TestX": true,
		"ok 1": false, "no errors": false, "expected: failure": false, "": false, "Errors are fun": true, "panic: x": true,
	} {
		assert.Equal(t, bad, badLine().MatchString(line), line)
	}
}

func TestPartsShareTheRoomFairly(t *testing.T) {
	t.Parallel()
	cost := func(l *Line) int { return len(l.Text) }
	rapid.Check(t, func(t *rapid.T) {
		run := &Run{}
		var sizes []int
		for range rapid.IntRange(1, 6).Draw(t, "parts") {
			part := &Part{Kind: rapid.SampledFrom([]PartKind{LogPart, CodePart}).Draw(t, "kind")}
			size := rapid.IntRange(0, 60).Draw(t, "lines")
			for i := range size {
				part.Lines = append(part.Lines, Line{Text: strings.Repeat("x", 1+i%3), Number: i})
			}
			run.Parts, sizes = append(run.Parts, part), append(sizes, size)
		}
		budget := rapid.IntRange(0, 300).Draw(t, "budget")
		(&Report{Runs: []*Run{run}}).Fit(budget, cost)
		used, least := 0, budget/len(sizes)
		for i, part := range run.Parts {
			own := 0
			for j := range part.Lines {
				own += cost(&part.Lines[j])
			}
			used += own
			assert.Equal(t, sizes[i], len(part.Lines)+part.Left, "what is left out is counted")
			if part.Left > 0 {
				assert.Greater(t, own+3, least, "a part that is cut has its share")
			}
			if part.Left > 0 && len(part.Lines) > 0 && part.Kind == LogPart {
				assert.Equal(t, sizes[i]-1, part.Lines[len(part.Lines)-1].Number, "a log keeps its end")
			}
		}
		assert.LessOrEqual(t, used, budget)
	})
}

func TestRowsThatFailedStay(t *testing.T) {
	t.Parallel()
	var rows []Row
	for i := range 100 {
		state := Finished
		if i == 50 || i == 51 {
			state = Failed
		}
		rows = append(rows, Row{Step: "s", Iteration: i, State: state})
	}
	rows = FoldRows(rows, 20)
	assert.Len(t, rows, 21)
	assert.Equal(t, 80, rows[9].Folded)
	assert.Equal(t, []int{50, 51}, []int{rows[10].Iteration, rows[11].Iteration})
	assert.Equal(t, 99, rows[20].Iteration)
	again := FoldRows(rows, 10)
	total := 0
	for _, row := range again {
		total += max(row.Folded, 1)
	}
	assert.Equal(t, 100, total, "a row that stands for others counts as they do")
}

func TestWordsThatDifferAreMarked(t *testing.T) {
	t.Parallel()
	lines := []Line{{Kind: RemovedLine, Text: "é old é"}, {Kind: RemovedLine, Text: "abc"}, {Kind: AddedLine, Text: "é new é"}, {Kind: AddedLine, Text: "xyz"}, {Kind: SameLine, Text: "s"}}
	markWords(lines)
	assert.Equal(t, "old", lines[0].Text[lines[0].MarkFrom:lines[0].MarkTo])
	assert.Equal(t, "new", lines[2].Text[lines[2].MarkFrom:lines[2].MarkTo])
	assert.Zero(t, lines[1].MarkTo, "lines that have nothing in common have no marks")
}

func TestValuesAreForPeople(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"a\nb"`: "a\nb", `{"a":1,"b":"x"}`: "a: 1, b: x", `{"a":{"b":1}}`: `a: {"b":1}`, `{"f":["x","y z"],"n":null}`: "f: x, y z, n: null", `null`: "null", `[1,2]`: "[1,2]", `12345678901234567890`: "12345678901234567890",
		`{"n":12345678901234567890}`: "n: 12345678901234567890", `{}`: "", `{`: "{",
	} {
		assert.Equal(t, want, words(value), value)
	}
}
