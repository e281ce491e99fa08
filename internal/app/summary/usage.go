package summary

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

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
	// Models has what is known to be of a model, by the model's name.
	Models map[string]*Usage `json:"models,omitempty"`
}

// Tokens returns the number of tokens that went in and out, without those that came from a cache.
func (u *Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// ModelUsage is what a run used of one model.
type ModelUsage struct {
	Name    string
	Tokens  int64
	CostUSD float64 // 0 if no row says a cost
}

// ByModel returns what is known to be of each model, the one with the most tokens first.
func (u *Usage) ByModel() []ModelUsage {
	var list []ModelUsage
	for name, of := range u.Models {
		list = append(list, ModelUsage{name, of.Tokens(), of.CostUSD})
	}
	slices.SortFunc(list, func(a, b ModelUsage) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
	return list
}

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
		sum.Add(row.Value)
	}
	return sum, nil
}

// AddUsage adds another usage, in all and of each model.
func (u *Usage) AddUsage(of *Usage) {
	u.InputTokens += of.InputTokens
	u.OutputTokens += of.OutputTokens
	u.CacheReadTokens += of.CacheReadTokens
	u.CacheCreationTokens += of.CacheCreationTokens
	u.CostUSD += of.CostUSD
	for name, model := range of.Models {
		if u.Models == nil {
			u.Models = make(map[string]*Usage)
		}
		if u.Models[name] == nil {
			u.Models[name] = new(Usage)
		}
		u.Models[name].AddUsage(model)
	}
}

// Add adds what a row says, in all and of each model.
func (u *Usage) Add(row json.RawMessage) {
	var models map[string]json.RawMessage
	if json.Unmarshal(u.add(row)["models"], &models) != nil {
		return
	}
	if u.Models == nil && len(models) > 0 {
		u.Models = make(map[string]*Usage)
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if u.Models[name] == nil && len(u.Models) < maxModels {
			u.Models[name] = new(Usage)
		}
		if of := u.Models[name]; of != nil {
			of.add(models[name])
		}
	}
}

// add adds the numbers of a row, and returns the members of the row.
func (u *Usage) add(row json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(row, &members) != nil {
		return nil // the row is valid JSON, but no object
	}
	number := func(name string) float64 {
		var n float64
		if json.Unmarshal(members[name], &n) != nil || n < 0 || n > maxUsage {
			return 0
		}
		return n
	}
	u.InputTokens += int64(number("inputTokens"))
	u.OutputTokens += int64(number("outputTokens"))
	u.CacheReadTokens += int64(number("cacheReadTokens"))
	u.CacheCreationTokens += int64(number("cacheCreationTokens"))
	u.CostUSD += number("costUsd")
	return members
}

const (
	// maxUsage is the largest number that a row may say. It keeps sums of a stranger's rows from overflowing.
	maxUsage = 1e12
	// maxModels is the largest number of models that a run tells apart.
	maxModels = 50
)
