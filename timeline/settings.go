package timeline

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Settings has the settings of git-smithers for one store. The environment overrides git's configuration, which
// overrides the defaults.
type Settings struct {
	Fsync   bool            // writes are put on stable storage
	CallLog bool            // a program may note calls to `serve` in a log
	Limits  snapshot.Limits // the limits of a run's state; a 0 means the default
	Scope   string          // which files are captured: snapshot.ScopeAll, snapshot.ScopeTracked or jjbridge.ScopeOff
	MaxFile int64           // the size limit of a captured file, in bytes
	Remote  string          // smithers.remote, the default remote, on whose code runs build; "" means that none is set

	StaleAfter time.Duration // the time after which a process without a heartbeat no longer owns its run

	Seal            bool   // runs are sealed when they end
	FrameRefs       int64  // the number of frame refs above which this clone drops frame refs of runs that have ended
	RemoteFrameRefs int64  // the largest number of frame refs that a remote gets
	PushFiles       string // whether captured untracked files may be pushed: PushAsk, PushYes or PushNo

	Secrets     vault.Mode // whether secrets are taken out of stored texts, or refused
	SecretsFile string     // smithers.secretsFile, the user's own rules about secrets; "" for none

	Session SessionSettings

	SandboxRequired bool // smithers.sandbox = required: the commands of workflows that came with runs run in sandboxes alone
}

// The values of smithers.pushFiles.
const (
	PushAsk = "ask" // ask once for each remote
	PushYes = "yes"
	PushNo  = "no"
)

const (
	defaultStaleAfter = 30 * time.Second
	minStaleAfter     = 100 * time.Millisecond

	defaultFrameRefs       = 1000
	defaultRemoteFrameRefs = 1000
)

// readSettings returns the settings in the configuration and the environment. A variable of the environment
// replaces the setting in the configuration. If smithers.fsync is not set, git's core.fsync decides about Fsync.
// Code: usage if a value is invalid.
func readSettings(config gitexec.Config, env []string) (Settings, error) {
	set := Settings{Fsync: config.Fsyncs()}
	config = withEnvironment(config, env)
	var err error
	if set.Fsync, err = config.Bool("smithers.fsync", set.Fsync); err != nil {
		return Settings{}, badSetting(err)
	}
	if set.CallLog, err = config.Bool("smithers.calllog", true); err != nil {
		return Settings{}, badSetting(err)
	}
	for key, limit := range map[string]*int{
		"smithers.maxdepth": &set.Limits.Depth,
		"smithers.maxkey":   &set.Limits.Key,
		"smithers.maxvalue": &set.Limits.Value,
	} {
		value, err := config.Int(key, 0)
		if err != nil {
			return Settings{}, badSetting(err)
		}
		if value < 0 {
			return Settings{}, badSetting(fmt.Errorf("%s is negative: %d", key, value))
		}
		*limit = int(value)
	}
	if err := set.readStaleAfter(config); err != nil {
		return Settings{}, err
	}
	if err := set.readSharing(config); err != nil {
		return Settings{}, err
	}
	if err := set.readSecrets(config); err != nil {
		return Settings{}, err
	}
	if err := set.readSandbox(config); err != nil {
		return Settings{}, err
	}
	set.Session.wrong = set.Session.read(config)
	return set, set.readWorktree(config)
}

// readSharing sets Seal, FrameRefs, RemoteFrameRefs and PushFiles to the values in config, or to their defaults.
// Code: usage if a value is invalid.
func (set *Settings) readSharing(config gitexec.Config) (err error) {
	const pushFiles = "smithers.pushfiles"
	if set.Seal, err = config.Bool("smithers.seal", true); err != nil {
		return badSetting(err)
	}
	for key, number := range map[string]struct {
		to  *int64
		def int64
	}{
		"smithers.framerefs":       {&set.FrameRefs, defaultFrameRefs},
		"smithers.remoteframerefs": {&set.RemoteFrameRefs, defaultRemoteFrameRefs},
	} {
		if *number.to, err = config.Int(key, number.def); err != nil {
			return badSetting(err)
		}
		if *number.to < 0 {
			return badSetting(fmt.Errorf("%s is negative: %d", key, *number.to))
		}
	}
	set.PushFiles = PushAsk
	if value, ok := config.Get(pushFiles); ok {
		set.PushFiles = strings.ToLower(value)
	}
	switch set.PushFiles {
	case PushAsk, PushYes, PushNo:
		return nil
	}
	return badSetting(fmt.Errorf("%s is %q, but must be %s, %s or %s", pushFiles, set.PushFiles, PushAsk, PushYes, PushNo))
}

// readSecrets sets Secrets to the value of smithers.secrets, or to its default. Code: usage if the value is unknown.
func (set *Settings) readSecrets(config gitexec.Config) error {
	const key = "smithers.secrets"
	set.Secrets = vault.Redact
	set.SecretsFile, _ = config.Get("smithers.secretsfile")
	if value, ok := config.Get(key); ok {
		set.Secrets = vault.Mode(strings.ToLower(value))
	}
	switch set.Secrets {
	case vault.Redact, vault.Refuse, vault.Off:
		return nil
	}
	return badSetting(fmt.Errorf("%s is %q, but must be %s, %s or %s", key, set.Secrets, vault.Redact, vault.Refuse, vault.Off))
}

