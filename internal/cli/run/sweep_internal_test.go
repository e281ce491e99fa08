package run

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

func TestABudgetHasLimitsWithUnits(t *testing.T) {
	t.Parallel()
	got, err := parseBudget(sweepCommand(), []string{"tokens=2M", "usd=0.5,time=1h30m"})
	require.NoError(t, err)
	assert.Equal(t, &workflow.SweepBudget{Tokens: 2_000_000, CostUSD: 0.5, TimeMs: 90 * 60 * 1000}, got)
	got, err = parseBudget(sweepCommand(), []string{"tokens=1.5k"})
	require.NoError(t, err)
	assert.Equal(t, int64(1500), got.Tokens)
	for _, text := range []string{"", "tokens", "tokens=", "tokens=x", "tokens=-1", "tokens=0", "tokens=1kk", "usd=NaN", "usd=Inf", "time=5", "time=-1h", "euros=1", "tokens=1,"} {
		_, err := parseBudget(sweepCommand(), []string{text})
		require.ErrorContains(t, err, "--budget cannot have", text)
	}
}

func TestAnAxisHasJSONAndTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a=1,b,true": `[1,"b",true]`, `a=["x,y",[1]]`: `["x,y",[1]]`, "a=[1": `["[1"]`, "a=x=y": `["x=y"]`, "a=,": `["",""]`,
	} {
		key, values, err := parseAxis(sweepCommand(), text)
		require.NoError(t, err, text)
		assert.Equal(t, "a", key)
		got, err := json.Marshal(values)
		require.NoError(t, err)
		assert.Equal(t, want, string(got), text)
	}
	for _, text := range []string{"", "a", "a=", "=1"} {
		_, _, err := parseAxis(sweepCommand(), text)
		require.Error(t, err, text)
	}
}

func TestAxesMultiplyVariants(t *testing.T) {
	t.Parallel()
	variants, names := multiply([]json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`{`)}, []string{"f:1", ""}, "b", []json.RawMessage{json.RawMessage("2"), json.RawMessage(`"x"`)})
	assert.Equal(t, []json.RawMessage{json.RawMessage(`{"a":1,"b":2}`), json.RawMessage(`{"a":1,"b":"x"}`), json.RawMessage(`{`), json.RawMessage(`{`)}, variants)
	assert.Equal(t, []string{"f:1 b=2", `f:1 b="x"`, "b=2", `b="x"`}, names)
}
