package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
)

func TestARepositoryThatACommandMakesIsMovedAway(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	for name, c := range map[string]struct{ line, gone, says string }{
		"jj's":                  {`mkdir -p .jj/repo`, ".jj", ".jj, which is now smithers/aside/jj-1 in the git directory"},
		"a link":                {`mkdir x; ln -s x .jj`, ".jj", ".jj, which is now"},
		"git's":                 {`cd ../plain; git init -q`, "../plain/.git", ".git, which is now"},
		"git's, by a file":      {`cd ../plain; echo gitdir: ../x >.git`, "../plain/.git", ".git, which is now"},
		"a bare one":            {`cd ../plain; git init -q --bare`, "../plain/HEAD", "HEAD, which is now"},
		"one of another":        {`cd ../plain; echo ref: refs/heads/x >HEAD; echo ../x >commondir`, "../plain/HEAD", "HEAD, which is now"},
		"two":                   {`cd ../plain; git init -q; mkdir .jj`, "../plain/.git", ".jj, which is now"},
		"in a folder above":     {`cd ../plain; git init -q ..`, "../.git", ".git, which is now"},
		"in another folder":     {`mkdir x; git init -q x`, "", ""},
		"a HEAD, no more":       {`echo x >HEAD`, "", ""},
		"one by leave to do so": {`mkdir .jj; echo write`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, env := placed(t)
			spec := &sandbox.Spec{}
			base := filepath.Dir(at.Dir)
			plain := filepath.Join(base, "plain")
			require.NoError(t, os.Mkdir(plain, 0o777))
			inRepo := at.Dir
			if c.gone != "" && c.gone[0] == '.' && c.gone[1] == '.' {
				at.Dir = plain
			}
			if c.gone == "../.git" {
				spec.Write, at.Internals, at.Hidden, at.Home = []string{base}, nil, nil, ""
			}
			if name == "one by leave to do so" {
				spec.Write = []string{".git"}
			}
			made, err := spec.New(t.Context(), c.line, at, env, nil)
			require.NoError(t, err)
			said := sh(at.Dir, made.Env, made.Line)
			err = made.SetAside()
			if c.says == "" {
				require.NoError(t, err, "%s", said)
				return
			}
			require.ErrorContains(t, err, "the command made a repository in its folder", "%s", said)
			require.ErrorContains(t, err, c.says)
			assert.NoFileExists(t, filepath.Join(inRepo, c.gone))
			assert.NoDirExists(t, filepath.Join(inRepo, c.gone))
			require.NoError(t, made.SetAside(), "once is enough")
			require.NoError(t, made.Close())
		})
	}
}
