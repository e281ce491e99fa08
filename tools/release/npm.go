package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// npmNames are the names that Node has for systems and machines.
var npmNames = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32", "amd64": "x64", "arm64": "arm64"}

// npmPackage returns the name of the npm package with the binary of a platform. clients/langgraph/src/binary.ts looks for it.
func (p platform) npmPackage() string {
	return "@git-smithers/bin-" + npmNames[p.os] + "-" + npmNames[p.arch]
}

// npmPackages writes a package with the binary for each platform, and the client for LangGraph, which has them as optional dependencies:
// npm installs the one for its machine.
func (r *release) npmPackages(scratch string) error {
	out := filepath.Join(r.out, "npm")
	if err := os.Mkdir(out, 0o777); err != nil {
		return err
	}
	for _, p := range platforms {
		dir := filepath.Join(scratch, "npm", p.String())
		if err := r.npmBinary(p, dir); err != nil {
			return err
		}
		if _, err := command(dir, nil, "npm", "pack", "--offline", "--silent", "--pack-destination", out); err != nil {
			return err
		}
	}
	client := filepath.Join(scratch, "client")
	if err := r.npmClient(client); err != nil {
		return err
	}
	_, err := command(client, nil, "npm", "pack", "--ignore-scripts", "--offline", "--silent", "--pack-destination", out)
	return err
}

// npmBinary writes the folder of the package with the binary of a platform.
func (r *release) npmBinary(p platform, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := p.program("git-smithers")
	manifest, err := json.MarshalIndent(map[string]any{
		"name": p.npmPackage(), "version": r.version, "license": "MIT",
		"description": "The program git-smithers for " + p.os + " on " + p.arch,
		"repository":  map[string]string{"type": "git", "url": "https://github.com/git-smithers/git-smithers"},
		"os":          []string{npmNames[p.os]}, "cpu": []string{npmNames[p.arch]},
		"files": []string{name, "LICENSES-of-libraries.txt"}, "preferUnplugged": true, // Yarn must not leave a program in an archive
	}, "", "  ")
	if err != nil {
		return err
	}
	program, err := os.ReadFile(filepath.Join(r.bin, p.String(), name))
	if err != nil {
		return err
	}
	files := []file{
		{"package.json", 0o644, append(manifest, '\n')},
		{name, 0o755, program},
		{"README.md", 0o644, fmt.Appendf(nil, "# %s\n\nThe program `git-smithers` for %s on %s. [`@git-smithers/langgraph`](https://www.npmjs.com/package/@git-smithers/langgraph) runs it.\n",
			p.npmPackage(), p.os, p.arch)},
	}
	for _, text := range r.texts {
		if base := filepath.Base(text.name); strings.HasPrefix(base, "LICENSE") {
			files = append(files, file{base, text.mode, text.data})
		}
	}
	for _, f := range files {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, f.name), f.data, f.mode), os.Chmod(filepath.Join(dir, f.name), f.mode)); err != nil {
			return err
		}
	}
	return nil
}

// npmClient writes the folder of the client for LangGraph with this version, and compiles it by the compiler that tools/langgraph.sh
// has fetched.
func (r *release) npmClient(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(r.source, "clients", "langgraph"))); err != nil {
		return err
	}
	if err := edit(filepath.Join(dir, "package.json"), r.clientManifest); err != nil {
		return err
	}
	err := edit(filepath.Join(dir, "src", "version.ts"), func(text []byte) ([]byte, error) {
		return replaceOnce(text, `"0.0.0"`, `"`+r.version+`"`)
	})
	if err != nil {
		return err
	}
	if _, err := command(r.source, []string{"CI=true"}, "tools/langgraph.sh"); err != nil {
		return err
	}
	modules, err := filepath.EvalSymlinks(filepath.Join(r.source, ".tools", "langgraph", "node_modules"))
	if err != nil {
		return err
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		return err
	}
	for _, line := range [][]string{{"node_modules/.bin/tsc", "-p", "tsconfig.json"}, {"node_modules/.bin/tsc", "-p", "tsconfig.cjs.json"}, {"node", "cjs.mjs"}} {
		if _, err := command(dir, nil, line[0], line[1:]...); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(dir, "node_modules"))
}

// clientManifest returns the package.json of the client with this version, and with the packages of all platforms.
func (r *release) clientManifest(text []byte) ([]byte, error) {
	binaries := map[string]string{}
	for _, p := range platforms {
		binaries[p.npmPackage()] = r.version
	}
	list, err := json.Marshal(binaries)
	if err != nil {
		return nil, err
	}
	if text, err = replaceOnce(text, `"version": "0.0.0",`, `"version": "`+r.version+`",`); err != nil {
		return nil, err
	}
	text, err = replaceOnce(text, `"peerDependencies": {`, `"optionalDependencies": `+string(list)+`,
  "peerDependencies": {`)
	if err == nil && !json.Valid(text) {
		err = errors.New("package.json is no JSON")
	}
	return text, err
}

// edit changes a file.
func edit(name string, change func([]byte) ([]byte, error)) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if text, err = change(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, text, 0o666)
}

// replaceOnce replaces a string that a text has exactly once.
func replaceOnce(text []byte, old, replacement string) ([]byte, error) {
	if n := bytes.Count(text, []byte(old)); n != 1 {
		return nil, fmt.Errorf("it has %s %d times instead of once", old, n)
	}
	return bytes.Replace(text, []byte(old), []byte(replacement), 1), nil
}
