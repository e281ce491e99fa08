package timeline_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
)

// BenchmarkRestore restores a frame in a working copy of 10,000 files of which one has
// changed: what is there is kept as a frame, the file comes back, and a frame says so.
func BenchmarkRestore(b *testing.B) {
	policies(b, func(b *testing.B, fsync string) {
		dir, env := benchRepo(b)
		write := func(name, content string) {
			path := filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o777))
			require.NoError(b, os.WriteFile(path, []byte(content), 0o666))
		}
		old := time.Now().Add(-time.Hour)
		for i := range 10_000 {
			name := fmt.Sprintf("pkg%02d/part%d/file%03d.go", i%50, i/50%10, i/500)
			write(name, fmt.Sprintf("package part\n\nvar V%d = %d\n%s", i, i, strings.Repeat("// text\n", 20)))
			require.NoError(b, os.Chtimes(filepath.Join(dir, name), old, old))
		}
		for _, args := range [][]string{{"add", "--all"}, {"-c", "gc.auto=0", "commit", "--quiet", "--message=many"}, {"gc", "--quiet"}} {
			cmd := exec.CommandContext(b.Context(), "git", args...)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.CombinedOutput()
			require.NoError(b, err, string(out))
		}
		ctx := context.Background()
		s := benchStore(b, dir, append(env, fsync))
		captured, err := files.WorkingCopyOf(s).Capture(ctx)
		require.NoError(b, err)
		_, err = s.Create(ctx, snapshot.Run{ID: "run", Workflow: "w", Status: snapshot.RunFinished, CreatedAtMs: 1},
			snapshot.Draft{VCS: &captured.VCS, Objects: captured.Objects, Subject: "started"})
		require.NoError(b, err)
		require.NoError(b, captured.Close())
		var samples []time.Duration
		for i := 0; b.Loop(); i++ {
			write("pkg01/part1/file001.go", fmt.Sprintf("package part\n\nvar V = %d\n", i))
			start := time.Now()
			restored, err := files.Restore(ctx, s, files.RestoreRequest{From: "run:0"})
			require.NoError(b, err)
			require.Len(b, restored.Changes, 1)
			samples = append(samples, time.Since(start))
		}
		percentiles(b, samples)
		require.NoError(b, s.Close())
	})
}
