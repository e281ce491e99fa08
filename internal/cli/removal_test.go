package cli_test

import (
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

// madeFiles makes a repository with a run r, whose task make has made an untracked file, a tracked one, and one that
// HEAD alone has.
func madeFiles(t *testing.T) *desk {
	t.Helper()
	d := &desk{repotest.New(t)}
	d.repo.Write("flow.yaml", "name: flow\ntasks:\n  - {id: make, run: 'touch staged in-head \"$(printf \"un\\033[2Jtracked\")\"'}\n")
	d.repo.Git("add", "flow.yaml")
	d.repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=flow")
	c := d.invoke(t, nil, "run", "flow.yaml", "--run-id", "r", "--quiet")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	d.repo.Git("add", "staged", "in-head")
	d.repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=more", "--", "in-head")
	d.repo.Git("rm", "--quiet", "--cached", "in-head")
	return d
}

func typing(line string) func(*cli.Streams) {
	return func(s *cli.Streams) {
		s.In = strings.NewReader(line)
		atTerminal("NO_COLOR=1")(s)
	}
}

func TestAPersonIsAskedBeforeUntrackedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"restore": {"restore", "r:0"},
		"travel":  {"travel", "--run-id", "r", "--node", "make"},
		"undo":    {"undo", "r"},
		"revert":  {"revert", "--run-id", "r", "--node-id", "make"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := madeFiles(t)
			untracked := "un\x1b[2Jtracked"
			switch name {
			case "undo": // of a restore that brought the file back
				for _, at := range []string{"r:0", "r:2"} {
					require.Equal(t, fault.ExitOK, d.invoke(t, nil, "restore", at).exit)
				}
			case "revert":
				untracked = "later"
				d.repo.Write(untracked, "mine\n")
				require.Equal(t, fault.ExitOK, d.invoke(t, nil, "restore", "r:0").exit)
				require.Equal(t, fault.ExitOK, d.invoke(t, nil, "undo", "r").exit) // the newest frame has the file
			}
			file := filepath.Join(d.repo.Dir, untracked)
			before := d.repo.Git("for-each-ref")
			shown := "Untracked files that would be removed from " + d.repo.Dir + ":\n  " +
				strings.ReplaceAll(untracked, "\x1b", `\x1b`) + "\nRemove them? They are saved in a frame. [y/N] "

			for _, no := range []string{"n\n", ""} {
				c := d.invoke(t, typing(no), args...)
				assert.Equal(t, fault.ExitUsage, c.exit)
				assert.Contains(t, c.err.String(), shown)
				assert.Contains(t, c.err.String(), "error: you did not confirm the removal of 1 untracked file\n"+
					"git-smithers: hint: nothing was changed; --yes saves the files in a frame and removes them\n")
			}
			assert.FileExists(t, file)
			assert.Equal(t, before, d.repo.Git("for-each-ref"))

			c := d.invoke(t, typing("y\n"), args...)
			assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
			assert.Contains(t, c.err.String(), shown)
			assert.NoFileExists(t, file)
		})
	}
}

func TestNobodyIsAskedAboutFilesWithYesOrWithoutATerminal(t *testing.T) {
	t.Parallel()
	d := madeFiles(t)
	file := filepath.Join(d.repo.Dir, "un\x1b[2Jtracked")
	for name, c := range map[string]struct {
		streams func(*cli.Streams)
		args    []string
	}{
		"yes":         {typing(""), []string{"restore", "r:0", "--yes"}},
		"no terminal": {nil, []string{"restore", "r:0"}},
		"json":        {typing(""), []string{"restore", "r:0", "--json"}},
		"travel":      {typing(""), []string{"travel", "-r", "r", "-n", "make", "--yes"}},
	} {
		require.Equal(t, fault.ExitOK, d.invoke(t, nil, "restore", "r:2").exit)
		require.FileExists(t, file, name)
		done := d.invoke(t, c.streams, c.args...)
		assert.Equal(t, fault.ExitOK, done.exit, "%s: %s", name, done.err.String())
		assert.NotContains(t, done.err.String(), "[y/N]", name)
		assert.NoFileExists(t, file, name)
	}
	c := d.invoke(t, typing(""), "restore", "r:0", "--dry-run")
	assert.Equal(t, fault.ExitOK, c.exit)
}

// The newest frame has no such file, so nobody but the user can have made it. A second restore leaves it, too.
func TestANewUntrackedFileThatNoFrameHasStays(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"restore": {"restore", "r:0"},
		"travel":  {"travel", "--run-id", "r", "--node", "make"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := madeFiles(t)
			d.repo.Write("mine/notes", "mine\n")
			if name == "restore" {
				c := d.invoke(t, nil, "restore", "r:0", "--dry-run", "--json")
				assert.Contains(t, c.out.String(), `"leftOut":[{"path":"mine/notes","reason":"untracked"}]`)
			}
			for _, args := range [][]string{args, {"restore", "r:2", "--yes"}, {"restore", "r:0"}, {"undo", "r"}} {
				c := d.invoke(t, nil, args...)
				require.Equal(t, fault.ExitOK, c.exit, c.err.String())
				assert.NotContains(t, c.err.String(), "warning")
				if args[0] != "undo" {
					assert.NotContains(t, c.out.String()+c.err.String(), "remove  mine")
				}
				assert.FileExists(t, filepath.Join(d.repo.Dir, "mine", "notes"))
			}
		})
	}
}

