package timeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// A hook puts a pack on stable storage before it moves a ref to what is in it, and waits for no name of a ref.
func TestAHookWaitsForItsPackAndNotForNamesOfRefs(t *testing.T) {
	t.Parallel()
	for durability, late := range map[string]bool{"process": true, "durable": false} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			d := sessions[1]
			d.before = func(repo *repotest.Repo) { repo.Git("config", "smithers.session.durability", durability) }
			var pack, tip, names int
			for i, op := range record(t, d).files.Ops() {
				switch {
				case op.Kind == fsxtest.SyncDir && op.Path == "objects/pack" && pack == 0:
					pack = i
				case op.Kind == fsxtest.Rename && (strings.HasPrefix(op.To, "refs/smithers/_tip/") || op.To == "reftable/tables.list") && tip == 0:
					tip = i
				case op.Kind == fsxtest.SyncDir && strings.HasPrefix(op.Path, "ref"): // refs or reftable
					names++
				}
			}
			assert.Positive(t, pack)
			assert.Greater(t, tip, pack)
			assert.Equal(t, late, names == 0)
		})
	}
}
