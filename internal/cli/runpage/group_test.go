package runpage_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

func TestATableOfVariantsHasTheTimeIn140Columns(t *testing.T) {
	t.Parallel()
	for members := range 5 {
		g := &group.Group{Plan: new(workflow.SweepPlan), By: "outputs.verdict.score - outputs.usage.costUsd / 10"}
		input := make(map[string]string)
		for _, name := range []string{"prompt", "outputs.analyze.severity", "model", "style"}[:members] {
			g.Differs, input[name] = append(g.Differs, name), strings.Repeat("long ", 20)
		}
		text, err := json.Marshal(input)
		require.NoError(t, err)
		g.Variants = []*group.Variant{{Number: 10, RunID: "sweep-k7q2abcd.10", Status: "not-started", TookMs: 41_200, Input: text}}
		table := runpage.GroupTable(g, display.Painter{})
		table.Fit(140)
		assert.Contains(t, table.Header, "TOOK", "%d members", members)
		_, width := table.Lines()
		assert.LessOrEqual(t, width, 140)
	}
}
