package jjbridge

import (
	"os"
	"path/filepath"
)

// plainGit configures git to store and write files byte for byte, as jj does, regardless of .gitattributes
// and the user's settings.
type plainGit struct {
	gitDir   string
	settings []string // for -c
	env      []string
	options  []string // gitDir and settings, as options of git
}

// plainGitDir returns the configuration with which git stores and writes files byte for byte. The configuration uses a
// separate git directory, the folder plain in dir. plainGitDir writes each file of this git directory that is missing
// or different. The attributes in the directory override all others. git reads and writes objects in the repository of
// w.
func plainGitDir(w *Workspace, dir string) (plainGit, error) {
	gitDir := filepath.Join(dir, "plain")
	format := "[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = " + w.Repo.ObjectFormat + "\n"
	for _, file := range []struct{ name, content string }{
		{"config", format},
		{"info/attributes", "* -text -ident -filter !working-tree-encoding\n"},
		// The file only makes the folder refs exist.
		{"refs/.none", ""},
		{"HEAD", "ref: refs/heads/none\n"}, // last, because it makes the folder a git directory
	} {
		path := filepath.Join(gitDir, filepath.FromSlash(file.name))
		if found, err := os.ReadFile(path); err == nil && string(found) == file.content {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return plainGit{}, err
		}
		if err := os.WriteFile(path, []byte(file.content), 0o666); err != nil {
			return plainGit{}, err
		}
	}
	plain := plainGit{
		gitDir: gitDir,
		settings: []string{
			"core.autocrlf=false", "core.fileMode=true", "core.symlinks=true",
			"core.sparseCheckout=false", "core.precomposeUnicode=false",
		},
		env: []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(w.Repo.CommonDir, "objects")},
	}
	plain.options = []string{"--git-dir=" + gitDir}
	for _, setting := range plain.settings {
		plain.options = append(plain.options, "-c", setting)
	}
	return plain, nil
}
