package gitexec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// readConfig is what Discover makes of a configuration file that git wrote.
func readConfig(t *testing.T, settings ...[2]string) (gitexec.Config, *repotest.Repo) {
	t.Helper()
	repo := repotest.New(t)
	for _, s := range settings {
		repo.Git("config", "--add", s[0], s[1])
	}
	found, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	return found.Config, repo
}

func TestConfigGet(t *testing.T) {
	t.Parallel()
	config, _ := readConfig(t,
		[2]string{"a.b", "one"}, [2]string{"a.b", "two"},
		[2]string{"remote.My.Fork.pushUrl", "x\ny=z"}, [2]string{"a.empty", ""})
	for name, tt := range map[string]struct {
		key, want string
		ok        bool
	}{
		"the last value wins":                        {"a.b", "two", true},
		"section and name ignore case":               {"A.B", "two", true},
		"values keep line feeds":                     {"REMOTE.My.Fork.PUSHURL", "x\ny=z", true},
		"a subsection keeps its case":                {"remote.my.fork.pushurl", "", false},
		"an empty value is there":                    {"a.empty", "", true},
		"a key that is not set":                      {"a.c", "", false},
		"a key without a section is never there":     {"ab", "", false},
		"git's own keys are there under their names": {"core.bare", "false", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := config.Get(tt.key)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.ok, ok)
		})
	}
}

func TestConfigReadsValuesAsGitDoes(t *testing.T) {
	t.Parallel()
	values := []string{
		"true", "Yes", "on", "1", "-7", "false", "No", "oFF", "0", "", "2k", "3M", "1g", "t", "2 k",
		"9223372036854775807", "9223372036854775808", "9999999999g", "k",
	}
	settings := make([][2]string, len(values))
	for i, v := range values {
		settings[i] = [2]string{key(i), v}
	}
	config, repo := readConfig(t, settings...)
	for i, v := range values {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			_, gitErr := repo.GitErr("config", "--type=int", key(i))
			_, err := config.Int(key(i), 0)
			assert.Equal(t, gitErr == nil, err == nil, "as an integer: %v, git: %v", err, gitErr)
			want, gitErr := repo.GitErr("config", "--type=bool", key(i))
			got, err := config.Bool(key(i), false)
			if v == "9223372036854775807" || v == "1g" {
				return // git's booleans end at 31 bits
			}
			assert.Equal(t, gitErr == nil, err == nil, "as a boolean: %v, git: %v", err, gitErr)
			assert.Equal(t, want == "true", got)
		})
	}
	n, err := config.Int(key(10), 0)
	require.NoError(t, err)
	assert.Equal(t, int64(2048), n)
	_, err = config.Int(key(13), 0)
	assert.ErrorIs(t, err, gitexec.ErrConfig)
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	var config gitexec.Config
	b, err := config.Bool("a.b", true)
	require.NoError(t, err)
	assert.True(t, b)
	n, err := config.Int("a.b", 42)
	require.NoError(t, err)
	assert.Equal(t, int64(42), n)
}

func key(i int) string { return "values.v" + string(rune('a'+i)) }
