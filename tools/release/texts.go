package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// readTexts fills r.texts: the manual page, the completions, the documents, our licence, and the licences of all libraries in the programs.
func (r *release) readTexts() error {
	const doc = "share/doc/git-smithers/"
	for _, text := range []struct{ name, source string }{
		{"share/man/man1/git-smithers.1", "docs/git-smithers.1"},
		{doc + "LICENSE", "LICENSE"},
		{doc + "README.md", "README.md"},
		{doc + "CHANGELOG.md", "CHANGELOG.md"},
	} {
		data, err := os.ReadFile(filepath.Join(r.source, text.source))
		if err != nil {
			return err
		}
		r.texts = append(r.texts, file{text.name, 0o644, data})
	}
	here := platform{runtime.GOOS, runtime.GOARCH}
	for _, shell := range []struct{ name, path string }{
		{"bash", "share/bash-completion/completions/git-smithers"},
		{"zsh", "share/zsh/site-functions/_git-smithers"},
		{"fish", "share/fish/vendor_completions.d/git-smithers.fish"},
	} {
		script, err := command(r.source, nil, filepath.Join(r.bin, here.String(), here.program("git-smithers")), "completion", shell.name)
		if err != nil {
			return err
		}
		r.texts = append(r.texts, file{shell.path, 0o644, []byte(script)})
	}
	licences, err := r.licences()
	if err != nil {
		return err
	}
	r.texts = append(r.texts, file{doc + "LICENSES-of-libraries.txt", 0o644, licences})
	return nil
}

// licences returns the licences of Go's library and of all modules that are in one of the programs.
func (r *release) licences() ([]byte, error) {
	root, err := command(r.source, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"Go's standard library": strings.TrimSpace(root)}
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	for _, module := range modules {
		found, err := command(r.source, nil, "go", "mod", "download", "-json", module)
		if err != nil {
			return nil, err
		}
		var download struct{ Dir string }
		if err := json.Unmarshal([]byte(found), &download); err != nil {
			return nil, err
		}
		folders[module] = download.Dir
	}
	var b strings.Builder
	b.WriteString("git-smithers has parts of these libraries in it, each with its licence.\n")
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		texts, err := licencesIn(folders[name])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s", name, strings.Repeat("=", len(name)), texts)
	}
	return []byte(b.String()), nil
}

// modules returns all modules that are in one of the programs, as path@version.
func (r *release) modules() ([]string, error) {
	found := map[string]bool{}
	for _, p := range platforms {
		for _, program := range programs {
			info, err := buildinfo.ReadFile(filepath.Join(r.bin, p.String(), p.program(program.name)))
			if err != nil {
				return nil, err
			}
			for _, module := range info.Deps {
				found[module.Path+"@"+module.Version] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// licencesIn returns the licences and notices in the top folder of a module. If the module has no licence, licencesIn returns an error.
func licencesIn(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	named := regexp.MustCompile(`(?i)^[a-z0-9-]*(licen[cs]e|copying|notice|patents)`)
	var b strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || !named.MatchString(entry.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		b.WriteString(strings.TrimSpace(string(data)) + "\n")
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("%s has no licence", dir)
	}
	return b.String(), nil
}
