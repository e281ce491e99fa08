package workflow

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
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

// VariantTask returns the id of the task that calls the variant with a number. The first variant has number 1.
func VariantTask(number int) string { return strconv.Itoa(number) }

// VariantOf returns the number of the variant that a task of a sweep calls, or 0 if the task calls none.
func VariantOf(task string) int {
	if n, err := strconv.Atoi(task); err == nil && n > 0 && VariantTask(n) == task {
		return n
	}
	return 0
}
