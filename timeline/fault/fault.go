// Package fault has the errors that people and programs see: a stable code, a message, hints, and the exit status of
// the code.
//
// The packages below timeline return sentinels and small typed errors. The packages timeline, engine and cli turn
// these errors into an [Error]. docs/errors.md describes every code.
package fault

import (
	"errors"
	"fmt"
)

// Code names a kind of failure in lower_snake case. A code is never reused for another kind of failure.
type Code string

// Exit statuses of the process.
const (
	ExitOK        = 0   // success
	ExitFailed    = 1   // the command or the run failed
	ExitCancelled = 2   // the run was cancelled
	ExitWaiting   = 3   // the run waits
	ExitUsage     = 4   // the usage or the input is wrong
	ExitNotFound  = 10  // the named run, frame or other thing does not exist
	ExitConflict  = 11  // another process was first, or unsaved work is in the way
	ExitCorrupt   = 12  // stored data failed verification
	ExitTooNew    = 13  // the command needs another version of a program or another repository format
	ExitBug       = 70  // git-smithers has a bug
	ExitInterrupt = 130 // SIGINT ended the command
	ExitTerminate = 143 // SIGTERM ended the command
)

// The codes of errors. docs/errors.md describes each code, and the table exits has the exit status of each code.
const (
	RunFailed         Code = "run_failed"
	RunCancelled      Code = "run_cancelled"
	RunWaiting        Code = "run_waiting"
	RunOwned          Code = "run_owned"
	RequestNotFound   Code = "request_not_found"
	NotPending        Code = "not_pending"
	NothingToUndo     Code = "nothing_to_undo"
	UndoRefused       Code = "undo_refused"
	InvalidQuery      Code = "invalid_query"
	RunPruned         Code = "run_pruned"
	RemoteNotFound    Code = "remote_not_found"
	ResultNotFound    Code = "result_not_found"
	RemoteFailed      Code = "remote_failed"
	PushRefused       Code = "push_refused"
	FetchRefused      Code = "fetch_refused"
	Unconfirmed       Code = "unconfirmed"
	UntrustedFiles    Code = "untrusted_files"
	NothingPruned     Code = "nothing_pruned"
	InvalidBundle     Code = "invalid_bundle"
	DatabaseNotFound  Code = "database_not_found"
	InvalidDatabase   Code = "invalid_database"
	ImportRefused     Code = "import_refused"
	ExportRefused     Code = "export_refused"
	EngineMissing     Code = "engine_missing"
	EngineFailed      Code = "engine_failed"
	ProgramMissing    Code = "program_missing"
	HooksUnheard      Code = "hooks_unheard"
	ForeignRun        Code = "foreign_run"
	WriteFailed       Code = "write_failed"
	ReadOnly          Code = "read_only"
	DiskFull          Code = "disk_full"
	GitFailed         Code = "git_failed"
	JJFailed          Code = "jj_failed"
	WorktreeFailed    Code = "worktree_failed"
	SetupFailed       Code = "setup_failed"
	NothingBad        Code = "nothing_bad"
	OnlySkipped       Code = "only_skipped"
	ProbeFailed       Code = "probe_failed"
	VerifyFailed      Code = "verify_failed"
	Usage             Code = "usage"
	UnknownCommand    Code = "unknown_command"
	InvalidRunID      Code = "invalid_run_id"
	InvalidAddress    Code = "invalid_address"
	InvalidInput      Code = "invalid_input"
	InvalidState      Code = "invalid_state"
	InvalidWorkflow   Code = "invalid_workflow"
	InvalidSchedule   Code = "invalid_schedule"
	InvalidExpression Code = "invalid_expression"
	WorkflowChanged   Code = "workflow_changed"
	SchemaConflict    Code = "schema_conflict"
	LimitExceeded     Code = "limit_exceeded"
	RunExists         Code = "run_exists"
	RunNotResumable   Code = "run_not_resumable"
	NoRepository      Code = "no_repository"
	WorkflowNotFound  Code = "workflow_not_found"
	RunNotFound       Code = "run_not_found"
	RunAmbiguous      Code = "run_ambiguous"
	FrameNotFound     Code = "frame_not_found"
	NodeNotFound      Code = "node_not_found"
	AttemptNotFound   Code = "attempt_not_found"
	ScheduleNotFound  Code = "schedule_not_found"
	NoWorkingCopy     Code = "no_working_copy"
	NoCode            Code = "no_code"
	Conflict          Code = "conflict"
	Locked            Code = "locked"
	IndexBusy         Code = "index_busy"
	RestoreRefused    Code = "restore_refused"
	LandRefused       Code = "land_refused"
	Tied              Code = "tied"
	NoBest            Code = "no_best"
	MergeConflict     Code = "merge_conflict"
	UnsavedWork       Code = "unsaved_work"
	EffectsAhead      Code = "effects_ahead"
	SecretsFound      Code = "secrets_found"
	PreciousObjects   Code = "precious_objects"
	SecretMissing     Code = "secret_missing"
	InvalidSecrets    Code = "invalid_secrets"
	CorruptObject     Code = "corrupt_object"
	VaultDamaged      Code = "vault_damaged"
	MissingObject     Code = "missing_object"
	BrokenRef         Code = "broken_ref"
	StrandedLog       Code = "stranded_log"
	NewerFormat       Code = "newer_format"
	OlderFormat       Code = "older_format"
	UnsupportedFormat Code = "unsupported_repository"
	GitTooOld         Code = "git_too_old"
	GitMissing        Code = "git_missing"
	JJTooOld          Code = "jj_too_old"
	JJMissing         Code = "jj_missing"
	ViewMissing       Code = "view_missing"
	Internal          Code = "internal"
	Interrupted       Code = "interrupted"
	Terminated        Code = "terminated"
)

