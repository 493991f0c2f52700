package servers

import (
	"errors"
	"fmt"
	"strings"
)

// A statement is one parsed statement of the database's language.
type statement struct {
	verb  string // "select", "update" or "delete"
	table string
	set   condition // update only
	where condition // the zero condition means every row
}

// A condition names a column and a value: for set the new one, for where the one to look for.
type condition struct{ column, value string }

// parse reads a statement. The language is what is needed here and no more, and looks like SQL:
//
//	SELECT * FROM table [WHERE column = 'value']
//	UPDATE table SET column = 'value' [WHERE column = 'value']
//	DELETE FROM table [WHERE column = 'value']
//
// Key words are written in either case; a quote inside a value is written twice; a semicolon may end the statement.
func parse(text string) (statement, error) {
	words, err := split(text)
	if err != nil {
		return statement{}, fmt.Errorf("statement %q: %w", text, err)
	}
	p := &parser{words: words}
	st := statement{verb: strings.ToLower(p.next())}
	switch st.verb {
	case "select":
		p.expect("*")
		p.expect("from")
		st.table = p.next()
	case "update":
		st.table = p.next()
		p.expect("set")
		st.set = p.condition()
	case "delete":
		p.expect("from")
		st.table = p.next()
	default:
		return statement{}, fmt.Errorf("statement %q: want SELECT, UPDATE or DELETE", text)
	}
	if !p.done() {
		p.expect("where")
		st.where = p.condition()
	}
	if !p.done() {
		p.fail("unexpected %q", p.next())
	}
	if p.err != nil {
		return statement{}, fmt.Errorf("statement %q: %w", text, p.err)
	}
	return st, nil
}

type parser struct {
	words []string
	err   error // the first thing that was wrong
}

func (p *parser) done() bool { return len(p.words) == 0 }

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *parser) next() string {
	if p.done() {
		p.fail("unexpected end")
		return ""
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

func (p *parser) expect(want string) {
	if word := p.next(); !strings.EqualFold(word, want) {
		p.fail("want %s, not %q", strings.ToUpper(want), word)
	}
}

func (p *parser) condition() condition {
	column := p.next()
	p.expect("=")
	value, ok := strings.CutPrefix(p.next(), "'")
	if !ok {
		p.fail("want a value in single quotes after =")
	}
	return condition{column, value}
}

// split cuts a statement into words, signs and values; a value keeps its opening quote and nothing else of its quoting.
func split(text string) ([]string, error) {
	var words []string
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		switch {
		case text == "":
			return words, nil
		case text[0] == '\'':
			value, rest, err := quoted(text)
			if err != nil {
				return nil, err
			}
			words, text = append(words, "'"+value), rest
		case strings.ContainsRune("*=", rune(text[0])):
			words, text = append(words, text[:1]), text[1:]
		default:
			end := strings.IndexAny(text, " \t\r\n*='")
			if end < 0 {
				end = len(text)
			}
			words, text = append(words, text[:end]), text[end:]
		}
	}
}

// quoted reads a value that begins with a quote and returns the rest of the text.
func quoted(text string) (value, rest string, err error) {
	var b strings.Builder
	for rest = text[1:]; ; {
		end := strings.IndexByte(rest, '\'')
		if end < 0 {
			return "", "", errors.New("a value has no closing quote")
		}
		b.WriteString(rest[:end])
		rest = rest[end+1:]
		if !strings.HasPrefix(rest, "'") {
			return b.String(), rest, nil
		}
		b.WriteByte('\'')
		rest = rest[1:]
	}
}
