package gitexec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrConfig is wrapped by the errors about configuration values that git would refuse.
var ErrConfig = errors.New("bad configuration value")

// Config is git configuration: a list of values for each key. git prints each key with its section and its name in
// lower case, and Config has the keys as printed. The last value has the highest precedence. A key without a value,
// which means true in git, has the value "true".
type Config map[string][]string

// Get returns the effective value of a key, which is its last value. ok is false if the key is not set.
// Get ignores the case of the key's section and name.
func (c Config) Get(key string) (value string, ok bool) {
	values := c[canonicalKey(key)]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// Bool returns the value of a key as a git boolean, or def if the key is not set. The booleans are true, yes, on,
// false, no, off and the empty text, in any case of letters, and integers. The empty text and the integer 0 are false,
// and any other integer is true. The error wraps [ErrConfig] if the value is not a boolean.
func (c Config) Bool(key string, def bool) (bool, error) {
	value, ok := c.Get(key)
	if !ok {
		return def, nil
	}
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true, nil
	case "false", "no", "off", "":
		return false, nil
	}
	n, err := parseInt(value)
	if err != nil {
		return false, fmt.Errorf("%w: %s is not a boolean: %q", ErrConfig, key, value)
	}
	return n != 0, nil
}

// Int returns the value of a key as a git integer, in which a final k, m or g means a power of 1024. It
// returns def if the key is not set. The error wraps [ErrConfig] if the value is not an integer or too
// large.
func (c Config) Int(key string, def int64) (int64, error) {
	value, ok := c.Get(key)
	if !ok {
		return def, nil
	}
	n, err := parseInt(value)
	if err != nil {
		return 0, fmt.Errorf("%w: %s is not an integer: %q", ErrConfig, key, value)
	}
	return n, nil
}

// parseInt returns the value of a git integer, with an optional final k, m or g. It returns an error if s is
// not an integer or is too large.
func parseInt(s string) (int64, error) {
	shift := 0
	if s != "" {
		switch s[len(s)-1] {
		case 'k', 'K':
			shift = 10
		case 'm', 'M':
			shift = 20
		case 'g', 'G':
			shift = 30
		}
	}
	digits := s
	if shift > 0 {
		digits = s[:len(s)-1]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, err
	}
	if n<<shift>>shift != n { // the shift has lost bits
		return 0, strconv.ErrRange
	}
	return n << shift, nil
}

// IsPartial reports whether the repository is a partial clone, in which git fetches missing objects from a remote when
// it needs them. The configuration of a partial clone sets extensions.partialClone, or the option promisor of a remote.
// IsPartial ignores a promisor that is not a boolean.
func (c Config) IsPartial() bool {
	if _, ok := c["extensions.partialclone"]; ok {
		return true
	}
	for key := range c {
		if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") {
			if promises, err := c.Bool(key, false); err == nil && promises {
				return true
			}
		}
	}
	return false
}

// parseConfig returns the configuration in out, the output of git config --list -z. Each entry of out is a key, then a
// line feed and a value if the key has a value, then a NUL. A key without a value gets the value "true", as in git.
func parseConfig(out []byte) Config {
	config := make(Config)
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, found := strings.Cut(entry, "\n")
		if key == "" {
			continue
		}
		if !found {
			value = "true"
		}
		config[key] = append(config[key], value)
	}
	return config
}

// canonicalKey returns a key with its section and its name in lower case. It does not change the
// subsection.
func canonicalKey(key string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first == last {
		return strings.ToLower(key)
	}
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:])
}

// Fsyncs reports whether core.fsync asks for durability, as it does if it is not set. The value is a list of components
// that are switched on or, with a minus sign, off. Durability is off after "none" or "-all", unless a later
// component is switched on. Switching off other components does not turn durability off.
func (c Config) Fsyncs() bool {
	value, _ := c.Get("core.fsync")
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
