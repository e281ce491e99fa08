package refs_test

import (
	"testing"
	"time"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/refs"
)

// shortPatience is enough for those who are alive to let go of a lock, mostly.
const shortPatience = 200 * time.Millisecond

func TestContract(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*refs.Options){
		"auto":            func(*refs.Options) {},
		"auto, durable":   func(o *refs.Options) { o.Fsync = true },
		"native":          func(o *refs.Options) { o.NativeOnly = true },
		"native, durable": func(o *refs.Options) { o.NativeOnly, o.Fsync = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refstest.Run(t, func(t testing.TB, repo *repotest.Repo) *refs.DB {
				t.Helper()
				return refstest.Open(t, repo, func(o *refs.Options) {
					o.Patience = shortPatience
					change(o)
				})
			})
		})
	}
}
