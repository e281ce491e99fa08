package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

// dist returns the folder with the files of a release, and its version without v. DIST names the folder. tools/release.sh sets it.
func dist(t *testing.T) (dir, version string) {
	t.Helper()
	if dir = os.Getenv("DIST"); dir == "" {
		t.Skip("DIST names no folder with the files of a release")
	}
	archives := filesOf(t, dir, "git-smithers_*_linux_amd64.tar.gz")
	require.Len(t, archives, 1)
	version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archives[0]), "git-smithers_"), "_linux_amd64.tar.gz")
	return dir, version
}

// runs runs a program that must succeed, and returns what it printed.
func runs(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := command(dir, env, name, args...)
	require.NoError(t, err)
	return out
}

func TestDistHasEveryFileAndItsSum(t *testing.T) {
	dir, version := dist(t)
	debian := strings.Replace(version, "-", "~", 1)
	rpm := strings.ReplaceAll(debian, "-", "_")
	want := []string{
		"git-smithers_" + debian + "_amd64.deb", "git-smithers_" + debian + "_arm64.deb",
		"git-smithers-" + rpm + "-1.x86_64.rpm", "git-smithers-" + rpm + "-1.aarch64.rpm",
		"git-smithers.rb", "npm/git-smithers-langgraph-" + version + ".tgz",
	}
	for _, p := range platforms {
		suffix := ".tar.gz"
		if p.os == "windows" {
			suffix = ".zip"
		}
		name := "git-smithers_" + version + "_" + p.String()
		want = append(want, name+suffix, name+".cdx.json", "npm/"+strings.NewReplacer("@", "", "/", "-").Replace(p.npmPackage())+"-"+version+".tgz")
	}
	if _, err := os.Stat(filepath.Join(dir, "NOTES.md")); err == nil { // not before a release
		want = append(want, "NOTES.md")
	}
	var named []string
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	for line := range strings.Lines(string(sums)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		named = append(named, name)
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(20<<20), name)
	}
	require.ElementsMatch(t, want, named)
	runs(t, dir, nil, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
}

func TestDistArchivesHaveProgramsForTheirPlatform(t *testing.T) {
	dir, version := dist(t)
	for _, p := range platforms {
		files := archived(t, filepath.Join(dir, "git-smithers_"+version+"_"+p.String()))
		top := "git-smithers-" + version + "/"
		for _, name := range []string{
			"share/man/man1/git-smithers.1", "share/bash-completion/completions/git-smithers", "share/zsh/site-functions/_git-smithers",
			"share/fish/vendor_completions.d/git-smithers.fish", "share/doc/git-smithers/LICENSE", "share/doc/git-smithers/README.md",
			"share/doc/git-smithers/LICENSES-of-libraries.txt", "share/doc/git-smithers/CHANGELOG.md",
		} {
			require.NotEmpty(t, files[top+name], "%s %s", p, name)
		}
		bom := readBOM(t, filepath.Join(dir, "git-smithers_"+version+"_"+p.String()+".cdx.json"))
		for _, program := range programs {
			info, err := buildinfo.Read(bytes.NewReader(files[top+"bin/"+p.program(program.name)]))
			require.NoError(t, err)
			settings := map[string]string{}
			for _, setting := range info.Settings {
				settings[setting.Key] = setting.Value
			}
			built := platform{settings["GOOS"], settings["GOARCH"]}
			require.Equal(t, p, built)
			require.Equal(t, "v"+version, info.Main.Version)
			require.Len(t, settings["vcs.revision"], 40)
			require.Equal(t, "false", settings["vcs.modified"])
			require.Equal(t, "0", settings["CGO_ENABLED"])
			for _, module := range info.Deps {
				require.Contains(t, bom, "pkg:golang/"+module.Path+"@"+module.Version)
			}
		}
		require.Len(t, files, 8+len(programs))
	}
}

// archived returns the files of an archive by their names, which has the given name and .tar.gz or .zip.
func archived(t *testing.T, name string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	if archive, err := zip.OpenReader(name + ".zip"); err == nil {
		defer func() { require.NoError(t, archive.Close()) }()
		for _, entry := range archive.File {
			content, err := entry.Open()
			require.NoError(t, err)
			files[entry.Name], err = io.ReadAll(content)
			require.NoError(t, err)
		}
		return files
	}
	f, err := os.Open(name + ".tar.gz")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		files[header.Name], err = io.ReadAll(archive)
		require.NoError(t, err)
	}
}

