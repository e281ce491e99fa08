package cli_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A desk is a repository with a person at a terminal in it.
type desk struct{ repo *repotest.Repo }

// newDesk makes a repository with one run of two frames. It must verify in the end.
func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{repotest.New(t)}
	d.repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		var out strings.Builder
		exit := cli.Main(context.Background(), cli.Streams{
			In: strings.NewReader(""), Out: &out, Err: &out, Dir: d.repo.Dir, Env: d.repo.Env, Now: time.Now,
		}, []string{"verify"})
		assert.Equal(t, fault.ExitOK, exit, out.String())
	})
	for _, name := range []string{"one", "two"} {
		c := d.invoke(t, func(s *cli.Streams) {
			s.In = strings.NewReader(`{"changes":[{"op":"set","collection":"loops","key":"` + name + `","value":{"iteration":0,"done":false}}]}`)
		}, "capture", "triage")
		require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	}
	return d
}

func (d *desk) invoke(t *testing.T, edit func(*cli.Streams), args ...string) *call {
	t.Helper()
	return invoke(t, func(s *cli.Streams) {
		s.Dir = d.repo.Dir
		s.Env = append(slices.Clone(d.repo.Env), "GIT_PAGER=cat", "GIT_SMITHERS_FSYNC=0", "TERM=xterm")
		if edit != nil {
			edit(s)
		}
	}, args...)
}

// atTerminal makes all streams a terminal, and adds to the environment.
func atTerminal(env ...string) func(*cli.Streams) {
	return func(s *cli.Streams) {
		in, out, err := s.In, s.Out, s.Err
		s.IsTTY = func(stream any) bool { return stream == in || stream == out || stream == err }
		s.Env = append(s.Env, env...)
	}
}

func TestListsAreTablesForPeopleAndTabsForScripts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)

	c := d.invoke(t, nil, "runs")
	assert.Equal(t, "triage\trunning\t1\t\t2026-11-20 17:47:44Z\t\n", c.out.String())

	c = d.invoke(t, atTerminal("NO_COLOR=1"), "runs")
	assert.Equal(t, "RUN     STATUS   FRAME  WORKFLOW  CREATED   FORKED FROM\n"+
		"triage  running  1                just now\n", c.out.String())
}

func TestColor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const colored = "\x1b[36mrunning\x1b[m"
	tests := map[string]struct {
		edit func(*cli.Streams)
		args []string
		want bool
	}{
		"not where nobody looks":           {nil, nil, false},
		"at a terminal":                    {atTerminal(), nil, true},
		"through the pager that git began": {func(s *cli.Streams) { s.Env = append(s.Env, "GIT_PAGER_IN_USE=true") }, nil, true},
		"not with NO_COLOR":                {atTerminal("NO_COLOR=1"), nil, false},
		"not at a dumb terminal":           {atTerminal("TERM=dumb"), nil, false},
		"not when git's color.ui says no": {
			atTerminal("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=color.ui", "GIT_CONFIG_VALUE_0=never"), nil, false,
		},
		"never":                  {atTerminal(), []string{"--color=never"}, false},
		"always":                 {nil, []string{"--color=always"}, true},
		"always, in spite of it": {atTerminal("NO_COLOR=1"), []string{"--color", "always"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := d.invoke(t, test.edit, append([]string{"runs"}, test.args...)...)
			require.Equal(t, fault.ExitOK, c.exit, c.err.String())
			if test.want {
				assert.Contains(t, c.out.String(), colored)
			} else {
				assert.NotContains(t, c.out.String(), "\x1b")
				assert.Contains(t, c.out.String(), "running")
			}
		})
	}
}