// exits maps every code to its exit status.
var exits = map[Code]int{
	HooksUnheard: ExitFailed,
	RunFailed:    ExitFailed, RunCancelled: ExitCancelled, WriteFailed: ExitFailed, ReadOnly: ExitFailed,
	DiskFull: ExitFailed, GitFailed: ExitFailed, JJFailed: ExitFailed, WorktreeFailed: ExitFailed, SetupFailed: ExitFailed,
	NothingBad: ExitFailed, OnlySkipped: ExitFailed, ProbeFailed: ExitFailed,
	VerifyFailed: ExitCorrupt,
	RunWaiting:   ExitWaiting,
	RunOwned:     ExitConflict, NotPending: ExitConflict, UndoRefused: ExitConflict,
	RunPruned: ExitNotFound, ResultNotFound: ExitNotFound, RemoteNotFound: ExitNotFound, NothingPruned: ExitNotFound,
	RemoteFailed: ExitFailed, PushRefused: ExitConflict, FetchRefused: ExitCorrupt,
	UntrustedFiles: ExitConflict,
	Unconfirmed:    ExitUsage, InvalidBundle: ExitUsage,
	DatabaseNotFound: ExitNotFound, InvalidDatabase: ExitUsage, ImportRefused: ExitUsage, ExportRefused: ExitUsage,
	EngineMissing: ExitFailed, ProgramMissing: ExitFailed, EngineFailed: ExitFailed, ForeignRun: ExitUsage,
	RequestNotFound: ExitNotFound, NothingToUndo: ExitNotFound, InvalidQuery: ExitUsage,
	Usage: ExitUsage, UnknownCommand: ExitUsage, InvalidRunID: ExitUsage, InvalidAddress: ExitUsage,
	InvalidInput: ExitUsage, InvalidState: ExitUsage, InvalidWorkflow: ExitUsage, InvalidSchedule: ExitUsage, InvalidExpression: ExitUsage, WorkflowChanged: ExitUsage,
	SchemaConflict: ExitUsage, LimitExceeded: ExitUsage, RunExists: ExitUsage, RunNotResumable: ExitUsage,
	NoRepository: ExitNotFound, WorkflowNotFound: ExitNotFound, RunNotFound: ExitNotFound,
	RunAmbiguous: ExitNotFound, FrameNotFound: ExitNotFound, NodeNotFound: ExitNotFound,
	AttemptNotFound: ExitNotFound, ScheduleNotFound: ExitNotFound, NoWorkingCopy: ExitNotFound, NoCode: ExitNotFound,
	Conflict: ExitConflict, Locked: ExitConflict, IndexBusy: ExitConflict, RestoreRefused: ExitConflict, LandRefused: ExitConflict, Tied: ExitConflict, NoBest: ExitConflict, MergeConflict: ExitFailed, UnsavedWork: ExitConflict, EffectsAhead: ExitConflict,
	SecretsFound: ExitConflict, PreciousObjects: ExitConflict, SecretMissing: ExitConflict, InvalidSecrets: ExitUsage, VaultDamaged: ExitCorrupt,
	CorruptObject: ExitCorrupt, MissingObject: ExitCorrupt, BrokenRef: ExitCorrupt, StrandedLog: ExitCorrupt,
	NewerFormat: ExitTooNew, OlderFormat: ExitTooNew, UnsupportedFormat: ExitTooNew, GitTooOld: ExitTooNew, GitMissing: ExitTooNew,
	JJTooOld: ExitTooNew, JJMissing: ExitTooNew, ViewMissing: ExitTooNew,
	Internal: ExitBug, Interrupted: ExitInterrupt, Terminated: ExitTerminate,
}

// Error is a failure with a stable code. Msg is one line without a final period. Each hint tells one thing to
// type or do. Details has values for programs. Err is the cause, or nil.
type Error struct {
	Code    Code
	Msg     string
	Hints   []string
	Details map[string]any
	Err     error
}

// New returns an Error with a formatted message. As in fmt.Errorf, the operand of %w becomes the cause. With
// several %w, the Error has no cause.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// Hint adds a formatted hint to e and returns e.
func (e *Error) Hint(format string, args ...any) *Error {
	e.Hints = append(e.Hints, fmt.Sprintf(format, args...))
	return e
}

// Detail sets a detail of e, a value for programs, and returns e.
func (e *Error) Detail(key string, value any) *Error {
	if e.Details == nil {
		e.Details = make(map[string]any)
	}
	e.Details[key] = value
	return e
}

// Error returns the message, without hints.
func (e *Error) Error() string { return e.Msg }

// Unwrap returns the cause, or nil if e has no cause.
func (e *Error) Unwrap() error { return e.Err }

// Exit returns the exit status of the error's code, or ExitBug if the code is unknown.
func (e *Error) Exit() int {
	if exit, ok := exits[e.Code]; ok {
		return exit
	}
	return ExitBug
}

// CodeOf returns the code of the first Error in the chain of err. It returns Internal if the chain has no Error,
// and also if err is nil.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
