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
	root := rootOf(topics()...)
	root.Link("")
	return root
}

// treeFor returns the root with one topic alone if args begins with a command of captures, hooks, reads and runs: to build the others takes
// longer than many a hook has to do. Otherwise, treeFor returns the root of all commands.
func treeFor(args []string) *arg.Command {
	for _, topic := range []func() arg.Topic{programTopic, agents.Topic, inspect.Topic, run.Topic} {
		if root := rootOf(topic); len(args) > 0 && root.Child(args[0]) != nil {
			root.Link("")
			return root
		}
	}
	return tree()
}

// rootOf returns the root of the commands of some topics. The caller links it.
func rootOf(of ...func() arg.Topic) *arg.Command {
	root := &arg.Command{
		Summary: "rewind, repair and share runs of AI agents, with nothing but your git repository",
		Usage:   []string{"", "<command> [<argument>...] [<flag>...]", "help [--all | <command> | <page>]"},
		About: `Without a command, shows the runs that are running, wait for you or have failed.

Every change of a run's state is a frame: a commit under refs/smithers/. Frames are
called <run>:<frame>, such as triage-1:7, or <run>@<id> by an id that a program gave
them, such as triage-1@call_2; <run> alone is its newest state. In place of a run, @ is the
newest run of this working copy, whatever its kind, @session the newest session of a coding
agent, and @run the newest run that is not a session. To read a run, a unique prefix of its
id is enough; to change or remove it, give the whole id, or @.`,
		Examples: []arg.Example{
			{"record coding agents in this repository, from now on", "git smithers session enable"},
			{"look: the steps of the newest session", "git smithers timeline @session"},
			{"what step 11 changed in the code", "git smithers diff --code @session:11"},
			{"another course from the third prompt", "git smithers session what-if @:turn:3 'TEXT'"},
			{"the work of a course, on your branch", "git smithers land claude-1c5e0d9e"},
		},
	}
	for _, topic := range of {
		root.Topics = append(root.Topics, topic())
	}
	for _, t := range root.Topics {
		root.Children = append(append(root.Children, t.Commands...), t.More...)
	}
	for _, t := range root.Topics {
		root.Children = append(root.Children, t.Old...)
	}
	return root
}

// topics returns the topics of the help with their commands. Help lists the commands of each topic that people type
// often; help --all also lists the others.
func topics() []func() arg.Topic {
	return []func() arg.Topic{
		run.Topic, answer.Topic, inspect.Topic, back.Topic, sharing.Topic, agents.Topic, peers.Topic, upkeep.Topic, programTopic,
	}
}

func programTopic() arg.Topic { return program.Topic(tree) }
