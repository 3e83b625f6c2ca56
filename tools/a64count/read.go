package a64count

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// block is a translated block of the program.
type block struct {
	address uint64
	counts  Counts // of one run
}

// interval is how often blocks ran between two marks, by their numbers.
type interval map[int]int64

// read returns the blocks and intervals of the plugin's file.
func read(r io.Reader) ([]block, []interval, error) {
	var blocks []block
	var intervals []interval
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := in.ReadString('\n')
		if err == io.EOF { // a line without an end was being written
			return blocks, intervals, nil
		}
		if err != nil {
			return nil, nil, err
		}
		words := strings.Fields(line)
		switch {
		case len(words) >= 3 && words[0] == "b":
			var b block
			if b, err = parseBlock(words[1:], len(blocks)); err == nil {
				blocks = append(blocks, b)
			}
		case len(words) >= 1 && words[0] == "m":
			var i interval
			if i, err = parseInterval(words[1:], len(blocks)); err == nil {
				intervals = append(intervals, i)
			}
		default:
			err = fmt.Errorf("want a block or a mark, found %.40q", line)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

func parseBlock(words []string, want int) (block, error) {
	var b block
	if words[0] != strconv.Itoa(want) {
		return b, fmt.Errorf("want block %d, found %q", want, words[0])
	}
	var err error
	if b.address, err = strconv.ParseUint(words[1], 16, 64); err != nil {
		return b, err
	}
	for _, word := range words[2:] {
		w, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			return b, err
		}
		b.counts.Add(decode(uint32(w)), 1)
	}
	return b, nil
}

func parseInterval(words []string, blocks int) (interval, error) {
	i := interval{}
	for _, word := range words {
		id, runs, _ := strings.Cut(word, "*")
		n, err := strconv.Atoi(id)
		if err != nil || n < 0 || n >= blocks {
			return nil, fmt.Errorf("want one of %d blocks, found %q", blocks, word)
		}
		if i[n], err = strconv.ParseInt(runs, 10, 64); err != nil {
			return nil, err
		}
	}
	return i, nil
}
