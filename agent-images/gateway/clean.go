// JSON of the agent's, taken only where the protocol would take it: a line it refuses ends the trial.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const maxDepth = 62    // the line around a body is two levels deep itself, and a line may have 64
const maxDigits = 4300 // of one number

// cleaned copies a JSON text in its own order, or says why it cannot be passed on.
func cleaned(data []byte) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var out bytes.Buffer
	if err := copyValue(decoder, &out, 0); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON")
	}
	return out.Bytes(), nil
}

func copyValue(decoder *json.Decoder, out *bytes.Buffer, depth int) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch value := token.(type) {
	case json.Delim:
		if depth >= maxDepth {
			return fmt.Errorf("arrays and objects nested deeper than %d", maxDepth)
		}
		return copyParts(decoder, out, depth, value)
	case json.Number:
		if float, err := strconv.ParseFloat(string(value), 64); err != nil || len(value) > maxDigits {
			return fmt.Errorf("a number that is too large (%v)", float)
		}
		out.WriteString(string(value))
	default:
		text, err := encoded(value)
		out.Write(text)
		return err
	}
	return nil
}

func copyParts(decoder *json.Decoder, out *bytes.Buffer, depth int, open json.Delim) error {
	seen := map[string]bool{}
	out.WriteRune(rune(open))
	for first := true; decoder.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		if open == '{' {
			key, err := decoder.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("the key %.80q stands twice in one object", name)
			}
			seen[name] = true
			text, _ := encoded(name)
			out.Write(append(text, ':'))
		}
		if err := copyValue(decoder, out, depth+1); err != nil {
			return err
		}
	}
	end, err := decoder.Token()
	if err == nil {
		out.WriteString(end.(json.Delim).String())
	}
	return err
}
