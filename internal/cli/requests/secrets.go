package requests

import (
	"regexp"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// secretFlag returns the flag --secret.
func secretFlag() urfave.Flag {
	return arg.TextsFlag("secret", "take a secret that this clone misses from the variable `NAME`, or with SECRET=NAME from another variable")
}

// secretProvider provides missing secrets from variables of the environment, or asks the person at the terminal.
type secretProvider struct {
	s *session.Session
	// variables has the variable for each secret that the command line names: "RULE" or "RULE:NUMBER".
	variables map[string]string
}

// isVariable matches the name of a variable.
var isVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// parseSecrets returns the Provider for the values of --secret, or nil if there are none and nobody can be asked. Code: usage if a value
// names no variable.
func parseSecrets(s *session.Session, values []string) (app.Provider, error) {
	p := secretProvider{s, make(map[string]string)}
	for _, value := range values {
		secret, variable, ok := strings.Cut(value, "=")
		if !ok {
			variable, _, _ = strings.Cut(secret, ":")
		}
		if secret == "" || !isVariable().MatchString(variable) {
			return nil, fault.New(fault.Usage, "a value of --secret is not the name of a variable").
				Hint("give a name, as in `--secret DEPLOY_TOKEN`, or both names, as in `--secret github-token:2=GH_TOKEN`; never the secret itself")
		}
		p.variables[secret] = variable
	}
	if len(values) == 0 && !s.CanAsk() {
		return nil, nil
	}
	return p.provide, nil
}

// provide returns the secret for a placeholder; it is an app.Provider.
func (p secretProvider) provide(run string, needed engine.MissingSecret, missing redact.Placeholder) ([]byte, error) {
	variable, named := p.variables[missing.Name()]
	if !named {
		variable, named = p.variables[missing.Rule]
	}
	switch {
	case named:
		value, _ := p.s.LookupEnv(variable)
		if value == "" {
			return nil, fault.New(fault.Usage, "the variable %s for the secret %s is not set", variable, missing.Name())
		}
		return []byte(value), nil
	case !p.s.CanAsk():
		return nil, needed.Explain(run)
	}
	who := "Run " + fault.Word(run)
	if needed.Task != "" {
		who += ", task " + needed.Task
	}
	p.s.Talk("%s needs the secret %s, which another clone took out of %s.\n", who, missing.Name(), needed.Reason.At)
	if value, _ := p.s.LookupEnv(missing.Rule); value != "" {
		yes, err := p.s.Ask("Give it your variable " + missing.Rule + "?")
		if err != nil || yes {
			return []byte(value), err
		}
	}
	value, err := p.s.AskSecret("The secret (not shown; empty to stop):")
	if err == nil && value == "" {
		err = needed.Explain(run)
	}
	return []byte(value), err
}

// NoteUnmasked names the variables that look like secrets and whose values are too short or too plain to be looked for. Paths, URLs and
// fingerprints are no secrets, so it does not name them.
func NoteUnmasked(s *session.Session, store *timeline.Store) {
	if store.Settings().Secrets == vault.Off {
		return
	}
	known, _ := timeline.KnownSecrets(store) // who stores a text gets the error
	for _, k := range known {
		if k.Weak {
			s.Note("%s is not masked: its value %s", plain.Text(k.Name), k.Why)
		}
	}
}