func TestANewUntrackedFileInTheWayIsReplacedOnlyIfSomebodyAgrees(t *testing.T) {
	t.Parallel()
	for name, mine := range map[string]string{"the same path": "dir/made", "a folder in its place": "dir/made/mine", "a file in place of its folder": "dir"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &desk{repotest.New(t)}
			d.repo.Write("flow.yaml", "name: flow\ntasks:\n  - {id: make, run: 'mkdir dir; touch dir/made'}\n")
			d.repo.Git("add", "flow.yaml")
			require.Equal(t, fault.ExitOK, d.invoke(t, nil, "run", "flow.yaml", "--run-id", "r", "--quiet").exit)
			require.Equal(t, fault.ExitOK, d.invoke(t, nil, "restore", "r:0").exit) // the run's own file is removed
			require.NoFileExists(t, filepath.Join(d.repo.Dir, "dir", "made"))
			d.repo.Write(mine, "mine\n")
			before := d.repo.Git("for-each-ref")

			c := d.invoke(t, nil, "restore", "r:2")
			assert.Equal(t, fault.ExitUsage, c.exit, c.err.String())
			assert.Contains(t, c.err.String(), "new untracked files that no frame has are in the way: "+mine+"\n"+
				"git-smithers: hint: nothing was changed; --yes saves the files in a frame and removes them\n")
			c = d.invoke(t, typing("n\n"), "restore", "r:2")
			assert.Equal(t, fault.ExitUsage, c.exit, c.err.String())
			assert.Contains(t, c.err.String(), "\n  "+mine+"\nRemove them?")
			assert.Equal(t, before, d.repo.Git("for-each-ref"))

			c = d.invoke(t, nil, "restore", "r:2", "--yes")
			require.Equal(t, fault.ExitOK, c.exit, c.err.String())
			data, err := os.ReadFile(filepath.Join(d.repo.Dir, "dir", "made"))
			require.NoError(t, err)
			assert.Empty(t, data)
			c = d.invoke(t, nil, "undo", "r")
			require.Equal(t, fault.ExitOK, c.exit, c.err.String())
			data, err = os.ReadFile(filepath.Join(d.repo.Dir, mine))
			require.NoError(t, err)
			assert.Equal(t, "mine\n", string(data))
		})
	}
}

// The mended file stays as it is through the question, for which the files are looked at twice.
func TestAMendedWorkflowStaysWhereAPersonIsAsked(t *testing.T) {
	t.Parallel()
	d := madeFiles(t)
	const mended = "name: flow\ntasks:\n  - {id: make, run: touch mended}\n"
	d.repo.Write("flow.yaml", mended)
	d.repo.Write("later", "mine\n")
	c := d.invoke(t, typing("y\n"), "travel", "flow.yaml", "-r", "r", "-n", "make", "--resume")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Equal(t, 1, strings.Count(c.err.String(), "not restored, because you named it"), c.err.String())
	assert.FileExists(t, filepath.Join(d.repo.Dir, "mended"))
	assert.NoFileExists(t, filepath.Join(d.repo.Dir, "un\x1b[2Jtracked"))
	assert.FileExists(t, filepath.Join(d.repo.Dir, "later"))
	data, err := os.ReadFile(filepath.Join(d.repo.Dir, "flow.yaml"))
	require.NoError(t, err)
	assert.Equal(t, mended, string(data))
}

// With --resume, --yes is about commands, too, which nobody has seen yet when they are asked about files.
func TestNobodyIsToldToAgreeToCommandsByAQuestionAboutFiles(t *testing.T) {
	t.Parallel()
	d := madeFiles(t)
	c := d.invoke(t, typing("n\n"), "travel", "-r", "r", "-n", "make", "--resume")
	assert.Equal(t, fault.ExitUsage, c.exit)
	assert.Contains(t, c.err.String(), "hint: nothing was changed; without --resume, --yes saves the files in a frame, removes them and runs nothing\n")
	c = d.invoke(t, typing("n\n"), "travel", "flow.yaml", "-r", "r", "-n", "make", "--resume")
	assert.Contains(t, c.err.String(), "hint: nothing was changed; --yes saves the files in a frame and removes them\n")
}

func TestNobodyIsAskedAboutTrackedFiles(t *testing.T) {
	t.Parallel()
	d := madeFiles(t)
	require.NoError(t, os.Remove(filepath.Join(d.repo.Dir, "un\x1b[2Jtracked")))
	c := d.invoke(t, typing(""), "restore", "r:0")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.out.String(), "remove  staged")
	assert.Contains(t, c.out.String(), "remove  in-head")
}

// jj has every file in its change, and brings it back by jj undo.
func TestNobodyIsAskedAboutFilesThatJJHas(t *testing.T) {
	t.Parallel()
	d := &desk{repotest.NewKind(t, repotest.JJColocated)}
	d.repo.Write("flow.yaml", "name: flow\ntasks:\n  - {id: make, run: touch made}\n")
	require.Equal(t, fault.ExitOK, d.invoke(t, nil, "run", "flow.yaml", "--run-id", "r", "--quiet").exit)
	c := d.invoke(t, typing(""), "restore", "r:0")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.out.String(), "remove  made")
}