// readBOM returns the addresses of all packages that a bill of materials has, and checks that what it refers to is there.
func readBOM(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var bom cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&bom))
	refs, addresses := map[string]bool{bom.Metadata.Component.BOMRef: true}, []string{}
	for _, part := range *bom.Components {
		require.False(t, refs[part.BOMRef], "%s stands twice", part.BOMRef)
		refs[part.BOMRef] = true
		addresses = append(addresses, part.PackageURL)
	}
	for _, dependency := range *bom.Dependencies {
		require.True(t, refs[dependency.Ref])
		for _, ref := range *dependency.Dependencies {
			require.True(t, refs[ref], ref)
		}
	}
	return addresses
}

// TestDistDebIsInstalledUsedAndRemoved uses a root folder of its own with the system's list of installed packages, so that the system
// stays as it is, and a missing git would still be noticed.
func TestDistDebIsInstalledUsedAndRemoved(t *testing.T) {
	dir, version := dist(t)
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg/updates"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg/info"), 0o755))
	status, err := os.ReadFile("/var/lib/dpkg/status")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), status, 0o644))
	deb := filepath.Join(dir, "git-smithers_"+strings.Replace(version, "-", "~", 1)+"_amd64.deb")

	runs(t, root, nil, "dpkg", "--root="+root, "--force-not-root", "--log=", "-i", deb)
	usedFrom(t, filepath.Join(root, "usr/bin"), version)
	require.Regexp(t, ` commit [0-9a-f]{12} `, runs(t, root, nil, filepath.Join(root, "usr/bin/git-smithers"), "version"))
	for _, name := range []string{"man/man1/git-smithers.1.gz", "bash-completion/completions/git-smithers", "zsh/vendor-completions/_git-smithers", "fish/vendor_completions.d/git-smithers.fish", "doc/git-smithers/copyright"} {
		require.FileExists(t, filepath.Join(root, "usr/share", name))
	}
	runs(t, root, nil, "dpkg", "--root="+root, "--force-not-root", "--log=", "-r", "git-smithers")
	require.NoDirExists(t, filepath.Join(root, "usr/share/doc/git-smithers"))
	require.NoFileExists(t, filepath.Join(root, "usr/bin/git-smithers"))
}

// usedFrom makes a run in a new repository with the program of a folder, as a command of git.
func usedFrom(t *testing.T, bin, version string) {
	t.Helper()
	dir := t.TempDir()
	env := []string{"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	runs(t, dir, env, "git", "init", "-q")
	require.Contains(t, runs(t, dir, env, "git", "smithers", "version"), "git-smithers v"+version+" ")
	flow := "name: flow\ntasks:\n  - {id: hello, run: \"echo hello > hello.txt\"}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flow.yaml"), []byte(flow), 0o666))
	runs(t, dir, env, "git", "smithers", "run", "flow.yaml", "--run-id", "one")
	require.Contains(t, runs(t, dir, env, "git", "smithers", "timeline", "one"), "hello finished")
	runs(t, dir, env, "git", "smithers", "verify")
	runs(t, dir, env, "git", "fsck", "--strict")
}

func TestDistRPMIsListed(t *testing.T) {
	dir, _ := dist(t)
	rpm := filesOf(t, dir, "*.x86_64.rpm")[0]
	require.Equal(t, `/usr/bin/git-smithers
/usr/bin/git-smithers-desk
/usr/share/bash-completion/completions/git-smithers
/usr/share/doc/git-smithers/CHANGELOG.md
/usr/share/doc/git-smithers/LICENSE
/usr/share/doc/git-smithers/LICENSES-of-libraries.txt
/usr/share/doc/git-smithers/README.md
/usr/share/fish/vendor_completions.d/git-smithers.fish
/usr/share/man/man1/git-smithers.1.gz
/usr/share/zsh/site-functions/_git-smithers
`, runs(t, dir, nil, "rpm", "-qpl", rpm))
	require.Contains(t, runs(t, dir, nil, "rpm", "-qp", "--requires", rpm), "git >= 2.34")
}

func TestDistFormulaNamesTheFilesThatWereMade(t *testing.T) {
	dir, version := dist(t)
	require.Contains(t, runs(t, dir, nil, "ruby", "-c", "git-smithers.rb"), "Syntax OK")
	text, err := os.ReadFile(filepath.Join(dir, "git-smithers.rb"))
	require.NoError(t, err)
	var urls, sums []string
	for line := range strings.Lines(string(text)) {
		if url, found := strings.CutPrefix(strings.TrimSpace(line), "url "); found {
			urls = append(urls, strings.Trim(url, `"`))
		}
		if sum, found := strings.CutPrefix(strings.TrimSpace(line), "sha256 "); found {
			sums = append(sums, strings.Trim(sum, `"`))
		}
	}
	require.Len(t, urls, 4)
	require.Len(t, sums, 4)
	for i, url := range urls {
		folder, name := path.Split(url)
		require.Equal(t, "https://github.com/git-smithers/git-smithers/releases/download/v"+version+"/", folder)
		got, err := sumOf(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, got, sums[i], name)
	}
}
