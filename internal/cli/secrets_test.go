package cli_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	aToken = "Zr8-quite-secret/value+41"
	aFlow  = `
name: flow
outputs: {made: {}, second: {}, decision: {type: object}}
tasks:
  - {id: make, output: made, run: 'cat "$MADE"'}
  - {id: also, output: second, run: 'cat "$SECOND"'}
  - {id: ask, needs: [make, also], output: decision, approval: 'is it good?'}
  - {id: use, needs: [make, also, ask], run: 'cat >"$GOT"'}
`
)

// heard is what a task reads on standard input of what may have secrets.
type heard struct {
	Input json.RawMessage
	Needs map[string]json.RawMessage
}

// resumed runs aFlow with an input and two outputs up to its question, and then resumes it in another process. It returns what the last
// task has read.
func resumed(t *testing.T, secrets, input, made, second string) heard {
	t.Helper()
	d := &desk{repotest.New(t, repotest.Commit)}
	dir := t.TempDir()
	for name, text := range map[string]string{"flow.yaml": aFlow, "made": made, "second": second} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	call := func(exit int, args ...string) {
		c := d.invoke(t, func(s *cli.Streams) {
			s.Env = append(s.Env, "DEPLOY_TOKEN="+aToken, "GIT_SMITHERS_SECRETS="+secrets, "GIT_SMITHERS_WORKTREE=off",
				"MADE="+filepath.Join(dir, "made"), "SECOND="+filepath.Join(dir, "second"), "GOT="+filepath.Join(dir, "got"))
		}, args...)
		require.Equal(t, exit, c.exit, c.err.String())
	}
	flow := filepath.Join(dir, "flow.yaml")
	call(fault.ExitWaiting, "run", flow, "--run-id", "r", "--input", input)
	call(fault.ExitOK, "approve", "r")
	call(fault.ExitOK, "resume", "r", flow)
	if objects := d.repo.Git("cat-file", "--batch-all-objects", "--batch"); secrets == "redact" {
		assert.NotContains(t, objects, aToken)
	}
	data, err := os.ReadFile(filepath.Join(dir, "got"))
	require.NoError(t, err)
	var got heard
	require.NoError(t, json.Unmarshal(data, &got))
	delete(got.Needs, "ask")
	return got
}

// Redacted and resumed, tasks read what they read without redaction, whatever the texts look like. A placeholder from outside
// never becomes a secret.
func TestAResumedTaskReadsWhatItWouldWithoutRedaction(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(17, 4))
	parts := []string{
		aToken, "«secret:DEPLOY_TOKEN:1»", "««secret:DEPLOY_TOKEN:1»", "«", "secret:DEPLOY_TOKEN:2»", "password=hT7-kk2.Wq9z", `a "quoted" \ text`,
		"\u00absecret:x:1\u00bb", "Zr8-quite-secret%2Fvalue%2B41", "\n", "ä☃😀", "</script>", " ",
	}
	text := func() string {
		var b strings.Builder
		for range 1 + random.IntN(5) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		return b.String()
	}
	value := func() string {
		v, err := json.Marshal(map[string]any{"a": text(), "b": []any{text(), random.IntN(9), nil}, text(): true})
		require.NoError(t, err)
		if random.IntN(2) == 0 {
			return strings.ReplaceAll(string(v), "«", `\u00ab`)
		}
		return string(v)
	}
	for range repotest.Size(4, 60) {
		input, made, second := value(), value(), value()
		plain := resumed(t, "off", input, made, second)
		assert.Equal(t, plain, resumed(t, "redact", input, made, second))
		assert.JSONEq(t, made, string(plain.Needs["make"]), "the test sees what the tasks have printed")
	}
}
