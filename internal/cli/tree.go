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
		Summary: "keep the history of workflow runs in the repository they work on",
		Usage:   []string{"", "<command> [<argument>...] [<flag>...]", "help [--all | <command> | <page>]"},
		About: `Without a command, shows the runs that are running, wait for you or have failed.

Every change of a run's state is a frame: a commit under refs/smithers/. Frames are
called <run>:<frame>, such as triage-1:7, or <run>@<id> by an id that a program gave
them, such as triage-1@call_2; <run> alone is its newest state. To read a run, a unique
prefix of its id is enough; to change or remove it, give the whole id.`,
		Examples: []arg.Example{
			{"run a workflow", "git smithers run triage.yaml"},
			{"see what happened", "git smithers timeline triage-1"},
			{"see what a step changed, in state and code", "git smithers show -p triage-1:7"},
			{"get the code back as it was before", "git smithers restore triage-1:6"},
			{"try again from before the failure", "git smithers replay triage.yaml triage-1:6"},
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
