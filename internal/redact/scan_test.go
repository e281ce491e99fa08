package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// share returns the part of the bytes of a secret that the findings cover.
func share(secret [2]int, found []redact.Finding) float64 {
	covered := 0
	for _, f := range found {
		covered += max(0, min(secret[1], f.End)-max(secret[0], f.Start))
	}
	return float64(covered) / float64(secret[1]-secret[0])
}

func TestSecretsOfAllKindsAreFoundAndLookAlikesAreNot(t *testing.T) {
	t.Parallel()
	const samples = 1500
	s := redact.New()
	for _, seed := range []uint64{101, 102, 103} {
		m := newMaker(seed)
		caught, covered := 0, 0
		var missed strings.Builder
		for range samples {
			one := m.secretSample()
			found, least := s.Find([]byte(one.text)), 1.0
			for _, secret := range one.secrets {
				least = min(least, share(secret, found))
			}
			if least >= 0.5 {
				caught++
			} else {
				missed.WriteString(one.text + "\n")
			}
			if least >= 0.95 {
				covered++
			}
		}
		assert.GreaterOrEqual(t, caught, samples*97/100, missed.String())
		assert.GreaterOrEqual(t, covered, samples*96/100)

		var alarms strings.Builder
		wrong := 0
		for range samples {
			one := m.encode(m.fill(harmless[m.IntN(len(harmless))]))
			if found := s.Find([]byte(one.text)); len(found) > 0 {
				wrong++
				alarms.WriteString(found[0].Rule + ": " + one.text + "\n")
			}
		}
		assert.LessOrEqual(t, wrong, samples*25/1000, alarms.String())
		t.Logf("seed %d: caught %d, covered %d, false alarms %d of %d", seed, caught, covered, wrong, samples)
	}
}

func TestFindingsAreSortedAndInsideTheText(t *testing.T) {
	t.Parallel()
	m, s := newMaker(7), redact.New()
	var text strings.Builder
	for range 200 {
		text.WriteString(m.secretSample().text)
	}
	last := 0
	for _, f := range s.Find([]byte(text.String())) {
		require.GreaterOrEqual(t, f.Start, last)
		require.Greater(t, f.End, f.Start)
		require.LessOrEqual(t, f.End, text.Len())
		require.NotEmpty(t, f.Rule)
		last = f.End
	}
	assert.Positive(t, last)
}

func TestFindDoesNotModifyTheText(t *testing.T) {
	t.Parallel()
	m := newMaker(8)
	for range 100 {
		text := []byte(m.secretSample().text)
		before := string(text)
		redact.New().Find(text)
		require.Equal(t, before, string(text))
	}
}

func FuzzFind(f *testing.F) {
	m, s := newMaker(9), redact.New()
	for range 50 {
		f.Add([]byte(m.secretSample().text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		last := 0
		for _, found := range s.Find(text) {
			if found.Start < last || found.End <= found.Start || found.End > len(text) {
				t.Fatalf("%+v after %d in %d bytes", found, last, len(text))
			}
			last = found.End
		}
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		redact.New()
	}
}

func BenchmarkFind(b *testing.B) {
	m := newMaker(10)
	var log, mixed, dense strings.Builder
	for log.Len() < 1<<20 {
		log.WriteString(m.fill("{T} INFO worker {d1} finished step {d2} of build in {d4} ms, {d2} files changed\n"))
	}
	for mixed.Len() < 1<<20 {
		mixed.WriteString(m.fill(strings.Repeat("{T} INFO worker {d1} finished step {d2}\n", 20) + harmless[m.IntN(len(harmless))]))
		if m.IntN(10) == 0 {
			mixed.WriteString(m.secretSample().text)
		}
	}
	for dense.Len() < 1<<20 {
		dense.WriteString(m.secretSample().text)
	}
	for name, text := range map[string]string{"log": log.String(), "mixed": mixed.String(), "secrets": dense.String(), "5kB": mixed.String()[:5000]} {
		b.Run(name, func(b *testing.B) {
			s := redact.New()
			s.Find([]byte(text)) // compiles the patterns
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Find([]byte(text))
			}
		})
	}
}
