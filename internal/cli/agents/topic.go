// Package agents has the commands about sessions of coding agents. These commands are one topic of the help.
package agents

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "record coding agents",
		Commands: []*arg.Command{sessionCommand()},
	}
}

func sessionCommand() *arg.Command {
	return &arg.Command{
		Name:    "session",
		Summary: "record sessions of a coding agent, step by step",
		Usage:   []string{"enable | disable | status | checkpoint | what-if | continue | replay | revert | export | import | tags"},
		About: `A session of a coding agent becomes a run, <agent>-<session id>. Each prompt, each batch of tool
calls that may have changed files, and each answer is a frame: files, prompt, tool calls, tokens,
todos, and the conversation. runs --sessions lists the sessions; timeline, show, diff, restore and
fork work on a session as on any run. <run>@turn:7 is the frame before the seventh prompt was worked
on, and <run>@<id of a tool call> the frame after the batch of the call.

All commands that take a run take @session for the newest session of this working copy. The session
commands also take the agent's own id, and @ is @session for them.
` + "`git smithers help sessions`" + ` tells more.`,
		Children: []*arg.Command{enableCommand(), disableCommand(), statusCommand(), checkpointCommand(), whatIfCommand(), continueCommand(), replayCommand(), revertCommand(), exportCommand(), importCommand(), tagsCommand(), hookCommand()},
	}
}
