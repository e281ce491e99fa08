package engine

import (
	"errors"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// DetailFlaws is the detail of an invalid_workflow error that lists all flaws of the file, as
// []Flaw. It is there if there are several.
const DetailFlaws = "flaws"

// maxFlaws is how many flaws of a file are found at most.
const maxFlaws = 100

// Flaw is one thing that is wrong with a workflow file.
type Flaw struct {
	Line    int    `json:"line"` // 0 for the file as a whole
	Message string `json:"message"`
	Hint    string `json:"hint"` // "" for none
}

// errToldBefore ends a part that lacks something, where a key that is not known has been told.
var errToldBefore = errors.New("what is missing may be what is misspelt")

// part reads a part of the file, and goes on behind what is wrong in it.
func (r *reader) part(read func()) {
	if r.err != nil {
		return
	}
	read()
	r.settle()
}

// key reads the part under a key, if it is there.
func (r *reader) key(fields map[string]*yaml.Node, key string, read func(*yaml.Node)) {
	if n := fields[key]; n != nil {
		r.part(func() { read(n) })
	}
}

// lacks is fail about something that a mapping does not have. A mapping with a key that is not
// known has been told of already.
func (r *reader) lacks(at *yaml.Node, hint, format string, args ...any) {
	if r.strange[at] && r.err == nil {
		r.err = errToldBefore
		return
	}
	r.fail(at, hint, format, args...)
}

// settle notes the error of a part, so that the next part can be read.
func (r *reader) settle() {
	if r.err == nil || r.fatal {
		return
	}
	if flaw, ok := errors.AsType[*fault.Error](r.err); ok {
		r.flaws = append(r.flaws, flaw)
	}
	if r.fatal = len(r.flaws) == maxFlaws; !r.fatal {
		r.err = nil
	}
}

// flawed is what is wrong with the file as one error; nil for nothing.
func (r *reader) flawed() error {
	all := r.flaws
	if last, ok := errors.AsType[*fault.Error](r.err); ok && (len(all) == 0 || all[len(all)-1] != last) {
		all = append(all, last)
	}
	if len(all) < 2 {
		if len(all) == 0 {
			return nil
		}
		return all[0]
	}
	flaws := make([]Flaw, len(all))
	for i, e := range all {
		line, _ := e.Details["line"].(int)
		flaws[i] = Flaw{Line: line, Message: e.Msg}
		if len(e.Hints) > 0 {
			flaws[i].Hint = e.Hints[0]
		}
	}
	return all[0].Detail(DetailFlaws, flaws)
}
