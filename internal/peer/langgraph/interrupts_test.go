package langgraph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
)

// BenchmarkInterrupts stores the interrupts of tasks that ran in parallel. With two copies, a task around each has its interrupt, too; with
// none, the tasks write values.
func BenchmarkInterrupts(b *testing.B) {
	for copies := range 3 {
		for _, tasks := range []int{100, 200, 400} {
			b.Run(fmt.Sprintf("copies=%d/tasks=%d", copies, tasks), func(b *testing.B) {
				for b.Loop() {
					d := newDesk(b)
					d.store(put("1", "", 1, `"x"`))
					for i := range tasks * max(copies, 1) {
						w := langgraph.Write{Task: fmt.Sprint("task-", i), Channel: "a", Value: langgraph.Value{Type: "json", Data: []byte(`"x"`)}}
						if copies > 0 {
							w.Idx, w.Channel, w.Value.Data = -3, "__interrupt__", fmt.Appendf(nil, `[{"id":"%d","value":"ship?"}]`, i/copies)
						}
						require.NoError(b, d.PutWrites(b.Context(), "t", langgraph.Key{ID: "1"}, []langgraph.Write{w}, false))
					}
				}
			})
		}
	}
}
