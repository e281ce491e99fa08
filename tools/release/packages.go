package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strconv"
)

// systemPackages writes a .deb and a .rpm for each machine on Linux, as nfpm.yaml says.
func (r *release) systemPackages() error {
	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		stage := filepath.Join(filepath.Dir(r.bin), "stage-"+p.arch)
		if err := r.stage(p, stage); err != nil {
			return err
		}
		env := []string{"VERSION=" + r.version, "ARCH=" + p.arch, "STAGE=" + stage, "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.when.Unix(), 10), "GOFLAGS="}
		for _, kind := range []string{"deb", "rpm"} {
			tools := filepath.Join(r.source, "tools", "release")
			if _, err := command(tools, env, "go", "tool", "nfpm", "package", "--config", "nfpm.yaml", "--packager", kind, "--target", r.out+"/"); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage writes the files of an archive into a folder. It adds two files that only packages have: the compressed manual page, and Debian's
// file copyright, which has all licences.
func (r *release) stage(p platform, dir string) error {
	files, err := r.programFiles(p)
	if err != nil {
		return err
	}
	copyright := file{"share/doc/git-smithers/copyright", 0o644, nil}
	for _, text := range r.texts {
		switch filepath.Base(text.name) {
		case "git-smithers.1":
			page, err := compressed(text.data)
			if err != nil {
				return err
			}
			files = append(files, file{text.name + ".gz", text.mode, page})
		case "LICENSE", "LICENSES-of-libraries.txt":
			copyright.data = append(append(copyright.data, text.data...), '\n')
		}
		files = append(files, text)
	}
	for _, f := range append(files, copyright) {
		name := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.data, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(name, f.mode); err != nil { // whatever the umask is
			return err
		}
	}
	return nil
}

// compressed returns data as gzip writes it, without a name and a time.
func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
