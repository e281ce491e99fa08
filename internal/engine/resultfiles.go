package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// Variables with which a command is told where its result goes.
const (
	outputVariable = "SMITHERS_OUTPUT" // a file for the result, in place of stdout
	usageVariable  = "SMITHERS_USAGE"  // a file for what the command used
)

// usageTable is the table of the rows that say what attempts used.
const usageTable = "usage"

// maxUsage is the largest size of a usage in bytes.
const maxUsage = 64 << 10

// resultFiles are the files that a command may write its result and its usage to. A path is "" where it has none.
type resultFiles struct{ output, usage string }

// newResultFiles makes the files beside the file for tool calls. Without that, the command has none.
func (j *job) newResultFiles() (resultFiles, error) {
	var f resultFiles
	if j.callFile == "" {
		return f, nil
	}
	if j.schema != nil {
		f.output = j.callFile + ".output"
	}
	if j.task.Output != usageTable {
		f.usage = j.callFile + ".usage"
	}
	for _, path := range []string{f.output, f.usage} {
		if path == "" {
			continue
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return resultFiles{}, err
		}
	}
	return f, nil
}

// env returns the variables that name the files.
func (f resultFiles) env() []string {
	return []string{outputVariable + "=" + f.output, usageVariable + "=" + f.usage}
}

// remove removes the files. Errors are ignored: the end of the run removes their folder.
func (f resultFiles) remove() {
	_ = os.Remove(f.output)
	_ = os.Remove(f.usage)
}

// result returns what the command has written to its file, or nil if that is nothing. Of more than limit bytes, it returns limit + 1.
func (f resultFiles) result(limit int64) []byte { return readSome(f.output, limit) }

// used returns the usage that the command has left, or nil if there is none. The error says what is wrong with it.
func (f resultFiles) used() (json.RawMessage, error) {
	text := readSome(f.usage, maxUsage)
	if len(text) == 0 {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if len(text) > maxUsage || json.Unmarshal(text, &members) != nil {
		return nil, fmt.Errorf("%s must get a JSON object of at most %d bytes: it is left out", usageVariable, maxUsage)
	}
	return bytes.TrimSpace(text), nil
}

// readSome returns at most limit + 1 bytes of a regular file; nil if it cannot be read.
func readSome(path string, limit int64) []byte {
	file, err := fsx.OpenRegular(path)
	if err != nil { // the command may have put something else there
		return nil
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil
	}
	return text
}
