package workflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATemplateIsBounded(t *testing.T) {
	t.Parallel()
	e := parseError(t, `{name: w, tasks: [{id: x, human: "`+strings.Repeat("x", 65537)+`"}]}`)
	assert.Equal(t, "wf.yaml:1: human: longer than 65536 bytes", e.Error())
	e = parseError(t, `{name: w, tasks: [{id: x, human: "{`+strings.Repeat("1+", 3000)+`1}"}]}`)
	assert.Contains(t, e.Error(), "longer than 4096 bytes")
}
