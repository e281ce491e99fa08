package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// downloads is where the files of a release are, below it the version.
const downloads = "https://github.com/git-smithers/git-smithers/releases/download/"

// formula writes the Homebrew formula, with the address and the sum of each archive.
func (r *release) formula() error {
	var text strings.Builder
	text.WriteString(`# Made by make release.
class GitSmithers < Formula
  desc "Rewind, repair and share runs of AI agents in a git repository"
  homepage "https://github.com/git-smithers/git-smithers"
  version "` + r.version + `"
  license "MIT"
`)
	for _, system := range []struct{ block, os string }{{"on_macos", "darwin"}, {"on_linux", "linux"}} {
		fmt.Fprintf(&text, "\n  %s do\n", system.block)
		for _, machine := range []struct{ block, arch string }{{"on_arm", "arm64"}, {"on_intel", "amd64"}} {
			archive := r.archiveName(platform{system.os, machine.arch}, ".tar.gz")
			sum, err := sumOf(filepath.Join(r.out, archive))
			if err != nil {
				return err
			}
			fmt.Fprintf(&text, "    %s do\n      url %q\n      sha256 %q\n    end\n", machine.block, downloads+"v"+r.version+"/"+archive, sum)
		}
		text.WriteString("  end\n")
	}
	text.WriteString(`
  def install
    bin.install Dir["bin/*"]
    man1.install "share/man/man1/git-smithers.1"
    bash_completion.install "share/bash-completion/completions/git-smithers"
    zsh_completion.install "share/zsh/site-functions/_git-smithers"
    fish_completion.install "share/fish/vendor_completions.d/git-smithers.fish"
    doc.install Dir["share/doc/git-smithers/*"]
  end

  test do
    system "git", "init"
    assert_match version.to_s, shell_output("#{bin}/git-smithers version")
    pipe_output("#{bin}/git-smithers capture formula", "{}\n", 0)
    system bin/"git-smithers", "verify"
  end
end
`)
	return os.WriteFile(filepath.Join(r.out, "git-smithers.rb"), []byte(text.String()), 0o666)
}
