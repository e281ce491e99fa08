package jjbridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// TestAlteredAreTheFilesThatACheckoutWouldChange captures files of all kinds under all attributes and settings of line ends,
// checks the captured tree out with git, and compares.
func TestAlteredAreTheFilesThatACheckoutWouldChange(t *testing.T) {
	t.Parallel()
	attributes := map[string]string{
		"none": "", "text": "text", "binary": "binary", "auto": "text=auto",
		"lf": "eol=lf", "crlf": "text eol=crlf", "eolcrlf": "eol=crlf", "autolf": "text=auto eol=lf",
		"autocrlf": "text=auto eol=crlf", "binarycrlf": "-text eol=crlf", "oldinput": "crlf=input", "old": "crlf", "oldbinary": "-crlf",
		"odd": "text=nonsense", "utf16": "text working-tree-encoding=UTF-16", "utf16le": "working-tree-encoding=UTF-16LE eol=crlf",
		"ident": "ident", "identcrlf": "ident text eol=crlf",
	}
	contents := map[string]string{
		"empty": "", "open": "no end", "unix": "one\ntwo\n", "dos": "one\r\ntwo\r\n", "mixed": "one\r\ntwo\n", "mac": "one\rtwo\r",
		"returns": "one\r\r\ntwo\n", "stray": "one\rtwo\nthree\r\n", "zeros": "\x00\n\x01\n", "zerosdos": "\x00\r\n", "control": "\x01\x02\n",
		"dosend": "one\n\x1a", "doseof": "one\r\n\x1a",
	}
	wide := map[string]string{"little": "\xff\xfea\x00\n\x00", "big": "\xfe\xff\x00a\x00\n", "dos": "\xfe\xff\x00a\x00\r\x00\n"}
	wideLE := map[string]string{"unix": "a\x00\n\x00", "dos": "a\x00\r\x00\n\x00"}
	idents := map[string]string{"none": "text\n", "bare": "$Id$\n", "old": "$Id: 0123 $\n", "dos": "$Id$\r\n"}

	for _, settings := range [][]string{
		{},
		{"core.autocrlf", "true"},
		{"core.autocrlf", "input"},
		{"core.eol", "crlf"},
		{"core.eol", "lf", "core.autocrlf", "true"},
	} {
		t.Run(fmt.Sprint(settings), func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			for i := 0; i < len(settings); i += 2 {
				repo.Git("config", settings[i], settings[i+1])
			}
			var rules strings.Builder
			for name, attribute := range attributes {
				if attribute != "" {
					fmt.Fprintf(&rules, "/%s/* %s\n", name, attribute)
				}
				of := contents
				switch name {
				case "utf16":
					of = wide
				case "utf16le":
					of = wideLE
				case "ident", "identcrlf":
					of = idents
				}
				for file, content := range of {
					repo.Write(name+"/"+file, content)
				}
			}
			repo.Write(".gitattributes", rules.String())
			v := capturedAs(t, repo)
			require.Equal(t, expected(t, repo), v.Tree.String())
			assert.Equal(t, changedByCheckout(t, repo, v), alteredPaths(v))
			assert.NotEmpty(t, v.Altered)
			assert.Equal(t, v.Altered, capturedAs(t, repo).Altered, "and what was not read again stays")
			repo.Git("add", "--all")
			assert.Equal(t, v.Altered, capturedAs(t, repo).Altered)
		})
	}
}

// changedByCheckout are the files of a tree that have other bytes in a new checkout than in the working copy.
func changedByCheckout(t *testing.T, repo *repotest.Repo, v snapshot.VCS) []string {
	t.Helper()
	dir := t.TempDir()
	other := *repo
	other.Env = append(other.Env, "GIT_INDEX_FILE="+filepath.Join(dir, "index"), "GIT_WORK_TREE="+dir, "GIT_DIR="+repo.GitDir)
	other.Git("read-tree", v.Tree.String())
	other.Git("checkout-index", "--all")
	var changed []string
	for _, name := range paths(repo, v) {
		given, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		there, err := os.ReadFile(filepath.Join(repo.Dir, name))
		require.NoError(t, err)
		if string(given) != string(there) {
			changed = append(changed, name)
		}
	}
	return changed
}

func alteredPaths(v snapshot.VCS) []string {
	var names []string
	for _, a := range v.Altered {
		names = append(names, a.Path)
	}
	return names
}

func TestAFileThatComesBackWithOtherLineEndsIsNamed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write(".gitattributes", "*.bat text eol=crlf\n")
	repo.Write("unix.bat", "echo\n")
	repo.Write("dos.bat", "echo\r\n")
	assert.Equal(t, []snapshot.AlteredFile{{Path: "unix.bat", By: "eol"}}, capturedAs(t, repo).Altered)
}
