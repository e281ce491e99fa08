package inspect

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnEventSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string][2]string{
		`{"runId":"a","type":"T","timestampMs":1}`:                                   {"", ""},
		`{"runId":"a","nodeId":"fix","iteration":0,"attempt":1,"error":"a b"}`:       {"fix", `attempt=1 error="a b"`},
		`{"nodeId":"fix","iteration":2,"note":null,"request":{"title": "Ship it?"}}`: {"fix, iteration 2", `note=null request={"title":"Ship it?"}`},
		`{"status":"waiting-human","empty":""}`:                                      {"", `status=waiting-human empty=""`},
	} {
		task, facts := eventFacts(payload)
		assert.Equal(t, want, [2]string{task, facts}, payload)
	}
}
