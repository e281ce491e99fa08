package term

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Ask asks the person at the terminal a question, and reports whether the answer is yes. The answers y and yes, in
// upper or lower case, mean yes. Any other answer, and the end of the input, mean no.
func (s *Terminal) Ask(question string) (bool, error) {
	s.Talk("%s [y/N] ", question)
	answer, err := bufio.NewReader(s.In).ReadString('\n')
	if errors.Is(err, io.EOF) {
		s.Talk("\n") // the person has typed no line end
		return false, nil
	}
	if err != nil {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
