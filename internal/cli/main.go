package cli

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/interrupt"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/thrown"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Streams are the streams, the environment, the folder and the clock of a command.
type Streams = term.Streams

// Main runs one command line and returns the exit status of the process. args has the words after the program's name.
// Main writes only to s. The first SIGINT or SIGTERM cancels the command, which then ends in an orderly way. The second
// signal ends running tasks at once. The third signal ends the process.
func Main(ctx context.Context, s Streams, args []string) int {
	ctx, hurry, stop := interrupt.Catch(ctx)
	defer stop()
	out := &session.Session{Terminal: term.New(ctx, s, wantsJSON(args)), Args: args, Hurry: hurry}
	err := thrown.Catch(func() error { return dispatch(ctx, out, args) })
	return out.Report(interrupt.Explain(ctx, err))
}

// dispatch runs the command that args names. If args asks for help, or names a group of commands, dispatch prints the
// help. If args names no command, dispatch runs status.
func dispatch(ctx context.Context, s *session.Session, args []string) error {
	root := treeFor(args)
	in, err := arg.Parse(root, args)
	if err != nil {
		return err
	}
	switch {
	case in.Page != "":
		return arg.PrintHelpPage(ctx, s, in.Page)
	case in.Command == root && !in.Help:
		return statusOrHelp(ctx, s, in)
	case in.Help || in.Command.Run == nil:
		return in.Command.PrintHelp(s.Out, in.All)
	}
	// Retyped adds a hint if the user has typed only the beginning of a run's id.
	return session.Retyped(args, in.Run(ctx, s))
}

// statusOrHelp shows the status of the repository, for a command line that names no command. If there is no repository,
// it shows the help. in must have the root command; statusOrHelp replaces it by the command status.
func statusOrHelp(ctx context.Context, s *session.Session, in *arg.Invocation) error {
	root := in.Command
	in.Command = root.Child("status")
	err := in.Run(ctx, s)
	if fault.CodeOf(err) == fault.NoRepository {
		return root.PrintHelp(s.Out, false)
	}
	return err
}

// wantsJSON reports whether args has --json before "--". It does not parse args, so that errors in a wrong command line
// are also printed as JSON.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}
