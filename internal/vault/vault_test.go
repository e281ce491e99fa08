package vault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const secret = "correct-horse-battery-9"

// open returns a vault in dir, as a new process would.
func open(dir string, mode vault.Mode) *vault.Vault {
	return vault.New(vault.Options{
		Dir: dir, Fsync: true, Mode: mode,
		Finder: sync.OnceValues(func() (*redact.Finder, error) {
			return redact.NewFinder([]redact.Value{{Name: "CI_PASSWORD", Text: secret}, {Name: "OTHER", Text: "another-long-secret-8"}}), nil
		}),
	})
}

// book returns the book of a run that is no fork.
func book(v *vault.Vault, id string) *vault.Book { return v.Book(snapshot.Run{ID: id}, nil) }

var output = snapshot.Place{Collection: "outputs/report", Key: "write::0"}

func TestASecretIsTakenOutAndGivenBackWhereItWas(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vault")
	text := `{"token":"` + secret + `","note":"«secret:x:1»"}`
	stored, err := book(open(dir, vault.Redact), "r").RedactJSON(output, []byte(text), nil)
	require.NoError(t, err)
	want := `{"token":"«secret:CI_PASSWORD:1»","note":"««secret:x:1»"}`
	assert.Equal(t, want, string(stored))

	later := book(open(dir, vault.Redact), "r")
	whole, err := later.Reveal(output, stored)
	require.NoError(t, err)
	assert.Equal(t, text, string(whole))

	for name, c := range map[string]struct {
		at   snapshot.Place
		text string
	}{
		"at another key":        {snapshot.Place{Collection: "outputs/report", Key: "other::0"}, string(stored)},
		"in another collection": {snapshot.Place{Collection: "outputs/x", Key: "write::0"}, string(stored)},
		"in another member":     {snapshot.Place{Collection: "outputs/report", Key: "write::0", Member: "m"}, string(stored)},
		"in another text":       {output, `{"token":"«secret:CI_PASSWORD:1»"}`},
	} {
		_, err := later.Reveal(c.at, []byte(c.text))
		assert.Equal(t, fault.SecretMissing, fault.CodeOf(err), name)
		look, err := later.Look(c.at, []byte(c.text))
		require.NoError(t, err)
		assert.NotContains(t, string(look.Text), secret, name)
		assert.Equal(t, redact.Placeholder{Rule: "CI_PASSWORD", Number: 1}, look.Missing[0], name)
	}
	_, err = book(open(dir, vault.Redact), "other").Reveal(output, stored)
	assert.Equal(t, fault.SecretMissing, fault.CodeOf(err), "another run")
}

func TestTheFilesOfTheVaultArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vault")
	_, err := book(open(dir, vault.Redact), "r").RedactText(output, secret)
	require.NoError(t, err)
	for _, name := range []string{"r", ".lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestATextWithoutSecretsLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vault")
	b := book(open(dir, vault.Redact), "r")
	stored, err := b.RedactJSON(output, []byte(`{"a":1}`), nil)
	require.NoError(t, err)
	assert.Equal(t, `{"a":1}`, string(stored))
	whole, err := b.Reveal(output, stored)
	require.NoError(t, err)
	assert.Equal(t, `{"a":1}`, string(whole))
	require.NoError(t, b.Sync())
	assert.NoDirExists(t, dir)
}

func TestAForkHasTheSecretsOfItsParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stored, err := book(open(dir, vault.Redact), "parent").RedactJSON(output, []byte(`["`+secret+`"]`), nil)
	require.NoError(t, err)

	child := open(dir, vault.Redact).Book(snapshot.Run{ID: "child", Parent: &snapshot.Parent{RunID: "parent"}, Secrets: 1},
		func() []string { return []string{"parent"} })
	whole, err := child.Reveal(output, stored)
	require.NoError(t, err)
	assert.Equal(t, `["`+secret+`"]`, string(whole))
	again, err := child.RedactText(snapshot.Place{}, "x "+secret+" another-long-secret-8")
	require.NoError(t, err)
	assert.Equal(t, "x «secret:CI_PASSWORD:1» «secret:OTHER:2»", again, "the same secret has the same number, a new one the next")
	assert.Equal(t, 2, child.Highest())
}

