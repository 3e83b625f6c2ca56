// Package jsonfile reads JSON that people write and tools exchange: one value, all of whose members are known. What is wrong it says in
// words of JSON, with the line.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Parse reads a text's only value into what to points to; members that the text leaves out stay as they are.
func Parse(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return explain(err, text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: trailing data after the JSON %s", line(text, d.InputOffset()), kind(reflect.TypeOf(to).Elem()).noun)
	}
	return nil
}

// explain says where an error of the decoder is, if that is known, and what was wanted there.
func explain(err error, text []byte) error {
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty; want JSON")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("its JSON is cut off at line %d", line(text, int64(len(text))))
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: malformed JSON: %w", line(text, syntax.Offset), err)
	case errors.As(err, &other):
		what := "it"
		if other.Field != "" {
			what = other.Field
		}
		return fmt.Errorf("line %d: %s is %s; want %s", line(text, other.Offset), what, found(other.Value), kind(other.Type).want)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// line is the number of the line in which so many bytes end.
func line(text []byte, at int64) int {
	return 1 + bytes.Count(text[:min(max(at-1, 0), int64(len(text)))], []byte("\n"))
}

// found is a JSON value as the decoder names it, with its article.
func found(value string) string {
	switch name, number, _ := strings.Cut(value, " "); name {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	case "number":
		return strings.TrimSpace("the number " + number)
	default:
		return "a " + name
	}
}

// described is what a Go type is in JSON.
type described struct{ noun, want string }

func kind(t reflect.Type) described {
	switch t.Kind() {
	case reflect.Pointer:
		return kind(t.Elem())
	case reflect.Bool:
		return described{"value", "true or false"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return described{"value", fmt.Sprintf("an integer of %d bits", t.Bits())}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return described{"value", fmt.Sprintf("an unsigned integer of %d bits", t.Bits())}
	case reflect.Float32, reflect.Float64:
		return described{"value", "a number"}
	case reflect.String:
		return described{"value", "a string"}
	case reflect.Slice, reflect.Array:
		return described{"list", "a list"}
	}
	return described{"object", "an object"}
}
