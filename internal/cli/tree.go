package cli

import (
	"github.com/git-smithers/git-smithers/internal/cli/agents"
	"github.com/git-smithers/git-smithers/internal/cli/answer"
	"github.com/git-smithers/git-smithers/internal/cli/back"
	"github.com/git-smithers/git-smithers/internal/cli/inspect"
	"github.com/git-smithers/git-smithers/internal/cli/peers"
	"github.com/git-smithers/git-smithers/internal/cli/program"
	"github.com/git-smithers/git-smithers/internal/cli/run"
	"github.com/git-smithers/git-smithers/internal/cli/sharing"
	"github.com/git-smithers/git-smithers/internal/cli/upkeep"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
)

// tree returns the root of all commands, in the order in which help lists them.
func tree() *arg.Command {
	root := &arg.Command{
		Summary: "rewind, repair and share runs of AI agents, with nothing but your git repository",
		Usage:   []string{"", "<command> [<argument>...] [<flag>...]", "help [--all | <command> | <page>]"},
		About: `Without a command, shows the runs that are running, wait for you or have failed.

Every change of a run's state is a frame: a commit under refs/smithers/. Frames are
called <run>:<frame>, such as triage-1:7, or <run>@<id> by an id that a program gave
them, such as triage-1@call_2; <run> alone is its newest state, and @ the newest session of
a coding agent here. To read a run, a unique prefix of its id is enough; to change or remove
it, give the whole id.`,
		Examples: []arg.Example{
			{"record coding agents in this repository, from now on", "git smithers session enable"},
			{"look: the steps of the newest session", "git smithers timeline @"},
			{"what step 11 changed in the code", "git smithers diff --code @:11"},
			{"another course from the third prompt", "git smithers session what-if @:turn:3 'TEXT'"},
			{"the work of a course, on your branch", "git smithers land claude-1c5e0d9e"},
		},
		Topics: topics(),
	}
	for _, t := range root.Topics {
		root.Children = append(append(root.Children, t.Commands...), t.More...)
	}
	for _, t := range root.Topics {
		root.Children = append(root.Children, t.Old...)
	}
	root.Link("")
	return root
}

// topics returns the topics of the help with their commands. Help lists the commands of each topic that people type
// often; help --all also lists the others.
func topics() []arg.Topic {
	return []arg.Topic{
		run.Topic(), answer.Topic(), inspect.Topic(), back.Topic(), sharing.Topic(), agents.Topic(), peers.Topic(), upkeep.Topic(), program.Topic(tree),
	}
}
