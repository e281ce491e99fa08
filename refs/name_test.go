package refs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/refs"
)

func TestEscapeRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ run, want string }{
		"plain bytes stand for themselves":          {"abc-1_2.z", "abc-1_2.z"},
		"upper case is escaped":                     {"Run", "%52un"},
		"slash and colon are escaped":               {"a/b:1", "a%2fb%3a1"},
		"the escape is escaped":                     {"a%2f", "a%252f"},
		"bytes above ASCII are escaped one by one":  {"\u00e9", "%c3%a9"},
		"bytes that are no UTF-8 are escaped":       {"\xff\x00", "%ff%00"},
		"the second of two dots":                    {"a..b", "a.%2eb"},
		"each dot after a dot":                      {"a...b", "a.%2e%2eb"},
		"a leading dot":                             {".a", "%2ea"},
		"a leading minus":                           {"-a", "%2da"},
		"a leading underscore":                      {"_tip", "%5ftip"},
		"what looks like a hash":                    {"_h-0", "%5fh-0"},
		"a trailing dot":                            {"a.", "a%2e"},
		"a trailing .lock":                          {"a.lock", "a%2elock"},
		"a .lock in the middle stays":               {"a.lock.b", "a.lock.b"},
		"only .lock":                                {".lock", "%2elock"},
		"only dots":                                 {"..", "%2e%2e"},
		"200 bytes are kept":                        {strings.Repeat("a", 200), strings.Repeat("a", 200)},
		"a byte more is hashed":                     {strings.Repeat("a", 201), "_h-"},
		"the length that counts is the component's": {strings.Repeat("A", 67), "_h-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := refs.EscapeRun(tt.run)
			require.NoError(t, err)
			if strings.HasPrefix(tt.want, "_h-") {
				assert.Regexp(t, "^_h-[0-9a-f]{64}$", got)
				_, ok, err := refs.UnescapeRun(got)
				require.NoError(t, err)
				assert.False(t, ok)
				return
			}
			assert.Equal(t, tt.want, got)
			run, ok, err := refs.UnescapeRun(got)
			require.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, tt.run, run)
		})
	}
	_, err := refs.EscapeRun("")
	assert.ErrorIs(t, err, refs.ErrMalformed)
}

func TestUnescapeRunAcceptsOneSpellingOnly(t *testing.T) {
	t.Parallel()
	for _, component := range []string{
		"", "A", "a b", "a/b", "%61", "%2F", "%", "%2", "%zz", "a..b", ".a", "-a", "_a", "_tip", "_gone", "a.", "a.lock",
		"_h-", "_h-0", "_h-" + strings.Repeat("A", 64), "_h-" + strings.Repeat("0", 65), strings.Repeat("a", 201), "\xff",
	} {
		_, _, err := refs.UnescapeRun(component)
		assert.ErrorIs(t, err, refs.ErrMalformed, "%q", component)
	}
}

func TestFrameNumbers(t *testing.T) {
	t.Parallel()
	for _, frame := range []int64{0, 1, 10, refs.MaxFrame} {
		name, err := refs.Frame("run", frame)
		require.NoError(t, err)
		component, got, err := name.Split()
		require.NoError(t, err)
		assert.Equal(t, "run", component)
		assert.Equal(t, frame, got)
	}
	for _, frame := range []int64{-1, refs.MaxFrame + 1} {
		_, err := refs.Frame("run", frame)
		assert.ErrorIs(t, err, refs.ErrMalformed)
	}
	for _, name := range []refs.Name{
		"refs/smithers/run/", "refs/smithers/run/-1", "refs/smithers/run/+1", "refs/smithers/run/00", "refs/smithers/run/1.lock",
		"refs/smithers/run/9007199254740993", "refs/smithers/run/99999999999999999999", "refs/smithers/_tip/run/1", "refs/smithers/run",
	} {
		_, _, err := name.Split()
		assert.ErrorIs(t, err, refs.ErrMalformed, name)
	}
}

// ids are run ids with much of what is special about names.
func ids() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("aAzZ09.._--%/:lock\u00e9\x00 ~^@{")), 1, 90, -1)
}

func TestDifferentRunsHaveDifferentComponents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids().Draw(t, "a"), ids().Draw(t, "b")
		one, err := refs.EscapeRun(a)
		require.NoError(t, err)
		two, err := refs.EscapeRun(b)
		require.NoError(t, err)
		assert.Equal(t, a == b, strings.EqualFold(one, two))
	})
}

func TestGitAcceptsEveryName(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	id := repo.GitInput("", "hash-object", "-w", "--stdin")
	var commands strings.Builder
	seen := make(map[refs.Name]bool)
	rapid.Check(t, func(t *rapid.T) {
		run := ids().Draw(t, "run")
		tip, err := refs.Tip(run)
		require.NoError(t, err)
		frame, err := refs.Frame(run, 0)
		require.NoError(t, err)
		for _, name := range []refs.Name{tip, frame} {
			if !seen[name] {
				seen[name] = true
				commands.WriteString("create " + string(name) + " " + id + "\n")
			}
		}
	})
	repo.GitInput(commands.String(), "update-ref", "--stdin")
}

func FuzzUnescapeRun(f *testing.F) {
	for _, s := range []string{"abc", "%52un", "a.%2eb", "_h-" + strings.Repeat("0", 64), "%2", "a.lock"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, component string) {
		run, ok, err := refs.UnescapeRun(component)
		if err != nil || !ok {
			assert.Empty(t, run)
			assert.False(t, ok)
			return
		}
		again, err := refs.EscapeRun(run)
		require.NoError(t, err)
		assert.Equal(t, component, again)
	})
}

func FuzzEscapeRun(f *testing.F) {
	for _, s := range []string{"abc", "Run", "a..b", ".lock", "\xff", strings.Repeat("a", 201)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, run string) {
		component, err := refs.EscapeRun(run)
		if run == "" {
			require.ErrorIs(t, err, refs.ErrMalformed)
			return
		}
		require.NoError(t, err)
		assert.LessOrEqual(t, len(component), 200)
		assert.Equal(t, strings.ToLower(component), component)
		back, ok, err := refs.UnescapeRun(component)
		require.NoError(t, err)
		if ok {
			assert.Equal(t, run, back)
		}
	})
}