// readSandbox sets SandboxRequired. Code: usage if the value is unknown.
func (set *Settings) readSandbox(config gitexec.Config) error {
	value, _ := config.Get("smithers.sandbox")
	switch strings.ToLower(value) {
	case "", "asked":
		return nil
	case "required":
		set.SandboxRequired = true
		return nil
	}
	return badSetting(fmt.Errorf("smithers.sandbox is %q, but must be asked or required", value))
}

// readStaleAfter sets StaleAfter to the value of smithers.staleAfter, or to its default. Code: usage if the value
// is not a duration of at least minStaleAfter.
func (set *Settings) readStaleAfter(config gitexec.Config) error {
	const key = "smithers.staleafter"
	set.StaleAfter = defaultStaleAfter
	value, ok := config.Get(key)
	if !ok {
		return nil
	}
	var err error
	if set.StaleAfter, err = time.ParseDuration(value); err != nil {
		return badSetting(fmt.Errorf("%s is not a duration such as %s: %q", key, defaultStaleAfter, value))
	}
	if set.StaleAfter < minStaleAfter {
		return badSetting(fmt.Errorf("%s is shorter than %s: %s", key, minStaleAfter, value))
	}
	return nil
}

// readWorktree sets Remote, Scope and MaxFile to the values in config, or to their defaults. Code: usage if a
// value is invalid.
func (set *Settings) readWorktree(config gitexec.Config) error {
	const scope, maxFile = "smithers.worktree", "smithers.worktreemaxfile"
	set.Remote, _ = config.Get("smithers.remote")
	set.Scope = snapshot.ScopeAll
	if value, ok := config.Get(scope); ok {
		set.Scope = strings.ToLower(value)
	}
	switch set.Scope {
	case snapshot.ScopeAll, snapshot.ScopeTracked, jjbridge.ScopeOff:
	default:
		return badSetting(fmt.Errorf("%s is %q, but must be %s, %s or %s",
			scope, set.Scope, snapshot.ScopeAll, snapshot.ScopeTracked, jjbridge.ScopeOff))
	}
	var err error
	if set.MaxFile, err = config.Int(maxFile, jjbridge.DefaultMaxFile); err != nil {
		return badSetting(err)
	}
	if set.MaxFile <= 0 {
		return badSetting(fmt.Errorf("%s is %d, but must be above 0", maxFile, set.MaxFile))
	}
	return nil
}

// badSetting returns a usage error that wraps err, with a hint that names the list of settings.
func badSetting(err error) error {
	return fault.New(fault.Usage, "%w", err).Hint("`git smithers help scripting` lists the settings")
}

// variables maps each environment variable to the setting that the variable overrides.
var variables = map[string]string{
	"GIT_SMITHERS_CALL_LOG":           "smithers.calllog",
	"GIT_SMITHERS_FSYNC":              "smithers.fsync",
	"GIT_SMITHERS_MAX_DEPTH":          "smithers.maxdepth",
	"GIT_SMITHERS_MAX_KEY":            "smithers.maxkey",
	"GIT_SMITHERS_MAX_VALUE":          "smithers.maxvalue",
	"GIT_SMITHERS_FRAME_REFS":         "smithers.framerefs",
	"GIT_SMITHERS_PUSH_FILES":         "smithers.pushfiles",
	"GIT_SMITHERS_REMOTE":             "smithers.remote",
	"GIT_SMITHERS_REMOTE_FRAME_REFS":  "smithers.remoteframerefs",
	"GIT_SMITHERS_SANDBOX":            "smithers.sandbox",
	"GIT_SMITHERS_SEAL":               "smithers.seal",
	"GIT_SMITHERS_SECRETS":            "smithers.secrets",
	"GIT_SMITHERS_SESSION_DURABILITY": "smithers.session.durability",
	"GIT_SMITHERS_SESSION_EVERY":      "smithers.session.every",
	"GIT_SMITHERS_SESSION_INCLUDE":    "smithers.session.include",
	"GIT_SMITHERS_SESSION_KEEP":       "smithers.session.keep",
	"GIT_SMITHERS_SESSION_PUSH":       "smithers.session.push",
	"GIT_SMITHERS_SESSION_TRANSCRIPT": "smithers.session.transcript",
	"GIT_SMITHERS_SECRETS_FILE":       "smithers.secretsfile",
	"GIT_SMITHERS_STALE_AFTER":        "smithers.staleafter",
	"GIT_SMITHERS_WORKTREE":           "smithers.worktree",
	"GIT_SMITHERS_WORKTREE_MAX_FILE":  "smithers.worktreemaxfile",
}

// withEnvironment returns a copy of config in which the settings of the environment replace the settings of config. A
// variable with an empty value replaces its setting, too. The result is never nil.
func withEnvironment(config gitexec.Config, env []string) gitexec.Config {
	out := maps.Clone(config)
	if out == nil {
		out = make(gitexec.Config)
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if key, ok := variables[name]; ok {
			out[key] = []string{value}
		}
	}
	return out
}
