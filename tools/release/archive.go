package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A file is one of an archive or a package.
type file struct {
	name string // with slashes, below the top folder
	mode fs.FileMode
	data []byte
}

// archive writes the archive of a platform: a folder with the programs in bin and everything else in share, to be unpacked into a
// prefix such as /usr/local. The same files give the same bytes.
func (r *release) archive(p platform) error {
	files, err := r.programFiles(p)
	if err != nil {
		return err
	}
	files = append(files, r.texts...)
	top, write, suffix := "git-smithers-"+r.version+"/", writeTar, ".tar.gz"
	if p.os == "windows" {
		write, suffix = writeZip, ".zip"
	}
	return create(filepath.Join(r.out, r.archiveName(p, suffix)), func(w io.Writer) error { return write(w, top, files, r.when) })
}

// archiveName returns the name of a platform's file.
func (r *release) archiveName(p platform, suffix string) string {
	return "git-smithers_" + r.version + "_" + p.String() + suffix
}

// programFiles returns the programs as files of an archive.
func (r *release) programFiles(p platform) ([]file, error) {
	var files []file
	for _, program := range programs {
		name := p.program(program.name)
		data, err := os.ReadFile(filepath.Join(r.bin, p.String(), name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{"bin/" + name, 0o755, data})
	}
	return files, nil
}

// writeTar writes files as a compressed tar. Its folders are left out; tar makes them.
func writeTar(w io.Writer, top string, files []file, when time.Time) error {
	zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		header := &tar.Header{
			Name: top + f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: when.UTC(), Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// writeZip writes files as a zip.
func writeZip(w io.Writer, top string, files []file, when time.Time) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: top + f.name, Method: zip.Deflate, Modified: when.UTC()}
		header.SetMode(f.mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// create makes a file and its folder, and has its content written.
func create(name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
