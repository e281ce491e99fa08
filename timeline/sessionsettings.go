package timeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// SessionSettings has the settings about sessions of coding agents: smithers.session.*.
type SessionSettings struct {
	// Durable puts each frame of a session on stable storage before a hook returns. Otherwise a session is whole after a power cut,
	// and may lack its last frames.
	Durable    bool
	Every      int           // the number of batches of tool calls after which a frame is made; 1 by default
	Keep       time.Duration // how long a session stays after it has ended; 0 means forever
	Push       bool          // a push of all runs includes sessions
	Transcript Transcript
	Include    []string // patterns, as in .gitignore, of ignored files that are captured in frames of sessions

	wrong error // about a setting with a wrong value, in whose place the default is
}

// Transcript says how much of an agent's conversation is stored.
type Transcript string

// The values of smithers.session.transcript.
const (
	TranscriptSlim   Transcript = "slim"   // without the vendor's own texts and without images: the default
	TranscriptImages Transcript = "images" // without the vendor's own texts
	TranscriptFull   Transcript = "full"   // everything
	TranscriptOff    Transcript = "off"    // nothing
)

// defaultKeep is the time after which an ended session is pruned.
const defaultKeep = 30 * 24 * time.Hour

// read sets the settings to the values in config, or to their defaults. Code: usage if a value is invalid.
func (set *SessionSettings) read(config gitexec.Config) (err error) {
	*set = SessionSettings{Every: 1, Keep: defaultKeep, Transcript: TranscriptSlim}
	for _, value := range config["smithers.session.include"] {
		for pattern := range strings.SplitSeq(value, "\n") {
			if set.Include = append(set.Include, pattern); value == "" {
				set.Include = nil // as in git, an empty value takes back those before it
			}
		}
	}
	durability, err := oneOf(config, "smithers.session.durability", "process", "durable")
	if err != nil {
		return err
	}
	set.Durable = durability == "durable"
	transcript, err := oneOf(config, "smithers.session.transcript", string(TranscriptSlim), string(TranscriptImages), string(TranscriptFull), string(TranscriptOff))
	if err != nil {
		return err
	}
	set.Transcript = Transcript(transcript)
	every, err := config.Int("smithers.session.every", 1)
	if err == nil && every < 1 {
		err = fmt.Errorf("smithers.session.every is %d, but must be at least 1", every)
	}
	if err != nil {
		return badSetting(err)
	}
	set.Every = int(every)
	if set.Push, err = config.Bool("smithers.session.push", false); err != nil {
		return badSetting(err)
	}
	if value, ok := config.Get("smithers.session.keep"); ok {
		if set.Keep, err = keepOf(value); err != nil {
			return badSetting(fmt.Errorf("smithers.session.keep: %w", err))
		}
	}
	return nil
}

// oneOf returns the value of a key, which must be one of the values. The first one is the default.
func oneOf(config gitexec.Config, key string, values ...string) (string, error) {
	value, ok := config.Get(key)
	if !ok {
		return values[0], nil
	}
	value = strings.ToLower(value)
	if !slices.Contains(values, value) {
		return "", badSetting(fmt.Errorf("%s is %q, but must be one of %s", key, value, strings.Join(values, ", ")))
	}
	return value, nil
}

// keepOf returns a time to keep: "never" (0), a number of days as in 30d, or a duration as in 12h.
func keepOf(text string) (time.Duration, error) {
	if text == "never" {
		return 0, nil
	}
	const most = 100 * 365 // days
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("%q is not a number of days as in 30d, and not never", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a number of days as in 30d, and not never", text)
	}
	return d, nil
}
