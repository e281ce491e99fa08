package stateexpr

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAnExpressionThatTakesTooLongIsAnError(t *testing.T) {
	t.Parallel()
	list := strings.TrimSuffix(strings.Repeat("1,", 150), ",")
	v := &Values{Input: json.RawMessage(`{"a":[` + list + `]}`)}
	e, err := Compile("by", "count(input.a, count(input.a, count(input.a, # > 1) > 1) > 1)")
	require.NoError(t, err)
	e.limit = time.Microsecond
	for range 2 {
		_, _, err = e.Number(v)
		assert.Equal(t, fault.InvalidExpression, fault.CodeOf(err))
		require.ErrorContains(t, err, "takes longer than 2s")
	}
}

func TestARunWithoutAValueIsAWarningAmongMany(t *testing.T) {
	t.Parallel()
	var warned []error
	lenient := Lenient(func(err error) { warned = append(warned, err) })
	other := fault.New(fault.RunNotFound, "gone")
	for range 2 {
		require.NoError(t, lenient(fault.New(fault.InvalidExpression, "no value")))
	}
	assert.Len(t, warned, 1)
	assert.Equal(t, error(other), lenient(other))
	require.NoError(t, lenient(nil))
}
