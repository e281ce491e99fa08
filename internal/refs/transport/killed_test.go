package transport_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestAPushWhoseGitIsKilledIsDoneByTheSamePushAgain(t *testing.T) {
	t.Parallel()
	for hook, when := range map[string]string{
		"pre-receive":           "true",
		"update":                `[ "$refs" = refs/smithers/run/1 ]`,
		"reference-transaction": `case $1:$refs in committed:*/run/4*) ;; *) false;; esac`,
		"post-receive":          "true",
	} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 6)
			bin, pid := t.TempDir(), filepath.Join(t.TempDir(), "pid")
			repotest.WriteProgram(t, filepath.Join(bin, "git"), "#!/bin/sh\nPATH=${PATH#*:}\n[ -e "+pid+" ] || echo $$ >"+pid+"\nexec git \"$@\"\n")
			w.hook(t, hook, "if [ ! -e "+pid+".done ] && "+when+"; then touch "+pid+".done; kill -9 $(cat "+pid+"); fi")
			killed := open(t, w.Repo, func(o *transport.Options) {
				o.Env = append(o.Env, "PATH="+bin+":"+os.Getenv("PATH"))
			})
			moves := append(frames(t, w.commits[:5]), tip(t, "run", w.commits[4]))

			outcomes, err := killed.Push(t.Context(), "origin", moves)
			require.Error(t, err)
			assert.Empty(t, outcomes)
			assert.FileExists(t, pid+".done")

			again, err := open(t, w.Repo, nil).Push(t.Context(), "origin", moves)
			require.NoError(t, err)
			assert.Equal(t, len(moves), count(again, transport.Moved)+count(again, transport.UpToDate))
			assert.Len(t, has(t, w.origin), len(moves))
		})
	}
}
