package arg

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/session"
)

// Run runs the command of the invocation in the session s. Before, it sets the common flags in s, and checks the values of the flags and the
// number of the arguments. It replaces words such as @ by the newest runs that they name. If the command needs a run and the command line has none, a
// person at the terminal gets the newest run. The error is usage if flags or arguments are wrong.
func (in *Invocation) Run(ctx context.Context, s *session.Session) error {
	err := in.run(ctx, s, false)
	if !errors.Is(err, errNoRun) || !s.CanAsk() || !s.OutTTY {
		return err
	}
	in.Args = append(in.Args, app.NewestName)
	return in.run(ctx, s, true)
}

// run runs the command as Run does. unnamed says that the user has named no run.
func (in *Invocation) run(ctx context.Context, s *session.Session, unnamed bool) error {
	if in.Command.Newest && len(in.Args) == 0 {
		in.Args = []string{app.NewestSessionName}
	}
	uc, err := in.context(ctx)
	if err != nil {
		return err
	}
	if err := configure(s, uc); err != nil {
		return err
	}
	if err := in.Command.check(uc); err != nil {
		return err
	}
	if err := in.resolveNewest(ctx, s, unnamed); err != nil {
		return err
	}
	if uc, err = in.context(ctx); err != nil {
		return err
	}
	s.TrustFiles = Texts(uc, "trust-files")
	return in.Command.Run(ctx, s, uc)
}

// has reports whether the flag with the long name was given, and not with the value false.
func (in *Invocation) has(name string) bool {
	return slices.ContainsFunc(in.Flags, func(flag string) bool { return flag == "--"+name || flag == "--"+name+"=true" })
}

// context returns the flags with their values, and the arguments, as commands read them.
func (in *Invocation) context(ctx context.Context) (*urfave.Context, error) {
	set := flag.NewFlagSet(in.Command.Name, flag.ContinueOnError)
	for _, f := range in.Command.Flags {
		if repeated, ok := f.(*urfave.GenericFlag); ok {
			repeated.Value = new(texts)
		}
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	for _, text := range in.Flags {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		if !hasValue {
			value = "true"
		}
		if err := set.Set(LongName(in.Command.Flag(name)), value); err != nil {
			return nil, in.Command.Misused("--%s cannot be %q: %s", name, value, in.Command.whyInvalid(name, err))
		}
	}
	if err := set.Parse(append([]string{"--"}, in.Args...)); err != nil {
		return nil, err
	}
	uc := urfave.NewContext(nil, set, nil)
	uc.Context = ctx
	return uc, nil
}

// whyInvalid returns what is wrong with the value of a flag, such as "it takes a whole number". err is the error of the flag's type.
func (c *Command) whyInvalid(name string, err error) string {
	text := err.Error()
	if !strings.Contains(text, "parse error") && !strings.Contains(text, "ParseBool") {
		return text
	}
	switch c.Flag(name).(type) {
	case *urfave.IntFlag, *urfave.Int64Flag:
		return "it takes a whole number"
	case *urfave.BoolFlag:
		return "it takes true or false"
	}
	return "it takes another kind of value"
}

// texts is the value of a flag that can be repeated.
type texts []string

// String returns the values on one line.
func (t *texts) String() string { return strings.Join(*t, " ") }

// Set adds a value.
func (t *texts) Set(text string) error {
	*t = append(*t, strings.TrimSpace(text))
	return nil
}

// TextsFlag returns a flag that can be repeated. Texts returns its values.
func TextsFlag(name, usage string, aliases ...string) urfave.Flag {
	return &urfave.GenericFlag{Name: name, Aliases: aliases, Usage: usage, Value: new(texts)}
}

// Texts returns the values of a TextsFlag in their order, or nil if the flag was not given.
func Texts(c *urfave.Context, name string) []string {
	if t, ok := c.Generic(name).(*texts); ok {
		return *t
	}
	return nil
}