// Text from the store is not judged again: it stays at the byte, gives back what it gave back before, and other secrets get the next numbers.
func TestStoredTextIsNeverRedactedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := book(open(dir, vault.Redact), "r")
	first := `{"prompt":"use ` + secret + ` and «secret:x:1»","n":1}`
	stored, err := b.RedactJSON(output, []byte(first), nil)
	require.NoError(t, err)
	before := string(stored)

	kept := strings.Index(before, `"use`)
	end := strings.Index(before, `,"n"`)
	next := `{"answer":"no another-long-secret-8 but «secret:y:2»",` + `"prompt":` + before[kept:end] + `}`
	at := strings.Index(next, before[kept:end])
	amended := func() ([]snapshot.Stored, error) { //nolint:unparam // as RedactJSON takes it
		quote := snapshot.Quote{At: output, Text: stored}
		return []snapshot.Stored{{Quote: quote, Kept: []snapshot.Kept{{Start: at, End: at + end - kept, Was: kept}}}}, nil
	}
	want := `{"answer":"no «secret:OTHER:2» but ««secret:y:2»","prompt":"use «secret:CI_PASSWORD:1» and ««secret:x:1»"}`
	again, err := b.RedactJSON(output, []byte(next), amended)
	require.NoError(t, err)
	assert.Equal(t, want, string(again))
	whole, err := book(open(dir, vault.Redact), "r").Reveal(output, again)
	require.NoError(t, err)
	assert.JSONEq(t, `{"answer":"no another-long-secret-8 but «secret:y:2»","prompt":"use `+secret+` and «secret:x:1»"}`, string(whole))

	t.Run("at another place", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		b := book(open(dir, vault.Redact), "r")
		quote := snapshot.Quote{At: snapshot.Place{Collection: "approvals", Key: "ok::0", Member: "note"}}
		quote.Text, err = b.RedactJSON(quote.At, []byte(`"`+secret+` «secret:x:1»"`), nil)
		require.NoError(t, err)
		next := []byte(`{"note":` + string(quote.Text) + `,"by":"«secret:x:1»"}`)
		got, err := book(open(dir, vault.Off), "r").RedactJSON(output, next, func() ([]snapshot.Stored, error) {
			return []snapshot.Stored{{Quote: quote, Kept: []snapshot.Kept{{Start: 8, End: 8 + len(quote.Text)}}}}, nil
		})
		require.NoError(t, err)
		want := `{"note":"«secret:CI_PASSWORD:1» ««secret:x:1»","by":"««secret:x:1»"}`
		assert.Equal(t, want, string(got))
		whole, err := book(open(dir, vault.Off), "r").Reveal(output, got)
		require.NoError(t, err)
		assert.JSONEq(t, `{"note":"`+secret+` «secret:x:1»","by":"«secret:x:1»"}`, string(whole))
	})
	t.Run("in a clone that lacks the secret", func(t *testing.T) {
		t.Parallel()
		there := book(open(t.TempDir(), vault.Redact), "r")
		got, err := there.RedactJSON(output, []byte(next), amended)
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "the number of the placeholder that is there counts")
		_, err = there.Reveal(output, got)
		assert.Equal(t, fault.SecretMissing, fault.CodeOf(err))
	})
	t.Run("where secrets are refused", func(t *testing.T) {
		t.Parallel()
		strict := book(open(t.TempDir(), vault.Refuse), "r")
		text := []byte(`"it was ` + secret + ` in an older text"`) // stored before this clone knew the secret
		same := func() ([]snapshot.Stored, error) {
			return []snapshot.Stored{{Quote: snapshot.Quote{At: output, Text: text}, Kept: []snapshot.Kept{{End: len(text)}}}}, nil
		}
		got, err := strict.RedactJSON(output, text, same)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(got))
	})
}

