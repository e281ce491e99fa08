package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// largest is how large a file of a release may be.
const largest = 20 << 20

// makeDist makes all files of a release in a new folder, from a clone at the commit to release.
func makeDist(source, out string) (err error) {
	r := &release{}
	if r.source, err = filepath.Abs(source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.out), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(r.out, 0o777); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "git-smithers-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	r.bin = filepath.Join(scratch, "bin")
	for _, step := range []func() error{
		r.build, r.readVersion, r.readTexts, r.archives, r.systemPackages, func() error { return r.npmPackages(scratch) }, r.formula, r.notes, r.checkSizes, r.sums,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "made git-smithers %s\n", r.version)
	return nil
}

// archives writes an archive and a list of what is in its programs, for each platform.
func (r *release) archives() error {
	for _, p := range platforms {
		if err := errors.Join(r.archive(p), r.bom(p)); err != nil {
			return err
		}
	}
	return nil
}

// notes writes the part of the changelog about the release. Without such a part, as before a release, there is no file.
func (r *release) notes() error {
	changelog, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	text := sectionOf(string(changelog), "v"+r.version)
	if text == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(r.out, "NOTES.md"), []byte(text), 0o666)
}

// checkSizes fails if a file is too large.
func (r *release) checkSizes() error {
	names, err := r.files()
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		if info.Size() > largest {
			return fmt.Errorf("%s has %d bytes, more than %d", name, info.Size(), largest)
		}
	}
	return nil
}

// sums writes the checksums of all files as `sha256sum --check` reads them.
func (r *release) sums() error {
	names, err := r.files()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range names {
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o666)
}

// files returns the names of the files that are finished, sorted, with slashes.
func (r *release) files() ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(r.out), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// sumOf returns the SHA-256 of a file in hexadecimal.
func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, f.Close())
}
