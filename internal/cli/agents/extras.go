package agents

import (
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// disableExtras removes the commands and the skill of an agent, and returns the removed files. It names files that stay, because somebody has edited them,
// or because Enable has not written them here.
func disableExtras(s *session.Session, setup hooks.Setup) ([]hooks.Setup, error) {
	removed, left, err := hooks.DisableExtras(setup.ExtrasInPlace())
	if len(removed) > 0 && !s.JSON {
		s.Note("removed %s", display.ListUpTo(len(removed), filesOf(removed)))
	}
	sayLeft(s, append(left, setup.ExtrasIn(hooks.Edited)...))
	return removed, err
}

// sayLeft names files that stay as they are.
func sayLeft(s *session.Session, extras []hooks.Setup) {
	if len(extras) > 0 {
		s.Note("left as they are, because `session enable` has not written them here, or somebody has edited them: %s", display.ListUpTo(len(extras), filesOf(extras)))
	}
}

// askExtras returns the setups of the files that --commands and --skill ask for and that are not there yet. It lists them, and asks a person. A file that is
// not of git-smithers is named and left out. Codes: usage if there is no such file for the agent; unconfirmed if nobody has agreed.
func askExtras(s *session.Session, c *urfave.Context, setup hooks.Setup) ([]hooks.Setup, error) {
	commands, skill := c.Bool("commands"), c.Bool("skill")
	if (commands || skill) && setup.Shared {
		return nil, fault.New(fault.Usage, "--commands and --skill do not go with --shared: their files are for this clone alone").
			Hint("call the command once without --shared")
	}
	var all, left []hooks.Setup
	for _, extra := range setup.Extras(commands, skill) {
		if err := extra.CheckPlace(); err != nil {
			return nil, err
		}
		switch extra.State() {
		case hooks.Absent, hooks.Old:
			all = append(all, extra)
		case hooks.Edited, hooks.Foreign:
			left = append(left, extra)
		case hooks.Current:
		}
	}
	sayLeft(s, left)
	switch files := filesOf(all); {
	case len(all) == 0 || c.Bool("yes"):
		return all, nil
	case !s.CanAsk():
		return nil, fault.New(fault.Unconfirmed, "--commands and --skill would write %s", display.ListUpTo(len(files), files)).
			Hint("nothing was changed; --yes writes them").Detail("files", files)
	default:
		s.Talk("%s reads these files, which would be written:\n", setup.Agent.Name)
		for _, file := range files {
			s.Talk("  %s\n", plain.Text(file))
		}
		if yes, err := s.Ask("Write them?"); err != nil || yes {
			return all, err
		}
		return nil, fault.New(fault.Unconfirmed, "you did not confirm the files of --commands and --skill").Hint("nothing was changed").Detail("files", files)
	}
}

// writeExtras writes the files of the setups, and returns those that were written.
func writeExtras(all []hooks.Setup) (written []hooks.Setup, err error) {
	for _, extra := range all {
		if _, err := extra.Enable(); err != nil {
			return written, err
		}
		written = append(written, extra)
	}
	return written, nil
}

// sayExtras says which files were written, or how commands and the skill are had.
func sayExtras(s *session.Session, c *urfave.Context, setup hooks.Setup, written []hooks.Setup) {
	switch {
	case len(written) > 0:
		s.Note("wrote %s; %s reads them when it starts", display.ListUpTo(len(written), filesOf(written)), setup.Agent.Name)
	case !c.Bool("commands") && !c.Bool("skill") && len(setup.Extras(true, true)) > len(setup.ExtrasInPlace()):
		args := append([]string{"enable", setup.Agent.Name}, placeOf(setup)...)
		s.Note("`%s` adds %s to %[3]s, and a skill", fault.CommandLine(fault.Program+" session", append(args, "--commands", "--skill")...),
			"/"+strings.Join(dialect.CommandNames, ", /"), setup.Agent.Name)
	}
}

// placeOf returns the flag that names the place of a setup on the command line.
func placeOf(setup hooks.Setup) []string {
	if setup.User != "" {
		return []string{"--user"}
	}
	return nil
}

// filesOf returns the paths of the files of setups, with slashes.
func filesOf(all []hooks.Setup) []string {
	files := []string{}
	for _, setup := range all {
		files = append(files, filepath.ToSlash(setup.File()))
	}
	return files
}