func TestAnotherCloneGoesOnWithTheNextNumber(t *testing.T) {
	t.Parallel()
	b := open(t.TempDir(), vault.Redact).Book(snapshot.Run{ID: "r", Secrets: 7}, nil)
	text, err := b.RedactText(snapshot.Place{}, secret)
	require.NoError(t, err)
	assert.Equal(t, "«secret:CI_PASSWORD:8»", text)
}

func TestProcessesNumberSecretsTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.Map
	var group sync.WaitGroup
	for process := range 8 {
		b := book(open(dir, vault.Redact), "r")
		group.Go(func() {
			for i := range 20 {
				value := "ghp_" + strings.Repeat(string(rune('a'+process)), 30) + string(rune('A'+i)) + "bcdef"
				text, err := b.RedactText(output, "password="+value+"Zq1")
				if !assert.NoError(t, err) {
					return
				}
				if _, known := all.LoadOrStore(text, true); known {
					t.Errorf("two secrets have the placeholder %s", text)
				}
			}
		})
	}
	group.Wait()
	assert.Equal(t, 160, highest(dir))
}

// highest returns the highest number in the vault of run r, as a new process finds it.
func highest(dir string) int {
	b := book(open(dir, vault.Redact), "r")
	_, _ = b.Look(output, []byte("«secret:x:1»"))
	return b.Highest()
}

func TestRefuseStoresNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vault")
	b := book(open(dir, vault.Refuse), "r")
	_, err := b.RedactJSON(output, []byte(`["`+secret+`"]`), nil)
	assert.Equal(t, fault.SecretsFound, fault.CodeOf(err))
	assert.NotContains(t, err.Error(), secret)
	assert.NoDirExists(t, dir)
	_, err = b.RedactJSON(output, []byte(`["no secret"]`), nil)
	assert.NoError(t, err)
}

func TestOffStoresSecretsButEscapesWhatLooksLikeAPlaceholder(t *testing.T) {
	t.Parallel()
	b := book(open(t.TempDir(), vault.Off), "r")
	text, err := b.RedactText(output, secret+" «secret:x:1»")
	require.NoError(t, err)
	assert.Equal(t, secret+" ««secret:x:1»", text)
	whole, err := b.Reveal(output, []byte(text))
	require.NoError(t, err)
	assert.Equal(t, secret+" «secret:x:1»", string(whole))
}

func TestAnotherCloneSeesEscapedTextAsItWas(t *testing.T) {
	t.Parallel()
	text, err := book(open(t.TempDir(), vault.Redact), "r").RedactText(output, "«secret:x:1»")
	require.NoError(t, err)
	whole, err := book(open(t.TempDir(), vault.Redact), "r").Reveal(output, []byte(text))
	require.NoError(t, err)
	assert.Equal(t, "«secret:x:1»", string(whole))
}

func TestARecordThatADeadProcessHasBegunIsDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stored, err := book(open(dir, vault.Redact), "r").RedactJSON(output, []byte(`["`+secret+`"]`), nil)
	require.NoError(t, err)
	file := filepath.Join(dir, "r")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(data, `{"secret":2,"ru`...), 0o600))

	b := book(open(dir, vault.Redact), "r")
	whole, err := b.Reveal(output, stored)
	require.NoError(t, err)
	assert.Equal(t, `["`+secret+`"]`, string(whole))
	text, err := b.RedactText(output, "another-long-secret-8")
	require.NoError(t, err)
	assert.Equal(t, "«secret:OTHER:2»", text)
	data, err = os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		assert.True(t, json.Valid([]byte(line)), line)
	}
}

func TestADamagedVaultIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r"), []byte("nonsense\n"), 0o600))
	_, err := book(open(dir, vault.Redact), "r").RedactText(output, secret)
	assert.Equal(t, fault.VaultDamaged, fault.CodeOf(err))
	_, err = book(open(dir, vault.Redact), "r").Reveal(output, []byte("«secret:x:1»"))
	assert.Equal(t, fault.VaultDamaged, fault.CodeOf(err))
}

