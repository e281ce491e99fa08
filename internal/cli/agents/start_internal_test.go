package agents

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestARequiredSandboxStartsNoAgentOnASessionOfSomebodyElse(t *testing.T) {
	t.Parallel()
	course := &agent.Course{Dir: "there", Command: []string{"agent"}}
	err := mayStart(nil, course, true, true)
	assert.Equal(t, fault.Unconfirmed, fault.CodeOf(err))
	assert.NoError(t, mayStart(nil, course, true, false))
	course.Recorded = true
	assert.NoError(t, mayStart(nil, course, false, true))
}
