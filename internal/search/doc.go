// Package search finds words, substrings and regular expressions in the texts of all frames: outputs, logs, prompts, conversations, tool
// calls, events and files.
//
// Its index is a database beside the other index, and as throw-away. It holds words of texts and trigrams of files, and where each text is; the texts
// themselves are read from git objects. A text is indexed once, whatever runs have it. A search first reads the entries that are new since the last
// one. Nothing is ever deleted from the index: if a run is gone, the whole file goes, so that no word of the run stays in a page of it.
package search