func TestMaskedTextIsNeverGivenBack(t *testing.T) {
	t.Parallel()
	b := book(open(t.TempDir(), vault.Redact), "r")
	text, err := b.Mask([]byte("a " + secret))
	require.NoError(t, err)
	assert.Equal(t, "a «secret:CI_PASSWORD:1»", string(text))
	look, err := b.Look(output, text)
	require.NoError(t, err)
	assert.NotContains(t, string(look.Text), secret)

	var shown strings.Builder
	s := b.MaskStream(func(p []byte) { shown.Write(p) })
	for i := range secret {
		s.Write([]byte(secret[i : i+1]))
		s.Pause()
	}
	s.Close()
	assert.Equal(t, "«secret:CI_PASSWORD:1»", shown.String())
}

func TestATextIsMaskedAlsoWhereTheVaultCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vault")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	text, err := book(open(dir, vault.Redact), "r").Mask([]byte("a " + secret))
	assert.Error(t, err)
	assert.Equal(t, "a «secret:CI_PASSWORD:0»", string(text))
}

func TestASecretThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join("missing", "r"), filepath.Join(dir, "r")))
	b, text := book(open(dir, vault.Redact), "r"), []byte(`["`+secret+`"]`)
	_, err := b.RedactJSON(output, text, nil)
	require.Error(t, err)

	require.NoError(t, os.Remove(filepath.Join(dir, "r")))
	stored, err := b.RedactJSON(output, text, nil)
	require.NoError(t, err)
	whole, err := book(open(dir, vault.Redact), "r").Reveal(output, stored)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(whole))
}

func TestAFileThatIsMovedAwayBeginsAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := book(open(dir, vault.Redact), "r")
	for _, text := range []string{"another-long-secret-8", secret} {
		_, err := b.RedactText(output, text)
		require.NoError(t, err)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "r")))
	text, err := b.RedactText(output, secret)
	require.NoError(t, err)
	assert.Equal(t, "«secret:CI_PASSWORD:3»", text, "numbers are never used again")
	whole, err := book(open(dir, vault.Redact), "r").Reveal(output, []byte(text))
	require.NoError(t, err)
	assert.Equal(t, secret, string(whole))
}

func TestASecretFromTheUserIsGivenAtItsPlaceAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vault")
	b := book(open(dir, vault.Redact), "r")
	text := []byte(`{"a":"«secret:T:4»","b":"««secret:T:4»"}`)
	_, err := b.Reveal(output, text)
	gone, ok := errors.AsType[*vault.MissingError](err)
	require.True(t, ok)
	assert.Equal(t, []redact.Placeholder{{Rule: "T", Number: 4}}, gone.Missing)
	assert.Equal(t, text, gone.Text)

	give := func(redact.Placeholder) []byte { return []byte("given\"by-hand") }
	require.NoError(t, b.Provide(gone.At, gone.Text, give))
	for name, known := range map[string]*vault.Book{"this process": b, "a later one": book(open(dir, vault.Redact), "r")} {
		whole, err := known.Reveal(output, text)
		require.NoError(t, err, name)
		assert.JSONEq(t, `{"a":"given\"by-hand","b":"«secret:T:4»"}`, string(whole), name)
		_, err = known.Reveal(snapshot.Place{Collection: "outputs/report", Key: "other::0"}, text)
		assert.Equal(t, fault.SecretMissing, fault.CodeOf(err), name)
		next, err := known.RedactText(output, secret)
		require.NoError(t, err, name)
		assert.Equal(t, "«secret:CI_PASSWORD:5»", next, "the next free number")
	}
}

