package answer

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
)

func TestARequestsIDNamesRunNodeAndIteration(t *testing.T) {
	t.Parallel()
	at := func(run, node string, iteration int) requestName {
		return requestName{run: run, place: mailbox.Place{Node: node, Iteration: &iteration}}
	}
	tests := map[string]struct {
		id   string
		want []requestName
	}{
		"a plain one":           {"human:a:ask:2", []requestName{at("a", "ask", 2)}},
		"with colons in it":     {"human:a:b:c:0", []requestName{at("a", "b:c", 0), at("a:b", "c", 0)}},
		"a run":                 {"triage-1", nil},
		"a frame":               {"human:7", nil},
		"too short":             {"human:a:0", nil},
		"without an iteration":  {"human:a:ask:x", nil},
		"with a spare zero":     {"human:a:ask:00", nil},
		"below zero":            {"human:a:ask:-1", nil},
		"of another kind":       {"timer:a:ask:0", nil},
		"with a part too short": {"human::ask:0", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, splitRequestID(test.id))
		})
	}
}
