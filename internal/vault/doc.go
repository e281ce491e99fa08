// Package vault keeps the secrets that were taken out of a run's history, in private files of this clone, and gives them back
// to the run's commands. The files are no cache: what is lost here is lost. They are never part of an object, and never pushed.
//
// A run's history has placeholders instead of secrets; see package redact. Which secret belongs where is decided by the vault
// alone: it records the place and the text of each row that it has changed. So no text from outside can ask for a secret.
package vault