func TestASecretThatARuleHasFoundIsFoundAgainWithoutItsName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vault")
	first := book(open(dir, vault.Redact), "r")
	stored, err := first.RedactJSON(output, []byte(`{"password":"hunter2isGreat99","user":"anna"}`), nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"password":"«secret:secret-name:1»","user":"anna"}`, string(stored))

	title := snapshot.Place{Collection: "approvals", Key: "ask::0", Member: "title"}
	fork := open(dir, vault.Redact).Book(snapshot.Run{ID: "fork", Parent: &snapshot.Parent{}, Secrets: 1}, func() []string { return []string{"r"} })
	for name, b := range map[string]*vault.Book{"in this process": first, "in a later one": book(open(dir, vault.Redact), "r"), "in a fork": fork} {
		again, err := b.RedactText(title, "deploy with hunter2isGreat99 as anna?")
		require.NoError(t, err)
		assert.Equal(t, "deploy with «secret:secret-name:1» as anna?", again, name)
		whole, err := b.Reveal(title, []byte(again))
		require.NoError(t, err)
		assert.Equal(t, "deploy with hunter2isGreat99 as anna?", string(whole), name)

		masked, err := b.Mask([]byte("using hunter2isGreat99"))
		require.NoError(t, err)
		assert.Equal(t, "using «secret:secret-name:1»", string(masked), name)
		var shown []byte
		stream := b.MaskStream(func(text []byte) { shown = append(shown, text...) })
		stream.Write([]byte("using hunter2is"))
		stream.Pause()
		stream.Write([]byte("Great99\n"))
		stream.Close()
		assert.Equal(t, "using «secret:secret-name:1»\n", string(shown), name)
	}
	other, err := book(open(dir, vault.Redact), "other").RedactText(title, "deploy with hunter2isGreat99?")
	require.NoError(t, err)
	assert.Equal(t, "deploy with hunter2isGreat99?", other, "another run does not know it")
}

func TestACallerAndTheRunsThatItCallsKnowEachOthersSecrets(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vault")
	store := func(b *vault.Book, text string) string {
		stored, err := b.RedactText(output, text)
		require.NoError(t, err)
		return stored
	}
	calledBy := func(id, caller string) snapshot.Run {
		return snapshot.Run{ID: id, Caller: &snapshot.Caller{RunID: caller}}
	}
	v := open(dir, vault.Redact)
	caller, called, deeper := book(v, "r"), v.Book(calledBy("r.1", "r"), nil), v.Book(calledBy("r.1.1", "r.1"), nil)
	assert.Equal(t, "password=«secret:secret-name:1»", store(caller, "password=hunter2isGreat99"))
	assert.Equal(t, "it is «secret:secret-name:1»", store(called, "it is hunter2isGreat99"))
	assert.Equal(t, "password=«secret:secret-name:1»", store(deeper, "password=anotherGreat77value"))
	assert.Equal(t, "it is «secret:secret-name:2»", store(caller, "it is anotherGreat77value"))

	later := open(dir, vault.Redact) // in which nobody has asked for the caller's book yet
	assert.Equal(t, "it is «secret:secret-name:1»", store(later.Book(calledBy("r.2", "r"), nil), "it is hunter2isGreat99"))
	assert.Equal(t, "it is hunter2isGreat99", store(book(later, "other"), "it is hunter2isGreat99"))

	round := open(dir, vault.Redact) // the rows of a stranger end nothing
	store(round.Book(calledBy("a", "b"), nil), "password=inACircle77value")
	store(round.Book(calledBy("b", "a"), nil), "it is inACircle77value")
}

func TestALineOfASecretThatARuleHasFoundIsNoSecret(t *testing.T) {
	t.Parallel()
	b := book(open(filepath.Join(t.TempDir(), "vault"), vault.Redact), "r")
	line := strings.Repeat("Zm9vYmFyIGJheiBxdXV4", 4)[:64]
	key := "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\nComment: of the works at noon\n\n" + line + "\n" + line[10:] + "\n-----END PGP PRIVATE KEY BLOCK-----\n"
	stored, err := b.RedactText(output, "the key:\n"+key)
	require.NoError(t, err)
	assert.Equal(t, "the key:\n«secret:private-key:1»\n", stored)
	for text, want := range map[string]string{
		"Comment: of the works at noon": "Comment: of the works at noon",
		"a part " + line + " of it":     "a part «secret:private-key:2» of it",
	} {
		stored, err := b.RedactText(output, text)
		require.NoError(t, err)
		assert.Equal(t, want, stored)
	}
}

func BenchmarkManySecrets(b *testing.B) {
	for b.Loop() {
		book := book(open(filepath.Join(b.TempDir(), "vault"), vault.Redact), "r")
		for i := range 1000 {
			if _, err := book.RedactText(output, fmt.Sprintf("password=hunter%dGreat%d", i, i*7)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
