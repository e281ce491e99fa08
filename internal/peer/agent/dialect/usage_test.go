package dialect

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCostsAddUpAsPeopleWouldAddThem(t *testing.T) {
	t.Parallel()
	line := `{"type":"message","id":"m","message":{"role":"assistant","content":[],"usage":{"input":1,"cost":{"total":0.1}}}}`
	var sum Usage
	for range 3 {
		sum = sum.Add(readPi([]byte(line)).Usage)
	}
	text, err := json.Marshal(sum)
	require.NoError(t, err)
	assert.JSONEq(t, `{"costUsd":0.3,"inputTokens":3,"outputTokens":0,"cacheReadTokens":0,"cacheCreationTokens":0}`, string(text))
	assert.InDelta(t, 0.02, readOpencode([]byte(`{"type":"message","info":{"id":"m","role":"assistant","cost":0.02,"time":{"created":1,"completed":2}}}`)).Usage.Cost, 1e-9)
	for _, cost := range []float64{-1, math.NaN(), math.Inf(1), 1e300} {
		assert.Zero(t, roundCost(cost))
	}
}