func TestPager(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	marked := atTerminal("GIT_PAGER=sed 's/^/P:/'", "NO_COLOR=1")

	t.Run("shows what a person reads", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{{"timeline", "triage"}, {"show", "triage"}, {"diff", "triage:0", "triage:1"}} {
			c := d.invoke(t, marked, args...)
			require.Equal(t, fault.ExitOK, c.exit, c.err.String())
			for line := range strings.Lines(c.out.String()) {
				assert.True(t, strings.HasPrefix(line, "P:"), line)
			}
			assert.NotEmpty(t, c.out.String())
		}
	})
	t.Run("not what a script reads", func(t *testing.T) {
		t.Parallel()
		c := d.invoke(t, marked, "timeline", "triage", "--json")
		assert.True(t, strings.HasPrefix(c.out.String(), "{"))
		c = d.invoke(t, func(s *cli.Streams) { s.Env = append(s.Env, "GIT_PAGER=sed 's/^/P:/'") }, "timeline", "triage")
		assert.True(t, strings.HasPrefix(c.out.String(), "triage"))
	})
	t.Run("that is left early is success", func(t *testing.T) {
		t.Parallel()
		c := d.invoke(t, atTerminal("GIT_PAGER=exit 3"), "timeline", "triage")
		assert.Equal(t, fault.ExitOK, c.exit)
		assert.Empty(t, c.err.String())
	})
	t.Run("leaves errors where they are", func(t *testing.T) {
		t.Parallel()
		c := d.invoke(t, marked, "timeline", "nope")
		assert.Equal(t, fault.ExitNotFound, c.exit)
		assert.Empty(t, c.out.String())
		assert.Contains(t, c.err.String(), "git-smithers: error:")
	})
	t.Run("gets less's settings from git's defaults", func(t *testing.T) {
		t.Parallel()
		c := d.invoke(t, atTerminal(`GIT_PAGER=echo "$LESS $LV"; cat >/dev/null`), "timeline", "triage")
		assert.Equal(t, "FRX -c\n", c.out.String())
		c = d.invoke(t, atTerminal(`GIT_PAGER=echo "$LESS"; cat >/dev/null`, "LESS=S"), "timeline", "triage")
		assert.Equal(t, "S\n", c.out.String())
	})
}

func TestProgressIsForPeopleWhoWaitAndGoesAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	slow := func(s *cli.Streams) {
		now := time.UnixMilli(0)
		s.Now = func() time.Time {
			now = now.Add(time.Second)
			return now
		}
	}
	c := d.invoke(t, func(s *cli.Streams) { atTerminal()(s); slow(s) }, "index", "rebuild")
	assert.Contains(t, c.err.String(), "\r\x1b[Kindexing: ")
	assert.True(t, strings.HasSuffix(c.err.String(), "\r\x1b[K"))
	assert.Equal(t, "indexed 1 run, 2 entries, 2 frames\n", c.out.String())

	c = d.invoke(t, atTerminal(), "index", "rebuild")
	assert.Empty(t, c.err.String(), "nothing is shown of what is done at once")
	c = d.invoke(t, func(s *cli.Streams) { atTerminal()(s); slow(s) }, "index", "rebuild", "--quiet")
	assert.Empty(t, c.err.String())
	c = d.invoke(t, slow, "index", "rebuild")
	assert.Empty(t, c.err.String(), "nobody looks")
}

func TestInitAsksAPerson(t *testing.T) {
	t.Parallel()
	answering := func(dir, answer string) func(*cli.Streams) {
		return func(s *cli.Streams) {
			s.Dir, s.In = dir, io.Reader(strings.NewReader(answer))
			atTerminal()(s)
			s.Env = append(s.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		}
	}
	for name, test := range map[string]struct {
		answer string
		made   bool
	}{
		"yes": {"y\n", true}, "Yes": {"Yes\n", true}, "no": {"n\n", false}, "enter": {"\n", false}, "end of input": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := invoke(t, answering(dir, test.answer), "init")
			assert.Contains(t, c.err.String(), "[y/N]")
			_, err := os.Stat(filepath.Join(dir, ".smithers", "store.git", "HEAD"))
			if test.made {
				assert.Equal(t, fault.ExitOK, c.exit)
				assert.NoError(t, err)
			} else {
				assert.Equal(t, fault.ExitNotFound, c.exit)
				assert.Empty(t, c.out.String())
				assert.ErrorIs(t, err, os.ErrNotExist)
			}
		})
	}
}

