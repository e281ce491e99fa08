package jjbridge_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestPathsInJSONAreSpelledAsInVCSJSON(t *testing.T) {
	t.Parallel()
	const name, spelled = "100%/lat\xe9n", `"path":"100%25/lat%e9n",`
	for _, v := range []any{
		jjbridge.PathChange{Path: name, Op: jjbridge.OpAdd},
		jjbridge.Refusal{Path: name, Reason: "why"},
		snapshot.LeftOut{Path: name, Reason: snapshot.LeftTooLarge},
	} {
		out, err := json.Marshal(v)
		require.NoError(t, err)
		assert.Contains(t, string(out), spelled)
	}
}

func TestAFileThatIsLeftOutIsNamedByItsBytes(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("lat\xe9n", "more than a byte\n")
	v := capture(t, repo, jjbridge.CaptureOptions{MaxFile: 8})
	assert.Contains(t, v.LeftOut, snapshot.LeftOut{Path: "lat\xe9n", Reason: snapshot.LeftTooLarge, Bytes: 17})
}
