package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/timeline"
)

// The names of the workflows of groups.
const (
	SweepName   = "sweep"
	CoursesName = "courses" // of a session
)

// sweepKey is the key that says that a definition is the workflow of a sweep. Files cannot have it.
const sweepKey = "sweep"

// sweptNames matches the names under which NewSweep keeps the swept workflow.
var sweptNames = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)

// NewSweep returns the workflow of a sweep with n variants: for each of them, a task that calls wf. The ids of the tasks are 1, 2, 3, … A variant
// that fails does not keep the others from starting. name is that of the sweep. file is the path of the workflow file, or "".
func NewSweep(name string, wf *Workflow, file string, n int) (*Workflow, error) {
	own, texts := unbundle(wf.definition)
	swept := path.Base(file)
	if !sweptNames.MatchString(swept) {
		swept = "workflow.yaml"
	}
	for texts[swept] != nil {
		swept = "_" + swept
	}
	texts[swept] = own
	var out bytes.Buffer
	fmt.Fprintf(&out, "name: %s\n%s: true\ninput: {type: object, required: [variants]}\ntasks:\n", name, sweepKey)
	for i := range n {
		fmt.Fprintf(&out, "  - {id: %q, workflow: %q, continue-on-error: true}\n", VariantTask(i+1), swept)
	}
	names := slices.Sorted(maps.Keys(texts))
	slices.Reverse(names) // the mark of the shell's rule has no text, and comes last
	for _, name := range names {
		fmt.Fprintf(&out, "%s%s\n%s", bundleMark, name, texts[name])
		if text := texts[name]; len(text) > 0 && text[len(text)-1] != '\n' {
			out.WriteByte('\n')
		}
	}
	return Stored("the sweep of "+wf.Name, out.Bytes())
}

// IsSweep reports whether a stored definition is one that NewSweep has made.
func IsSweep(definition []byte) bool {
	_, after, ok := bytes.Cut(definition, []byte("\n"))
	return ok && bytes.HasPrefix(definition, []byte("name: ")) && bytes.HasPrefix(after, []byte(sweepKey+": true\n"))
}

// IsCourses reports whether the workflow is that of a group of courses of a session.
func (w *Workflow) IsCourses() bool { return w.Sweep && w.Name == CoursesName }

// VariantTask returns the id of the task that calls the variant with a number. The first variant has number 1.
func VariantTask(number int) string { return strconv.Itoa(number) }

// VariantOf returns the number of the variant that a task of a sweep calls, or 0 if the task calls none.
func VariantOf(task string) int {
	if n, err := strconv.Atoi(task); err == nil && n > 0 && VariantTask(n) == task {
		return n
	}
	return 0
}

// MaxVariants is the largest number of variants of a sweep.
const MaxVariants = 500

// maxSweepParallel is the largest number of variants that work at once.
const maxSweepParallel = 100

// editPrefix begins the members of a variant that edit results of the frame from which a sweep forks.
const editPrefix = "outputs."

// A SweepPlan is the input of a sweep.
type SweepPlan struct {
	// Variants has an object for each variant, whose members are merged over the input. With From, a member whose name is a path that begins with
	// outputs edits a result, as timeline.Edit does.
	Variants []json.RawMessage `json:"variants"`
	Input    json.RawMessage   `json:"input,omitempty"`    // of all variants; nil: none, or with From that of the frame
	From     string            `json:"from,omitempty"`     // the address of the frame that the variants fork; "": they are new runs
	Parallel int               `json:"parallel,omitempty"` // how many variants work at once; 0 means one
	StopWhen string            `json:"stopWhen,omitempty"` // a condition on an ended variant after which no other starts; "": none
	By       string            `json:"by,omitempty"`       // the expression whose highest value is best; "": none
	Budget   *SweepBudget      `json:"budget,omitempty"`
	InPlace  bool              `json:"inPlace,omitempty"` // the variants share the working copy of the sweep

	// Of courses of a session: their runs, whether their agents are started without a terminal, and the flags that the agents then get.
	Courses []string `json:"courses,omitempty"`
	Start   bool     `json:"start,omitempty"`
	Flags   []string `json:"flags,omitempty"`
}

// Course returns the run of the course with a number, or "" if the plan has none.
func (p *SweepPlan) Course(number int) string {
	if number < 1 || number > len(p.Courses) {
		return ""
	}
	return p.Courses[number-1]
}

// A SweepBudget has the limits that no variant may start beyond. 0 means no limit.
type SweepBudget struct {
	Tokens  int64   `json:"tokens,omitempty"` // that went in and out
	CostUSD float64 `json:"costUsd,omitempty"`
	TimeMs  int64   `json:"timeMs,omitempty"` // since a process began or resumed the sweep
}

// ReadSweepPlan reads the input of a sweep.
func ReadSweepPlan(input json.RawMessage) (*SweepPlan, error) {
	p := new(SweepPlan)
	if err := json.Unmarshal(input, p); err != nil {
		return nil, fmt.Errorf("the input of the sweep: %w", err)
	}
	for i, v := range p.Variants {
		if !jsontext.IsObject(v) {
			return nil, fmt.Errorf("the input of the sweep: variant %d is not an object", i+1)
		}
	}
	p.Parallel = min(max(p.Parallel, 1), maxSweepParallel)
	return p, nil
}

// Variant returns the input of the variant with a number, or nil if the plan gives none, and its edits. With From, the input is merged over that of
// the frame.
func (p *SweepPlan) Variant(number int) (input json.RawMessage, edits []timeline.Edit, err error) {
	if number < 1 || number > len(p.Variants) {
		return nil, nil, fmt.Errorf("the sweep has no variant %d", number)
	}
	var members, own jsontext.Members
	if err := json.Unmarshal(p.Variants[number-1], &members); err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		if p.From != "" && strings.HasPrefix(m.Name, editPrefix) {
			edits = append(edits, timeline.Edit{Path: m.Name, Value: m.Value})
		} else {
			own = append(own, m)
		}
	}
	if len(own) == 0 {
		return p.Input, edits, nil
	}
	over, err := jsontext.Encode(own)
	if err == nil {
		input, err = timeline.MergeInput(p.Input, over)
	}
	return input, edits, err
}

// Members returns the names of the members that variants set, each once, in the order in which they come first.
func (p *SweepPlan) Members() []string {
	names, seen := []string{}, make(map[string]bool)
	for _, v := range p.Variants {
		var members jsontext.Members
		if json.Unmarshal(v, &members) != nil {
			continue // ReadSweepPlan has refused it
		}
		for _, m := range members {
			if !seen[m.Name] {
				seen[m.Name], names = true, append(names, m.Name)
			}
		}
	}
	return names
}
