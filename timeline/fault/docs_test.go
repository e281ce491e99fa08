package fault_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// docs/errors.md has a section for every code, under the heading of its exit status.
func TestEveryCodeIsDocumentedUnderItsExitStatus(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/errors.md")
	require.NoError(t, err)
	documented := make(map[fault.Code]int)
	exit := -1
	heading := regexp.MustCompile(`(?m)^(##|###) (.*)$`)
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "##" {
			number := regexp.MustCompile(`\d+`).FindString(m[2])
			exit, err = strconv.Atoi(number)
			require.NoError(t, err, m[0])
			continue
		}
		documented[fault.Code(m[2])] = exit
	}
	for code, exit := range fault.Codes() {
		if code == fault.Terminated {
			exit = 130
		}
		assert.Equal(t, exit, documented[code], "exit status of %s", code)
	}
	assert.Len(t, documented, len(fault.Codes()))
}

func TestAWrappedFaultKeepsItsCode(t *testing.T) {
	t.Parallel()
	cause := os.ErrNotExist
	err := fault.New(fault.RunNotFound, "read run: %w", cause).Hint("look again")
	assert.ErrorIs(t, err, cause)
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
	assert.Equal(t, 10, err.Exit())
	assert.Equal(t, fault.Internal, fault.CodeOf(cause))
}
