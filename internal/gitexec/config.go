package gitexec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrConfig is wrapped by the errors for configuration values that git would refuse.
var ErrConfig = errors.New("bad configuration value")

// Config is git configuration: keys as git prints them, with section and name in
// lower case, and each key's values from the weakest to the strongest. A key that
// stands without a value, which is git's short way to say true, has the value "true".
type Config map[string][]string

// Get is the value of a key that counts, the last one. Upper and lower case of the
// key's section and name are the same.
func (c Config) Get(key string) (value string, ok bool) {
	values := c[canonicalKey(key)]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// Bool is the value of a key read as git reads booleans, def when it is not set.
// The error wraps ErrConfig.
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

// Int is the value of a key read as git reads integers, with k, m and g for powers
// of 1024, and def when it is not set. The error wraps ErrConfig.
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
	if n<<shift>>shift != n {
		return 0, strconv.ErrRange
	}
	return n << shift, nil
}

// IsPartial reports whether the repository is a partial clone: some remote promises objects that it lacks, and git
// fetches them when it needs them.
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

// parseConfig reads what git config --list -z prints: entries that end with a NUL,
// each a key, and a line feed and a value if it has one.
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

// canonicalKey puts a key's section and name, but not its subsection, in lower case.
func canonicalKey(key string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first == last {
		return strings.ToLower(key)
	}
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:])
}
