package timeline

import (
	"fmt"
	"maps"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// settings are the configuration that the core obeys. Precedence: environment,
// git configuration, default.
type settings struct {
	fsync  bool
	limits snapshot.Limits
}

// readSettings reads git's core.fsync, and smithers.fsync, smithers.maxDepth,
// smithers.maxKey and smithers.maxValue with the variables of their names.
func readSettings(config gitexec.Config, env []string) (settings, error) {
	set := settings{fsync: true}
	if value, ok := config.Get("core.fsync"); ok {
		set.fsync = fsyncs(value)
	}
	config = withEnvironment(config, env)
	var err error
	if set.fsync, err = config.Bool("smithers.fsync", set.fsync); err != nil {
		return settings{}, badSetting(err)
	}
	for key, limit := range map[string]*int{
		"smithers.maxdepth": &set.limits.Depth,
		"smithers.maxkey":   &set.limits.Key,
		"smithers.maxvalue": &set.limits.Value,
	} {
		value, err := config.Int(key, 0)
		if err != nil {
			return settings{}, badSetting(err)
		}
		if value < 0 {
			return settings{}, badSetting(fmt.Errorf("%s is negative: %d", key, value))
		}
		*limit = int(value)
	}
	return set, nil
}

func badSetting(err error) error {
	return fault.New(fault.Usage, "%w", err).Hint("docs/scripting.md lists the settings")
}

// variables are the environment's names of settings.
var variables = map[string]string{
	"GIT_SMITHERS_FSYNC":     "smithers.fsync",
	"GIT_SMITHERS_MAX_DEPTH": "smithers.maxdepth",
	"GIT_SMITHERS_MAX_KEY":   "smithers.maxkey",
	"GIT_SMITHERS_MAX_VALUE": "smithers.maxvalue",
}

// withEnvironment is config with the settings of the environment as the strongest.
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

// fsyncs reads git's core.fsync, a list of components that are switched on and,
// with a minus sign, off. Only a list that leaves nothing on turns durability off.
func fsyncs(value string) bool {
	on := true
	for component := range strings.SplitSeq(value, ",") {
		switch component = strings.TrimSpace(component); {
		case component == "none" || component == "-all":
			on = false
		case component != "" && component[0] != '-':
			on = true
		}
	}
	return on
}
