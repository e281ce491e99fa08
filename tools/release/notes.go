package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kinds are the kinds of changes, with the heading of each in the changelog, in the order of the headings.
var kinds = []struct{ name, heading string }{{"Add", "Added"}, {"Change", "Changed"}, {"Fix", "Mended"}}

// pages name the files of the newest release.
var pages = []string{"README.md", filepath.Join("docs", "install.md")}

// A note is one file of changes/unreleased.
type note struct {
	kind, title, text string
}

// gatherNotes moves the notes of changes/unreleased into CHANGELOG.md, under a heading with the version, and removes their files.
// The text of changes/about.md, if there is one, stands under the heading. The pages name the version where they named the newest one
// of the changelog. Nothing changes if one of the files is not as changes/README.md says.
func gatherNotes(source, version, date string) error {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9a-z.]+)?$`).MatchString(version) {
		return fmt.Errorf("%q is no version such as v1.2.3", version)
	}
	files, err := filepath.Glob(filepath.Join(source, "changes", "unreleased", "*.md"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("changes/unreleased has no notes")
	}
	var notes []note
	for _, file := range files { // in the order of their names
		n, err := readNote(file)
		if err != nil {
			return err
		}
		notes = append(notes, n)
	}
	about := filepath.Join(source, "changes", "about.md")
	intro, err := os.ReadFile(about)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	changelog := filepath.Join(source, "CHANGELOG.md")
	old, err := os.ReadFile(changelog)
	if err != nil {
		return err
	}
	text, err := insertSection(string(old), section(version, date, string(intro), notes))
	if err != nil {
		return err
	}
	texts, err := pagesWith(source, newestOf(string(old)), version)
	if err != nil {
		return err
	}
	texts[changelog] = text
	for file, text := range texts {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return err
		}
	}
	if intro != nil {
		files = append(files, about)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// pagesWith returns the texts of the pages, by their files, with the version in place of the one before it. The names of files have no v
// in front of it.
func pagesWith(source, before, version string) (map[string]string, error) {
	texts := make(map[string]string)
	for _, page := range pages {
		file := filepath.Join(source, page)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		texts[file] = string(text)
		if before != "" {
			texts[file] = strings.ReplaceAll(texts[file], strings.TrimPrefix(before, "v"), strings.TrimPrefix(version, "v"))
		}
	}
	return texts, nil
}

// newestOf returns the newest version of a changelog, or "" if it has no version.
func newestOf(changelog string) string {
	_, rest, _ := strings.Cut(changelog, "\n## ")
	version, _, _ := strings.Cut(rest, " ")
	return version
}

// readNote reads a file whose first line has a kind and a title, and whose text follows after an empty line.
func readNote(file string) (note, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return note{}, err
	}
	first, text, _ := strings.Cut(string(data), "\n")
	kind, title, found := strings.Cut(first, ": ")
	known := slices.ContainsFunc(kinds, func(k struct{ name, heading string }) bool { return k.name == kind })
	if !found || !known || strings.TrimSpace(title) == "" || text != "" && !strings.HasPrefix(text, "\n") {
		return note{}, fmt.Errorf("%s is not as changes/README.md says", file)
	}
	title = strings.TrimRight(strings.TrimSpace(title), ".")
	return note{kind, strings.ToUpper(title[:1]) + title[1:], strings.TrimSpace(text)}, nil
}

// section returns the part of the changelog about one version.
func section(version, date, intro string, notes []note) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s (%s)\n", version, date)
	if intro = strings.TrimSpace(intro); intro != "" {
		fmt.Fprintf(&b, "\n%s\n", intro)
	}
	for _, kind := range kinds {
		heading := fmt.Sprintf("\n### %s\n\n", kind.heading)
		for _, n := range notes {
			if n.kind != kind.name {
				continue
			}
			text := strings.ReplaceAll(n.text, "\n", "\n  ")
			text = strings.ReplaceAll(text, "\n  \n", "\n\n")
			b.WriteString(heading + strings.TrimRight(fmt.Sprintf("* **%s.** %s", n.title, text), " ") + "\n")
			heading = ""
		}
	}
	return b.String()
}

// insertSection puts a section in front of the other versions, after the introduction of the changelog.
func insertSection(changelog, section string) (string, error) {
	heading, _, _ := strings.Cut(section, " (")
	if strings.Contains(changelog, "\n"+heading+" ") {
		return "", fmt.Errorf("CHANGELOG.md has %s already", strings.TrimPrefix(heading, "## "))
	}
	intro, rest, found := strings.Cut(changelog, "\n## ")
	text := strings.TrimRight(intro, "\n") + "\n\n" + section
	if found {
		text += "\n## " + rest
	}
	return text, nil
}

// sectionOf returns the part of a changelog about one version, without its heading, or "" if there is none.
func sectionOf(changelog, version string) string {
	_, rest, found := strings.Cut(changelog, "\n## "+version+" ")
	if !found {
		return ""
	}
	_, text, _ := strings.Cut(rest, "\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return strings.TrimSpace(text) + "\n"
}
