package timeline

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// secretSources says where a store learns what counts as a secret.
type secretSources struct {
	workspace *jjbridge.Workspace
	set       Settings
	env       []string
}

// finder returns the Finder of everything that counts as a secret. If a file cannot be read, finder returns an error and a
// Finder without the file's rules and secrets.
func (src secretSources) finder() (*redact.Finder, error) {
	rules, rulesErr := src.rules()
	known, knownErr := src.known(rules)
	var values []redact.Value
	for _, k := range known {
		if k.Why == "" {
			values = append(values, k.value)
		}
	}
	return redact.NewFinderWith(values, rules), errors.Join(rulesErr, knownErr)
}

// rules reads the repository's rules and those of the user. Code: invalid_secrets.
func (src secretSources) rules() (rules *redact.Rules, err error) {
	if top := src.workspace.Root; top != "" {
		// A stranger may have written this file: its exceptions do not free a secret that the user has named.
		if rules, err = readRules(filepath.Join(top, filepath.FromSlash(redact.RulesPath)), redact.RulesPath, false); errors.Is(err, fs.ErrNotExist) {
			rules, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	name := src.set.SecretsFile
	if name == "" {
		return rules, nil
	}
	path := name
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, _ := gitexec.LookupEnv(src.env, "HOME")
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		top := src.workspace.Root
		if top == "" {
			top = src.workspace.Repo.CommonDir
		}
		path = filepath.Join(top, path)
	}
	own, err := readRules(path, name, true)
	if err != nil {
		return rules, explainRules(err, name)
	}
	return rules.And(own), nil
}

// readRules reads a file of rules. shown is its name for people. A missing file is an error that wraps fs.ErrNotExist.
func readRules(path, shown string, trusted bool) (*redact.Rules, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, explainRules(err, shown)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, explainRules(err, shown)
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(file, redact.MaxRuleFile+1))
	if err != nil {
		return nil, explainRules(err, shown)
	}
	rules, err := redact.ParseRules(data, trusted)
	if err != nil {
		return nil, explainRules(err, shown)
	}
	return rules, nil
}

// explainRules returns the error invalid_secrets about a file of rules.
func explainRules(err error, shown string) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return fault.New(fault.InvalidSecrets, "%s cannot be used: %w", shown, err).
		Hint("nothing is stored with fewer rules than you asked for: repair the file, or move it away").
		Hint("`git smithers help secrets` describes the file").Detail("file", shown)
}

// KnownSecret is a value that counts as a secret wherever it stands.
type KnownSecret struct {
	Name   string `json:"name"`
	Source string `json:"source"`        // variable, added or remote
	Why    string `json:"why,omitempty"` // why the value is not looked for: redact.Unmasked
	Weak   bool   `json:"-"`             // the value may be a secret all the same: it is too short or too plain
	value  redact.Value
}

// The sources of known secrets.
const (
	SourceVariable = "variable"
	SourceAdded    = "added"
	SourceRemote   = "remote"
)

// KnownSecrets returns the values that count as secrets wherever they stand, sorted by name: variables of the environment, secrets that were
// added, and passwords in the URLs of remotes. It does not tell the values. Codes: invalid_secrets, vault_damaged; the list then
// lacks what cannot be read.
func KnownSecrets(s *Store) ([]KnownSecret, error) {
	src := secretSources{s.workspace, s.settings, s.env}
	rules, rulesErr := src.rules()
	known, err := src.known(rules)
	slices.SortStableFunc(known, func(a, b KnownSecret) int { return strings.Compare(a.Name, b.Name) })
	return known, errors.Join(rulesErr, err)
}

// known returns the known secrets.
func (src secretSources) known(rules *redact.Rules) ([]KnownSecret, error) {
	var out []KnownSecret
	add := func(name, source, value string) {
		out = append(out, KnownSecret{name, source, redact.Unmasked(value), redact.IsWeak(value), redact.Value{Name: name, Text: value}})
	}
	for _, entry := range src.env {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && rules.SecretVariable(name) && !strings.HasPrefix(name, "GIT_SMITHERS_") { // those are settings
			add(name, SourceVariable, value)
		}
	}
	for _, v := range credentials(src.workspace.Repo.Config) {
		add(v.Name, SourceRemote, v.Text)
	}
	named, err := vault.ReadNamed(vaultDir(src.workspace.Repo))
	for name, value := range named {
		add(name, SourceAdded, value)
	}
	return out, err
}

// AddSecret keeps a value that counts as a secret from now on, in the vault of this clone. It replaces the value of the same
// name. Code: usage if the name is invalid, or if the value is not looked for.
func AddSecret(s *Store, name, value string) error {
	if name == "" || redact.RuleName(name) != name {
		return fault.New(fault.Usage, "%q cannot be the name of a secret", name).
			Hint("a name has 1 to 64 letters, digits, '_', '.' and '-'")
	}
	if why := redact.Unmasked(value); why != "" {
		return fault.New(fault.Usage, "the value of %s %s, so it would be found in ordinary text", name, why).
			Hint("words that must not leave the repository can be listed under `words` in %s", redact.RulesPath)
	}
	return Explain(vault.SetNamed(vaultDir(s.repo), name, value))
}

// RemoveSecret forgets a value that AddSecret has kept. Runs keep their placeholders and their secrets. Code: usage if there is no such
// secret.
func RemoveSecret(s *Store, name string) error {
	had, err := vault.RemoveNamed(vaultDir(s.repo), name)
	if err == nil && !had {
		return fault.New(fault.Usage, "no secret %q was added", name).Hint("`git smithers secret list` lists the secrets")
	}
	return Explain(err)
}
