package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
)

// standIn is what scripts have in the place of Smithers: it resumes a run in ./smithers.db as Smithers does,
// which comes to restoring it from its newest snapshot and adding a frame.
//
//	smithers-stand-in up <workflow> --run-id <id> --resume true
//
// STANDIN_STATUS is the status that it leaves, and STANDIN_EXIT its exit status. Without a status, it
// does nothing. With STANDIN_WATCHED, somebody imports what it did before it ends. It interrupts the process STANDIN_INTERRUPT, and waits until it is interrupted itself.
func standIn() {
	if err := standInUp(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		os.Exit(1)
	}
	fmt.Println("stand-in: done")
	if status, err := strconv.Atoi(os.Getenv("STANDIN_EXIT")); err == nil {
		os.Exit(status)
	}
}

func standInUp(args []string) error {
	if len(args) != 6 || args[0] != "up" || args[2] != "--run-id" || args[4] != "--resume" || args[5] != "true" {
		return fmt.Errorf("called with %q", args)
	}
	const database = "smithers.db"
	workflow, run, ctx := args[1], args[3], context.Background()
	rows, err := sourcetest.Query(ctx, database,
		`SELECT workflow_path, workflow_hash, json_extract(config_json, '$.__smithersDurability.version'),
			json_extract(config_json, '$.rootDir'), vcs_root FROM _smithers_runs WHERE run_id = ?`, run)
	if err != nil || len(rows) != 1 {
		return fmt.Errorf("run not found: %s: %w", run, err)
	}
	source, err := os.ReadFile(workflow)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	entry := sha256.Sum256(source)
	graph := sha256.Sum256([]byte(workflow + ":" + hex.EncodeToString(entry[:])))
	if row := rows[0]; row[0] != workflow || row[1] != hex.EncodeToString(graph[:]) || row[2] != "2" || row[3] != dir || row[4] != workingCopyOf(dir) {
		return fmt.Errorf("RESUME_METADATA_MISMATCH: %q", row)
	}
	status := os.Getenv("STANDIN_STATUS")
	if status == "" {
		return errors.New("does nothing")
	}
	fmt.Fprintln(os.Stderr, "stand-in: resumes run", run)
	if err := standInInterrupts(); err != nil {
		return err
	}
	err = sourcetest.Exec(ctx, database, fmt.Sprintf(`
		BEGIN;
		INSERT INTO _smithers_snapshots
		SELECT run_id, frame_no + 1, nodes_json, outputs_json, ralph_json, input_json, vcs_pointer, NULL, content_hash, created_at_ms + 1000
		FROM _smithers_snapshots WHERE run_id = '%[1]s' ORDER BY frame_no DESC LIMIT 1;
		INSERT INTO _smithers_frames (run_id, frame_no, created_at_ms, xml_json, xml_hash, encoding)
		SELECT run_id, frame_no, created_at_ms, 'null', '74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b', 'keyframe'
		FROM _smithers_snapshots WHERE run_id = '%[1]s' ORDER BY frame_no DESC LIMIT 1;
		UPDATE _smithers_runs SET status = '%[2]s', started_at_ms = created_at_ms + 500, finished_at_ms = NULL WHERE run_id = '%[1]s';
		COMMIT;`, run, status))
	if err != nil || os.Getenv("STANDIN_WATCHED") == "" {
		return err
	}
	return exec.CommandContext(ctx, "git", "smithers", "import", database).Run()
}

// workingCopyOf is the top of the working copy of git that a folder is in; "" for none.
func workingCopyOf(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func standInInterrupts() error {
	pid, err := strconv.Atoi(os.Getenv("STANDIN_INTERRUPT"))
	if err != nil {
		return nil //nolint:nilerr // nobody is to be interrupted
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	other, err := os.FindProcess(pid)
	if err == nil {
		err = other.Signal(os.Interrupt)
	}
	<-interrupted
	return err
}
