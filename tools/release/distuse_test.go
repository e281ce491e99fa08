package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// source returns the checkout that the release was made from. tools/release.sh sets SOURCE.
func source(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(os.Getenv("SOURCE"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "CHANGELOG.md"))
	return dir
}

// saverScript writes a checkpoint and reads it.
const saverScript = `
import { GitSmithersSaver } from "@git-smithers/langgraph";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
const saver = GitSmithersSaver.open();
const config = { configurable: { thread_id: process.argv[2], checkpoint_ns: "" } };
await saver.put(config, emptyCheckpoint(), { source: "input", step: -1, parents: {} }, {});
console.log((await saver.getTuple(config)).metadata.source);
await saver.close();
`

// TestDistNPMPackagesWorkOnNodeAndBun installs the files in an empty folder. There is no other git-smithers: the client finds the
// binary of its platform, beside itself or beside the program.
func TestDistNPMPackagesWorkOnNodeAndBun(t *testing.T) {
	files, version := dist(t)
	var manifest struct {
		DevDependencies map[string]string `json:"devDependencies"`
	}
	text, err := os.ReadFile(filepath.Join(source(t), "clients/langgraph/package.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &manifest))
	here := platform{runtime.GOOS, runtime.GOARCH}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "package.json"), `{"private":true,"type":"module"}`)
	install := []string{"install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"}
	for _, name := range []string{strings.NewReplacer("@", "", "/", "-").Replace(here.npmPackage()), "git-smithers-langgraph"} {
		install = append(install, filepath.Join(files, "npm", name+"-"+version+".tgz"))
	}
	for _, name := range []string{"@langchain/core", "@langchain/langgraph-checkpoint"} {
		install = append(install, name+"@"+manifest.DevDependencies[name])
	}
	runs(t, dir, nil, "npm", install...)
	write(t, filepath.Join(dir, "use.mjs"), saverScript)
	runs(t, dir, nil, "git", "init", "-q")

	bun, err := filepath.Abs(filepath.Join(source(t), ".tools/smithers/node_modules/bun/bin/bun.exe"))
	require.NoError(t, err)
	env := []string{"GIT_SMITHERS=", "PATH=/usr/local/bin:/usr/bin:/bin"}
	node := "node"
	if newer := filepath.Join(source(t), ".tools/node/bin/node"); exists(newer) {
		node = newer
	}
	require.Equal(t, "input\n", runs(t, dir, env, node, "use.mjs", "with-node"))
	require.Equal(t, "input\n", runs(t, dir, env, bun, "use.mjs", "with-bun"))

	// pnpm, and npm where versions differ, put the binary beside the client, where the program does not find it
	scope := filepath.Join(dir, "node_modules/@git-smithers")
	require.NoError(t, os.MkdirAll(filepath.Join(scope, "langgraph/node_modules/@git-smithers"), 0o777))
	name := strings.TrimPrefix(here.npmPackage(), "@git-smithers/")
	require.NoError(t, os.Rename(filepath.Join(scope, name), filepath.Join(scope, "langgraph/node_modules/@git-smithers", name)))
	require.Equal(t, "input\n", runs(t, dir, env, node, "use.mjs", "nested"))
	require.Equal(t, "input\n", runs(t, dir, env, bun, "use.mjs", "nested-bun"))

	program := filepath.Join(scope, "langgraph/node_modules/@git-smithers", name, here.program("git-smithers"))
	require.Equal(t, 4, strings.Count(runs(t, dir, nil, program, "runs"), "\n"))
	runs(t, dir, nil, program, "verify")
	runs(t, dir, nil, "git", "fsck", "--strict")
}

// TestDistGoInstallWorksFromAnEmptyModuleCache installs both programs as somebody does who has Go. The module comes from a proxy over
// HTTP, and what it needs from the module cache of this machine or from the proxy that is set.
func TestDistGoInstallWorksFromAnEmptyModuleCache(t *testing.T) {
	_, version := dist(t)
	version = "v" + version
	const path = "github.com/git-smithers/git-smithers"
	served := t.TempDir()
	folder := filepath.Join(served, path, "@v")
	require.NoError(t, os.MkdirAll(folder, 0o777))
	archive, err := os.Create(filepath.Join(folder, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.CreateFromVCS(archive, module.Version{Path: path, Version: version}, source(t), "HEAD", ""))
	require.NoError(t, archive.Close())
	mod, err := os.ReadFile(filepath.Join(source(t), "go.mod"))
	require.NoError(t, err)
	write(t, filepath.Join(folder, version+".mod"), string(mod))
	write(t, filepath.Join(folder, version+".info"), `{"Version":"`+version+`","Time":"2026-01-02T03:04:05Z"}`)
	write(t, filepath.Join(folder, "list"), version+"\n")
	proxy := httptest.NewServer(http.FileServer(http.Dir(served)))
	defer proxy.Close()

	known := "file://" + filepath.ToSlash(strings.TrimSpace(runs(t, "", nil, "go", "env", "GOMODCACHE"))) + "/cache/download"
	others := strings.TrimSpace(runs(t, "", nil, "go", "env", "GOPROXY"))
	bin := t.TempDir()
	env := []string{
		"GOPROXY=" + proxy.URL + "," + known + "," + others, "GOSUMDB=off", "GOMODCACHE=" + t.TempDir(), "GOBIN=" + bin, "CGO_ENABLED=0",
		"GOFLAGS=-modcacherw -trimpath", // -trimpath for what is compiled already
	}
	runs(t, t.TempDir(), env, "go", "install", path+"@"+version)
	usedFrom(t, bin, strings.TrimPrefix(version, "v"))
	runs(t, t.TempDir(), env, "go", "install", path+"/...@"+version)
	require.FileExists(t, filepath.Join(bin, "git-smithers-desk"))
}

// write writes a file.
func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
}

// exists reports whether a file is there.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
