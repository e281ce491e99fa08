package smithers

import (
	"cmp"
	"math"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// signalNumbers returns the numbers of the signals in state, by the signal's digest.
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

// numberSignals sets Seq of each of signals to a new number, from 0. had has the numbers in the previous state, by
// digest. The signals in had come first, in the order of their numbers in had. The other signals follow, in the order
// of signals. So a signal keeps its number unless a signal with a lower number is removed.
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
