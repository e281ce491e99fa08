package dialect_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// withInside returns the dialects whose agents know commands or skills.
func withInside() []*dialect.Dialect {
	var all []*dialect.Dialect
	for _, name := range dialect.Names() {
		if d, _ := dialect.Of(name); d.Hooks != nil && !d.HooksOnly {
			all = append(all, d)
		}
	}
	return all
}

func TestEachAgentWithHooksHasCommandsAndASkill(t *testing.T) {
	t.Parallel()
	for _, d := range withInside() {
		var all strings.Builder
		for _, extra := range d.Commands() {
			all.WriteString(extra.Text)
			assert.Equal(t, strings.SplitN(d.Hooks.File, "/", 2)[0], strings.SplitN(extra.File, "/", 2)[0], "a command is in the agent's own folder")
		}
		for _, name := range dialect.CommandNames {
			assert.Contains(t, all.String(), name, d.Name)
		}
		require.Len(t, d.Skill(), 1, d.Name)
		assert.Contains(t, d.Skill()[0].Text, "\nname: git-smithers\n")
		for _, extra := range append(d.Commands(), d.Skill()...) {
			assert.Contains(t, extra.Text, "git smithers session", "%s: the mark of a file of ours", extra.File)
			assert.NotContains(t, extra.Text, "{{words}}", extra.File)
		}
	}
}

// What an agent puts in place of its mark is never in a line that a shell reads, and no text of ours has a shell command that the agent itself runs. opencode
// and pi get programs, which have no such mark.
func TestWordsAreInNoShellLine(t *testing.T) {
	t.Parallel()
	for _, d := range withInside() {
		for _, extra := range d.Commands() {
			if strings.HasSuffix(extra.File, ".js") || strings.HasSuffix(extra.File, ".ts") {
				assert.NotContains(t, extra.Text, "$ARGUMENTS", extra.File)
				assert.NotContains(t, extra.Text, "shell: ", extra.File)
				continue
			}
			for _, runs := range []string{"!`", "!{", "@{", "```!"} {
				assert.NotContains(t, extra.Text, runs, extra.File)
			}
			marks := 0
			for line := range strings.Lines(extra.Text) {
				for _, mark := range []string{"$ARGUMENTS", "{{args}}", "(what follows"} {
					if strings.Contains(line, mark) {
						marks++
						assert.True(t, strings.HasPrefix(line, mark), "%s: %s", extra.File, line)
					}
				}
			}
			assert.LessOrEqual(t, marks, 1, extra.File)
		}
	}
}

// hostile has what a shell, or opencode itself, would not take as words.
const hostile = "it's \"quoted\" $(echo ran >ran.txt) `echo ran >ran.txt` !`echo ran >ran.txt`\n--second line; echo ran >ran.txt\n$1 $ARGUMENTS"

// TestThePluginOfOpencodeHandsWordsOnAsTheyAre runs the plugin with the calls that opencode makes, and a git-smithers that notes its arguments and its standard input.
func TestThePluginOfOpencodeHandsWordsOnAsTheyAre(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node")
	}
	dir := t.TempDir()
	opencode, _ := dialect.Of(dialect.Opencode)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plugin.mjs"), []byte(opencode.Commands()[0].Text), 0o600))
	repotest.WriteProgram(t, filepath.Join(dir, "git-smithers"), "#!/bin/sh\nfor arg; do printf '<%s>' \"$arg\"; done\nprintf '|'\ncat\nprintf '|\\n'\n")
	calls := `
import { GitSmithersCommands } from "./plugin.mjs"
const words = process.argv[2]
const plugin = await GitSmithersCommands({ directory: process.cwd() })
const config = { command: { timeline: { template: "mine" } } }
await plugin.config(config)
console.log(Object.keys(config.command).join(" "), config.command.timeline.template)
for (const [command, args] of [["checkpoint", words], ["checkpoint", ""], ["what-if", "2 " + words], ["rewind-files", " 2 "], ["rewind-files", words], ["timeline", words]]) {
  const parts = [{ type: "text", text: "before" }]
  await plugin["command.execute.before"]({ command, sessionID: "ses_1", arguments: args }, { parts })
  console.log(command + ": " + parts[0].text.split("\n\n")[1])
}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "calls.mjs"), []byte(calls), 0o600))
	cmd := exec.Command("node", "calls.mjs", hostile)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, `timeline checkpoint rewind-files what-if mine
checkpoint: <session><checkpoint><opencode-ses_1><-m><->|`+hostile+`|
checkpoint: <session><checkpoint><opencode-ses_1>||
what-if: <session><what-if><opencode-ses_1:turn:2><-><--no-start>|`+hostile+`|
rewind-files: <restore><opencode-ses_1@turn:2>||
rewind-files: <timeline><opencode-ses_1>||
timeline: undefined
`, string(out))
	assert.NoFileExists(t, filepath.Join(dir, "ran.txt"))
}
