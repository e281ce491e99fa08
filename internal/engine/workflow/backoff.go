package workflow

import (
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"go.yaml.in/yaml/v4"
)

// Bounds and defaults of the pauses between the tries of a task.
const (
	maxPause      = 5 * time.Minute // the longest pause before jitter
	defaultJitter = 0.25
)

// Backoff is how long a task rests after a failed try, before the next one. The zero Backoff means no rest.
type Backoff struct {
	First  time.Duration // after the first failed try; twice as long after each further one, up to five minutes
	Jitter float64       // from 0 to 1: the largest part of a pause by which it is shorter or longer
}

// Pause returns how long to rest after so many failed tries. key names the attempt that failed: the same attempt has the same pause,
// whichever process waits, and those of different attempts spread.
func (b Backoff) Pause(tries int, key string) time.Duration {
	if b.First <= 0 || tries < 1 {
		return 0
	}
	pause := maxPause
	if doublings := tries - 1; doublings < 30 && b.First <= maxPause>>doublings {
		pause = b.First << doublings
	}
	spread := float64(xxhash.Sum64String(key)>>11) / (1 << 53) // from 0 to 1
	return time.Duration(float64(pause) * (1 + b.Jitter*(2*spread-1)))
}

// retries reads the key retries of a task: a number, or a mapping with the number and the pauses.
func (p *values) retries(n *yaml.Node, t *Task) {
	at := p.follow(n)
	if at == nil || at.Kind != yaml.MappingNode {
		t.Retries = p.integer(n, "retries", 0, maxRetries)
		return
	}
	p.object(n, "retries", keys{
		{"max", func(n *yaml.Node) { t.Retries = p.integer(n, "max", 0, maxRetries) }},
		{"backoff", func(n *yaml.Node) {
			t.Backoff.First, t.Backoff.Jitter = p.duration(n, "backoff"), defaultJitter
			if t.Backoff.First > maxPause {
				p.fail(n, "", "backoff must be at most %v, not %v", maxPause, t.Backoff.First)
			}
		}},
		{"jitter", func(n *yaml.Node) {
			if t.Backoff.Jitter = p.number(n, "jitter", "", 0, 1); !hasKey(at, "backoff") {
				p.fail(n, "", "jitter needs a backoff")
			}
		}},
	})
	if !hasKey(at, "max") {
		p.lacks(at, "write retries: {max: 3, backoff: 1s}", "retries has no max")
	}
}

// renderBackoff adds the pauses between tries to props. It adds nothing if there are none.
func renderBackoff(props map[string]string, b Backoff) {
	if b.First == 0 {
		return
	}
	props["backoffMs"] = strconv.FormatInt(b.First.Milliseconds(), 10)
	props["jitter"] = strings.TrimSuffix(strconv.FormatFloat(b.Jitter, 'f', -1, 64), ".0")
}
