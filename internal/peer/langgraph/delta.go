package langgraph

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/timeline"
)

// History is what makes the value of a DeltaChannel: a value that an ancestor has stored, and the writes since.
type History struct {
	Seed   *Value  // nil if no ancestor has a value
	Writes []Write // oldest first
}

// DeltaHistory returns the histories of channels before a checkpoint, or before the latest one if key.ID is "". Each has
// the writes of the ancestors, in the order of a tuple's writes, down to the nearest one that has a value.
func (t *Threads) DeltaHistory(ctx context.Context, id string, key Key, channels []string) (map[string]History, error) {
	out := make(map[string]History)
	err := t.use(ctx, id, func(th *thread) error {
		left := slices.Clone(channels)
		for _, channel := range channels {
			out[channel] = History{}
		}
		r := th.book.records[key]
		if key.ID == "" {
			r = th.book.latest(key.NS)
		}
		if r == nil {
			return nil
		}
		for seen := map[*record]bool{r: true}; len(left) > 0; {
			if r = th.book.parent(r); r == nil || seen[r] {
				break
			}
			seen[r] = true
			found, err := th.stepBack(r, left, out)
			if err != nil {
				return timeline.Explain(err)
			}
			left = slices.DeleteFunc(left, func(channel string) bool { return slices.Contains(found, channel) })
		}
		for channel, h := range out {
			slices.Reverse(h.Writes)
			out[channel] = h
		}
		return nil
	})
	return out, err
}

// stepBack adds what an ancestor has of channels to their histories, whose writes are newest first. It returns the channels of which
// the ancestor has a value.
func (th *thread) stepBack(r *record, channels []string, out map[string]History) (found []string, err error) {
	writes, err := th.book.pending(r.key())
	if err != nil {
		return nil, err
	}
	state, err := th.state(r)
	if err != nil {
		return nil, err
	}
	rows := state.Outputs(tableOf(r.NS))
	for _, channel := range channels {
		h := out[channel]
		for _, w := range slices.Backward(writes.Writes) {
			if w.Channel == channel {
				h.Writes = append(h.Writes, w)
			}
		}
		value, has, err := r.get(rows, channel)
		if err != nil {
			return nil, err
		}
		if has {
			h.Seed, found = &value, append(found, channel)
		}
		out[channel] = h
	}
	return found, nil
}
