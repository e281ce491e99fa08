package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAfterAFailureThePlainRetryIsNamedFirst(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true'}, {id: b, needs: [a], run: 'exit 3'}]}`, "")
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Equal(t, []string{"`git smithers resume r` retries the failed tasks", "`git smithers logs r b` shows the task's log"}, hints(err))
}
