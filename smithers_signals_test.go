package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSmithersTakesTheSignalsThatAForkHas has Smithers go on with forks of frames that have received signals: it goes on
// past the waits at once.
func TestSmithersTakesTheSignalsThatAForkHas(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.write("go", "")
	p.ends(3, up("workflow.tsx", "news", `{"topic":"tea"}`)...)
	p.ends(0, "approve", "news")
	p.ends(3, resumed("workflow.tsx", "news")...)
	p.ok("import", "smithers.db")
	parked := p.newest("news")
	p.ends(0, "signal", "news", "sent", "--data", `{"from":"ann","readers":3}`)
	p.ends(0, resumed("workflow.tsx", "news")...)
	p.ok("import", "smithers.db")

	p.ok("fork", fmt.Sprintf("news:%d", parked+1), "--run-id", "received")
	assert.Equal(t, "waiting-event", p.nodes("received")["sent::0"])
	p.ok("fork", fmt.Sprintf("news:%d", parked), "--run-id", "told")
	p.ok("signal", "told", "sent", `{"from":"bob","readers":4}`)
	p.ok("fork", fmt.Sprintf("news:%d", parked), "--run-id", "untold")
	p.ok("export", "received", "told", "untold", "--to", "smithers.db")
	before := p.Git("for-each-ref")
	p.ok("import", "smithers.db")
	assert.Equal(t, before, p.Git("for-each-ref"), "what was exported is known")

	for run, status := range map[string]int{"received": 0, "told": 0, "untold": 3} {
		assert.Equal(t, status, p.resume(run), run)
	}
	p.comesBack()
	for run, from := range map[string]string{"received": `"ann"`, "told": `"bob"`} {
		assert.Contains(t, p.ok("show", run, "--json"), `"from":`+from, run)
	}
}
