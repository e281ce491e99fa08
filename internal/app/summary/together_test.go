package summary_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAChangeWhileSeveralStepsRunIsOfNoneOfThem(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {id: say, run: "until test -e new; do sleep 0.05; done; echo '{}'"}
  - {id: write, run: "echo one >new; until git log -1 --format=%s refs/smithers/_tip/r | grep -q 'say finished'; do sleep 0.05; done"}
  - {id: alone, needs: [say, write], run: "echo two >>new"}
`)
	p.do(fault.ExitOK, "", "run", "flow.yaml", "--run-id", "r")
	sum := p.read("r")
	say := step(t, sum, "say")
	require.True(t, say.Last().Changed, "the file was there when it ended")
	assert.True(t, say.Last().Together)
	assert.Nil(t, say.Lines())
	assert.Nil(t, step(t, sum, "write").Lines())
	assert.Equal(t, &sqliteindex.Lines{Added: 1}, step(t, sum, "alone").Lines())
	assert.Equal(t, &summary.SharedChange{Frames: []int64{*say.Last().Frame}, Lines: sqliteindex.Lines{Added: 1}}, sum.SharedChange())
}
