package upkeep

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// jjAliasKey is jj's setting that makes "jj smithers" work.
	jjAliasKey = "aliases.smithers"
	// jjAlias is the value of jjAliasKey.
	jjAlias = `["util", "exec", "--", "git-smithers"]`
	// jjSnippet has the lines that people may add to jj's configuration.
	jjSnippet = `[aliases]
frames = ["util", "exec", "--", "git-smithers", "frames", "--change"]
[template-aliases]
smithers = 'builtin_log_compact ++ "jj frames " ++ change_id.shortest(8) ++ "\n"'
`
)

// offerJJ sets the alias that makes "jj smithers" work, unless the alias is set already. If want is false, offerJJ
// first asks the person at the terminal. If want is true, it does not ask, and returns an error if jj is not installed.
//
// The result reports whether the alias is set now. It is false if jj is not installed, or if the person does not agree.
// It is nil outside of a jj working copy, and after an error of jj.
func offerJJ(ctx context.Context, s *session.Session, want bool) (*bool, error) {
	here, err := jjbridge.Locate(ctx, s.Dir, s.Env)
	if fault.CodeOf(timeline.Explain(err)) == fault.NoRepository {
		return nil, nil // outside of any repository, except for a store of run history
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if here.NoJJ {
		if want {
			err = timeline.Explain(jjbridge.ErrNoJJ)
		}
		return new(false), err
	}
	if here.Type != snapshot.VCSJJ {
		return nil, nil
	}
	out, err := here.Run(ctx, "config", "list", jjAliasKey)
	if errors.Is(err, jjbridge.ErrNoJJ) && !want {
		return new(false), nil
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if len(strings.TrimSpace(string(out))) > 0 {
		return new(true), nil
	}
	if !want {
		if want, err = askForAlias(ctx, s); err != nil || !want {
			return new(false), err
		}
	}
	if _, err := here.Run(ctx, "config", "set", "--repo", jjAliasKey, jjAlias); err != nil {
		return nil, timeline.Explain(err)
	}
	return new(true), nil
}

// askForAlias asks the person at the terminal whether to set the alias, and reports whether the answer is yes. It
// returns false if there is no terminal, or if the answer cannot be read. If ctx has ended, it returns the error of
// ctx.
func askForAlias(ctx context.Context, s *session.Session) (bool, error) {
	if !s.CanAsk() {
		return false, nil
	}
	yes, err := s.Ask("Set an alias in this jj repository's configuration, so that `jj smithers` works?")
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return yes && err == nil, nil
}

// noteJJ notes how to use git smithers with jj. alias reports whether the alias for "jj smithers" is set; if it is not,
// noteJJ notes the command that sets it.
func noteJJ(s *session.Session, alias bool) {
	if alias {
		s.Note("`jj smithers` works in this repository")
	} else {
		s.Note("`%s init --jj` sets the alias that makes `jj smithers` work", arg.Program)
	}
	s.Note("add these lines to jj's configuration for `jj frames CHANGE` and for a hint below each change in `jj log -T smithers`:\n\n%s",
		jjSnippet)
}

// noJJ returns the usage error for init --jj outside of a jj working copy.
func noJJ() error {
	return fault.New(fault.Usage, "this is not a jj working copy, so --jj has no alias to set").
		Hint("`jj git init --colocate` creates a jj repository")
}
