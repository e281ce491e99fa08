package smithers

import (
	"cmp"
	"math"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// signalNumbers returns the numbers of a state's signals, by digest.
func signalNumbers(state *snapshot.State) (map[string]int64, error) {
	numbers := make(map[string]int64)
	for s, err := range state.AllSignals() {
		if err != nil {
			return nil, err
		}
		numbers[s.Digest()] = s.Seq
	}
	return numbers, nil
}

// numberSignals numbers signals from 0: first those that the state has, in its order, and then the others in theirs.
// So signals keep their numbers as long as none is removed. If no signal was sent here, the order is Smithers'.
func numberSignals(signals []snapshot.Signal, had map[string]int64) {
	const unknown = math.MaxInt64
	order, was := make([]int, len(signals)), make([]int64, len(signals))
	for i, s := range signals {
		order[i], was[i] = i, unknown
		if seq, ok := had[s.Digest()]; ok {
			was[i] = seq
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(was[a], was[b]) })
	for seq, i := range order {
		signals[i].Seq = int64(seq)
	}
}
