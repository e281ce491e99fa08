package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	content "github.com/git-smithers/git-smithers/internal/app/report"
	"github.com/git-smithers/git-smithers/internal/web/report"
)

func TestAPageHasAtMostTwoMegabytes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"plain": strings.Repeat("x", 200), "quotes": strings.Repeat(`"`, 200), "hidden": strings.Repeat("\u202e", 200)} {
		run := &content.Run{ID: "r", State: content.Failed}
		long, short := &content.Part{Kind: content.LogPart, Title: "long"}, &content.Part{Kind: content.CodePart, Title: "short"}
		for i := range 9000 {
			long.Lines = append(long.Lines, content.Line{Kind: content.TextLine, Text: fmt.Sprint(text, " long ", i)})
		}
		for i := range 100 {
			short.Lines = append(short.Lines, content.Line{Kind: content.AddedLine, Number: i + 1, Text: fmt.Sprint("short ", i)})
		}
		run.Parts = []*content.Part{long, short}
		for i := range 100 {
			part := &content.Part{Kind: content.TalkPart, Title: fmt.Sprint("turn ", i)}
			for range 100 {
				part.Lines = append(part.Lines, content.Line{Kind: content.CallLine, Tool: "Bash", Text: text, Frame: "r:1", TookMs: 5})
			}
			run.Parts = append(run.Parts, part)
		}
		page, err := report.HTML(&content.Report{Runs: []*content.Run{run}})
		require.NoError(t, err, name)
		assert.LessOrEqual(t, len(page), report.MaxBytes, name)
		assert.Greater(t, len(page), report.MaxBytes*9/10, "%s: the room is used", name)
		assert.Equal(t, 100, strings.Count(string(page), "+ short "), "%s: a short part is whole", name)
		assert.Contains(t, string(page), " long 8999", "%s: a log keeps its end", name)
		assert.Positive(t, long.Left)
		assert.Contains(t, string(page), "lines above", name)
		assert.Regexp(t, `Left out: [0-9\x{202f}]+ lines in [0-9]+ parts`, string(page), name)
	}
}

// What is not in parts has limits of its own, so that the most runs have room for their parts even if every text is hostile.
func TestAPageOfTheMostRunsHasRoomForParts(t *testing.T) {
	t.Parallel()
	r := hostileReport(content.MaxRuns, 0)
	page, err := report.HTML(r)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(page), report.MaxBytes)
	checkPage(t, page)
}
