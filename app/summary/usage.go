package summary

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

// UsageTable is the output table whose rows say what the steps of a run used. Sessions of coding agents have it, and a task
// may write it.
const UsageTable = "usage"

// Usage is the sum of the rows of the table usage. A row is an object with these members; each is optional, and members that
// are no number are left out.
type Usage struct {
	InputTokens         int64   `json:"inputTokens"`
	OutputTokens        int64   `json:"outputTokens"`
	CacheReadTokens     int64   `json:"cacheReadTokens"`
	CacheCreationTokens int64   `json:"cacheCreationTokens"`
	CostUSD             float64 `json:"costUsd"` // 0 if no row says a cost
}

// Tokens returns the number of tokens that went in and out, without those that came from a cache.
func (u *Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// readUsage returns the sum of the rows, or nil if there are none.
func readUsage(state *snapshot.State) (*Usage, error) {
	var sum *Usage
	for row, err := range state.Outputs(UsageTable).Rows() {
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = new(Usage)
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(row.Value, &members) != nil {
			continue // the row is valid JSON, but no object
		}
		number := func(name string) float64 {
			var n float64
			if json.Unmarshal(members[name], &n) != nil || n < 0 || n > maxUsage {
				return 0
			}
			return n
		}
		sum.InputTokens += int64(number("inputTokens"))
		sum.OutputTokens += int64(number("outputTokens"))
		sum.CacheReadTokens += int64(number("cacheReadTokens"))
		sum.CacheCreationTokens += int64(number("cacheCreationTokens"))
		sum.CostUSD += number("costUsd")
	}
	return sum, nil
}

// maxUsage is the largest number that a row may say. It keeps sums of a stranger's rows from overflowing.
const maxUsage = 1e12