func TestInitAsksForTheAliasOfJJ(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJSecondary)
	in := func(answer string) func(*cli.Streams) {
		return func(s *cli.Streams) {
			s.Dir, s.Env, s.In = repo.Dir, append(slices.Clone(repo.Env), "TERM=xterm"), strings.NewReader(answer)
			atTerminal()(s)
		}
	}
	question := "so that `jj smithers` works? [y/N]"
	c := invoke(t, in("n\n"), "init")
	assert.Equal(t, fault.ExitOK, c.exit, "no is an answer")
	assert.Contains(t, c.err.String(), question)
	assert.Contains(t, c.err.String(), "init --jj` sets the alias")
	assert.Empty(t, repo.JJ("config", "list", "--quiet", "aliases.smithers"))

	c = invoke(t, in("y\n"), "init")
	assert.Equal(t, fault.ExitOK, c.exit)
	assert.Equal(t, `aliases.smithers = ["util", "exec", "--", "git-smithers"]`, repo.JJ("config", "list", "aliases.smithers"))

	c = invoke(t, in(""), "init")
	assert.Equal(t, fault.ExitOK, c.exit)
	assert.NotContains(t, c.err.String(), question, "it is set already")
}

// By what cannot be seen, the id of one run can look like that of another.
func TestWhatCannotBeSeenReachesATerminalEscaped(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const hidden = "\u200b\U000e0041\ufeff"
	c := d.invoke(t, func(s *cli.Streams) {
		s.In = strings.NewReader(`{"subject":"evil ` + hidden + `","run":{"workflowName":"w` + hidden + `"},` +
			`"changes":[{"op":"set","collection":"nodes","key":"n` + hidden + `::0","value":` +
			`{"label":"l","lastAttempt":null,"needs":[],"outputTable":"","state":"pending"}}]}`)
	}, "capture", "triage"+hidden)
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	for _, args := range [][]string{
		{"runs"},
		{"timeline", "triage" + hidden},
		{"show", "triage" + hidden},
		{"diff", "triage", "triage" + hidden},
		{"events", "triage" + hidden},
		{"verify"},
		{"seal", "triage" + hidden + ":9"},
		{"fork", "triage" + hidden, "--run-id", "f" + hidden},
	} {
		c := d.invoke(t, atTerminal("NO_COLOR=1"), args...)
		assert.False(t, strings.ContainsAny(c.out.String()+c.err.String(), hidden), "%q: %q %q", args, c.out.String(), c.err.String())
	}
	c = d.invoke(t, atTerminal("NO_COLOR=1"), "runs")
	assert.Contains(t, c.out.String(), `triage\u200b\U000e0041\ufeff  running`)
	piped := d.invoke(t, nil, "runs")
	assert.Contains(t, piped.out.String(), "triage"+hidden+"\t", "data stays as it is")
	piped = d.invoke(t, atTerminal(), "runs", "--json")
	assert.Contains(t, piped.out.String(), `"runId":"triage`+hidden+`"`)
}

// What is stored may come from somebody else.
func TestStoredTextCannotDriveATerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.invoke(t, func(s *cli.Streams) {
		s.In = strings.NewReader(`{"subject":"evil \u009b2J\u202e","run":{"workflowName":"w\u001b[2J","error":"\u001b]0;x\u0007"},` +
			`"changes":[{"op":"set","collection":"nodes","key":"n\u001b[31m::0","value":` +
			`{"label":"l\u001b[m","lastAttempt":null,"needs":[],"outputTable":"","state":"pending"}}]}`)
	}, "capture", "evil\x1b[5m")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	for _, args := range [][]string{
		{"runs"},
		{"timeline", "evil"},
		{"show", "evil"},
		{"show", "evil", "--attempts"},
		{"diff", "triage", "evil"},
		{"diff", "--align", "triage", "evil"},
		{"compare", "triage", "evil"},
		{"compare", "triage", "evil", "--csv"},
		{"branches", "evil"},
		{"fork", "evil"},
		{"show", "evil:9"},
		{"verify"},
		{"verify", "evil"},
	} {
		c := d.invoke(t, atTerminal("NO_COLOR=1"), args...)
		shown := strings.ReplaceAll(c.out.String()+c.err.String(), "\r\x1b[K", "") // the end of a line of progress, which shows if the machine is slow
		for _, drives := range []string{"\x1b", "\u009b", "\u202e"} {
			assert.NotContains(t, shown, drives, args)
		}
	}
}

