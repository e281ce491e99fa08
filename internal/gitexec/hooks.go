package gitexec

import (
	"os"
	"slices"
	"strings"
)

// NoHooks returns options with which git runs no hooks: neither those in a folder nor, from git 2.54 on, those in the configuration, which is
// config. Both kinds of hooks can run for the same event.
func NoHooks(config Config) []string {
	options := []string{"-c", "core.hooksPath=" + os.DevNull}
	// Git 2.55 can turn off an event, whatever the names of its hooks are. These are the events of the commands that this program runs.
	for _, event := range []string{"reference-transaction", "post-index-change", "post-checkout", "pre-push"} {
		options = append(options, "-c", "hook."+event+".enabled=false")
	}
	for key := range config {
		name, ok := strings.CutSuffix(key, ".event")
		switch {
		case !ok || !strings.HasPrefix(name, "hook."):
		case strings.Contains(name, "="): // would end the key in -c
			options = append(options, "--config-env="+name+".enabled=GIT_OPTIONAL_LOCKS") // which PlumbingEnv sets to 0
		default:
			options = append(options, "-c", name+".enabled=false")
		}
	}
	return options
}

// HasHook reports whether the configuration has a hook for event, perhaps one that is turned off. Git from 2.54 on runs such hooks.
func (c Config) HasHook(event string) bool {
	for key, values := range c {
		if strings.HasPrefix(key, "hook.") && strings.HasSuffix(key, ".event") && slices.Contains(values, event) {
			return true
		}
	}
	return false
}
