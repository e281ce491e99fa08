package workflow

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// maxScorers is the maximum number of scorers of a task, with those of the workflow.
const maxScorers = 100

// Scorer is a command that gives the result of an attempt a number.
type Scorer struct {
	Name    string        // its id in scores
	Run     string        // the command, as written. ShellLine is what runs
	Rate    float64       // from 0 to 1: the part of the attempts that it scores
	Gate    *Gate         // what the score must be for the attempt to finish; nil if the score fails nothing
	Timeout time.Duration // 0 means DefaultScorerTimeout

	strict bool // see Shell
}

// DefaultScorerTimeout is the time that a scorer has if the workflow file sets none.
const DefaultScorerTimeout = 5 * time.Minute

// Limit returns how long the scorer may run.
func (s *Scorer) Limit() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultScorerTimeout
}

// Gate is what a score must be.
type Gate struct {
	Text string // as written, such as ">= 0.8"

	comparison string
	bound      float64
}

// comparisons are what a gate may begin with; none begins with one that stands behind it.
var comparisons = []string{">=", "<=", "==", "!=", ">", "<"}

// ParseGate reads a comparison and a number, such as ">= 0.8".
func ParseGate(text string) (*Gate, error) {
	trimmed := strings.TrimSpace(text)
	at := slices.IndexFunc(comparisons, func(c string) bool { return strings.HasPrefix(trimmed, c) })
	if at < 0 {
		return nil, fmt.Errorf("%q is not a comparison and a number, such as \">= 0.8\"", text)
	}
	number := strings.TrimSpace(trimmed[len(comparisons[at]):])
	bound, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(bound) || math.IsInf(bound, 0) {
		return nil, fmt.Errorf("%q is not a number", number)
	}
	return &Gate{Text: comparisons[at] + " " + number, comparison: comparisons[at], bound: bound}, nil
}

// Open reports whether the gate lets a score through.
func (g *Gate) Open(score float64) bool {
	switch g.comparison {
	case ">=":
		return score >= g.bound
	case "<=":
		return score <= g.bound
	case ">":
		return score > g.bound
	case "<":
		return score < g.bound
	case "!=":
		return score != g.bound
	default:
		return score == g.bound
	}
}

// Sampled reports whether a scorer with the given id and rate scores an attempt. The same attempt always has the same answer: Smithers
// 0.32 computes it in the same way.
func Sampled(rate float64, run, node string, iteration, attempt int, scorerID string) bool {
	if rate >= 1 {
		return true
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{run, node, strconv.Itoa(iteration), strconv.Itoa(attempt), scorerID}, " ")))
	return float64(binary.BigEndian.Uint64(sum[:8])>>16)/(1<<48) < rate
}

// scorers reads a list of scorers. what names the task or the workflow in messages.
func (p *parser) scorers(n *yaml.Node, what string) []*Scorer {
	var all []*Scorer
	for _, item := range p.list(n, "scorers") {
		p.part(func() {
			if s := p.scorer(item, what, all); s != nil {
				all = append(all, s)
			}
		})
	}
	return all
}

// scorer reads one scorer. before has the scorers of the same list.
func (p *parser) scorer(n *yaml.Node, what string, before []*Scorer) *Scorer {
	at := p.follow(n)
	if at == nil {
		return nil
	}
	if at.Kind != yaml.MappingNode {
		p.fail(n, "write - {name: judge, run: ./judge.sh}", "a scorer of %s must be a mapping, not %s", what, kindName(at))
		return nil
	}
	_, fields := p.mapping(n, "a scorer", scorerKeys.names())
	s := &Scorer{Name: p.required(at, fields, "a scorer", "name"), Rate: 1, strict: p.called.strict}
	p.checkID(fields["name"], "name", s.Name)
	s.Run = p.required(at, fields, "scorer "+s.Name, "run")
	if p.err != nil {
		return nil
	}
	for _, other := range before {
		if other.Name == s.Name {
			p.fail(fields["name"], "give every scorer a name of its own", "%s has two scorers with the name %q", what, s.Name)
		}
	}
	p.key(fields, "rate", func(n *yaml.Node) { s.Rate = p.number(n, "rate", "", 0, 1) })
	p.key(fields, "timeout", func(n *yaml.Node) { s.Timeout = p.duration(n, "timeout") })
	p.key(fields, "gate", func(n *yaml.Node) {
		gate, err := ParseGate(p.text(n, "gate"))
		switch {
		case p.err != nil:
		case err != nil:
			p.fail(n, "", "gate: %s", err)
		case fields["rate"] != nil:
			p.fail(n, "remove rate, or remove gate", "scorer %s has a gate, so it must score every attempt", s.Name)
		}
		s.Gate = gate
	})
	return s
}

// joinScorers gives each task with a command the scorers of the workflow, behind its own. A task's scorer takes the place of one of the
// workflow with the same name.
func (c *checker) joinScorers() {
	for _, t := range c.wf.Tasks {
		if t.Run == "" {
			continue
		}
		own := t.Scorers
		for _, s := range c.wf.Scorers {
			if !slices.ContainsFunc(own, func(other *Scorer) bool { return other.Name == s.Name }) {
				t.Scorers = append(t.Scorers, s)
			}
		}
		if len(t.Scorers) > maxScorers && c.err == nil {
			c.part(func() { c.failLine(t.line, "", "task %s has more than %d scorers", t.ID, maxScorers) })
		}
	}
}

// OwnScorers returns the scorers of the task that are not those of its workflow.
func (t *Task) OwnScorers(wf *Workflow) []*Scorer {
	return slices.DeleteFunc(slices.Clone(t.Scorers), func(s *Scorer) bool { return slices.Contains(wf.Scorers, s) })
}

// renderScorers adds the names of scorers to props. It adds nothing if there are none.
func renderScorers(props map[string]string, scorers []*Scorer) {
	if len(scorers) == 0 {
		return
	}
	names := make([]string, len(scorers))
	for i, s := range scorers {
		names[i] = s.Name
		if s.Gate != nil {
			names[i] += " " + s.Gate.Text
		}
	}
	props["scorers"] = strings.Join(names, ", ")
}