func TestSQLShowsPeopleTheNamesOfColumnsAlsoOfNoRows(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	query := "SELECT run_id, status FROM _smithers_runs WHERE run_id = 'none'"
	c := d.invoke(t, atTerminal(), "sql", query)
	assert.Equal(t, "run_id  status\n", c.out.String())
	c = d.invoke(t, nil, "sql", query)
	assert.Empty(t, c.out.String(), "nobody watches")
}

func TestAReportAtATerminalIsAFileInTheFolder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	path := filepath.Join(d.repo.Dir, "triage.html")
	c := d.invoke(t, atTerminal(), "report", "triage")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Empty(t, c.out.String())
	assert.Contains(t, c.err.String(), "wrote a report on 1 run to triage.html")
	require.FileExists(t, path)
	c = d.invoke(t, atTerminal(), "report", "triage")
	assert.Equal(t, fault.ExitUsage, c.exit, "it replaces nothing")
	c = d.invoke(t, atTerminal(), "report", "triage", "-o", "-")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.out.String(), "<!DOCTYPE html>")
}

// Fifty columns are enough: only the commands to type are longer, because half a command is no use.
func TestListsFitIntoANarrowTerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.repo.Write("flow.yaml", "name: a-workflow-with-a-long-name\ntasks:\n  - {id: prepare-the-release, run: \"true\"}\n"+
		"  - {id: publish-the-release, needs: [prepare-the-release], approval: \"Publish the release of this week, with all that is in it?\"}\n")
	d.repo.Write("wide.yaml", "name: wide\ntasks:\n  - {id: deploy, label: \"Deploy the whole thing to the cluster in the east\", approval: \"本番環境にデプロイしてもよろしいですか。今週の変更がすべて含まれています。\"}\n")
	d.repo.Write("bad.yaml", "name: bad\ntasks: [{id: fails, run: \"echo a long line of a log that says what is wrong at length; exit 3\"}]\n")
	for _, run := range []string{"short", "release-of-the-week-in-which-it-snowed"} {
		require.Equal(t, fault.ExitWaiting, d.invoke(t, nil, "run", "flow.yaml", "--run-id", run).exit)
	}
	require.Equal(t, fault.ExitWaiting, d.invoke(t, nil, "run", "wide.yaml", "--run-id", "wide").exit)
	require.Equal(t, fault.ExitFailed, d.invoke(t, nil, "run", "bad.yaml", "--run-id", "b").exit)
	require.Equal(t, fault.ExitOK, d.invoke(t, nil, "fork", "b:1", "--run-id", "forked").exit)
	require.Equal(t, fault.ExitOK, d.invoke(t, nil, "fork", "b:1", "--run-id", "forked-in-the-week-in-which-it-snowed", "--label", "snow").exit)
	for _, line := range [][]string{
		{"status"},
		{"runs"},
		{"inbox"},
		{"timeline", "short"},
		{"timeline", "short", "--all"},
		{"timeline", "b"},
		{"timeline", "b", "--tree"},
		{"timeline", "release-of-the-week-in-which-it-snowed"},
		{"inbox", "wide"},
	} {
		c := d.invoke(t, atTerminal("COLUMNS=50", "LC_ALL=C.UTF-8", "NO_COLOR=1"), line...)
		require.Equal(t, fault.ExitOK, c.exit, c.err.String())
		require.NotEmpty(t, c.out.String())
		for text := range strings.Lines(c.out.String()) {
			if text = strings.TrimSuffix(text, "\n"); !strings.Contains(text, "git smithers ") {
				assert.LessOrEqual(t, term.Width(text), 50, "%s: %s", line, text)
			}
		}
	}
	c := d.invoke(t, atTerminal("COLUMNS=50", "LC_ALL=C.UTF-8", "NO_COLOR=1"), "inbox", "short")
	assert.Contains(t, c.out.String(), "short  publish-the-release  Publish the release o…")
	d.repo.Write("edit.yaml", "name: edit\ntasks: [{id: edit, run: \"echo a >edited\"}]\n")
	require.Equal(t, fault.ExitOK, d.invoke(t, atTerminal("GIT_SMITHERS_WORKTREE=all"), "run", "edit.yaml", "--run-id", "edit").exit)
	c = d.invoke(t, atTerminal("LC_ALL=C.UTF-8", "NO_COLOR=1"), "diff", "edit:0", "edit")
	assert.Contains(t, c.out.String(), "file, +1 −0; ", "the same sign as in timeline")
}
