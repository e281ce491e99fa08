package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A platform is one that a release has files for.
type platform struct {
	os, arch string
}

var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// String returns the platform as the names of files have it.
func (p platform) String() string { return p.os + "_" + p.arch }

// program returns the name of a program's file.
func (p platform) program(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

// programs are the commands of a release, with their packages.
var programs = []struct{ name, pkg string }{{"git-smithers", "."}, {"git-smithers-desk", "./cmd/git-smithers-desk"}}

// A release has the sources and the folders of one release. Its methods make the files.
type release struct {
	source  string    // a clone at the commit to release, with no change and nothing untracked
	bin     string    // the folder of the programs: a folder for each platform
	out     string    // the folder of the finished files
	version string    // without v, such as 0.1.0
	when    time.Time // of the commit; every file has this time
	texts   []file    // the manual page, completions, licences and documents, as on Unix
}

// build compiles the programs for all platforms. Go notes the version, the commit and the dependencies in each of them.
func (r *release) build() error {
	for _, p := range platforms {
		for _, program := range programs {
			out := filepath.Join(r.bin, p.String(), p.program(program.name))
			env := []string{
				"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=",
			}
			args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-tags=urfave_cli_no_docs", "-o", out, program.pkg}
			if _, err := command(r.source, env, "go", args...); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "built %s\n", p)
	}
	return nil
}

// readVersion sets the version and the time to those that Go has recorded in a program.
func (r *release) readVersion() error {
	info, err := buildinfo.ReadFile(filepath.Join(r.bin, platforms[0].String(), programs[0].name))
	if err != nil {
		return err
	}
	version, settings := info.Main.Version, map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if !strings.HasPrefix(version, "v") || settings["vcs.modified"] != "false" {
		return fmt.Errorf("the program was built as version %q, from files of no commit", version)
	}
	r.version = strings.TrimPrefix(version, "v")
	r.when, err = time.Parse(time.RFC3339, settings["vcs.time"])
	return err
}

// command runs a program and returns what it printed. If it fails, its output is in the error.
func command(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, talk.String())
	}
	return string(out), nil
}
