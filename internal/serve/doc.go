// Package serve answers calls of programs that keep threads, over a stream: the protocol of docs/serve.md.
package serve
