package annotation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// The types of evidence whose records have a meaning here: the schemes beside the draft of trust-annotations
// (modelcontextprotocol/experimental-ext-tool-annotations, schemes).
const (
	FIDES     = "ifc.fides.v1"  // integrity and confidentiality
	DataClass = "data-class.v1" // a level, regulatory scopes and labels of an organisation
)

// Limits on the records that are read of one result.
const (
	maxRecords  = 8
	recordsTime = 2 * time.Second // to get all of them
)

var errScheme = errors.New("its type has no meaning here")

// Records are those of evidence that the operator trusts some places to hold. A record does not know its result, so
// whoever answers a call may refer to any.
type Records interface {
	Holds(e Evidence) bool // the reference is to a trusted place
	Record(ctx context.Context, e Evidence) ([]byte, error)
}

// scheme returns the meaning of records of a type, and the label of one that cannot be read: the most that the type
// can say, without names of regimes. The zero label is that of a type without meaning.
func scheme(kind string) (read func(*object, *reading), unread label.Label) {
	switch kind {
	case FIDES:
		return func(in *object, c *reading) { c.Label = ifcLabel(in) }, label.Label{Untrusted: true, Private: true}
	case DataClass:
		return readDataClass, label.Label{Sensitivity: label.SetOf(label.Regulated, label.Unspecified)}.Normal()
	}
	return nil, label.Label{}
}

// Label returns the meaning of a record. An error says that the record is not the one that is meant ([ErrDigest]) or
// that the scheme has no such record; the label with it is that of the worst record of this type, regulated by no
// named regime.
func (e Evidence) Label(record []byte) (label.Label, error) {
	read, unread := scheme(e.Type)
	if read == nil {
		return unread, errScheme
	}
	if err := e.Check(record); err != nil {
		return unread, err
	}
	var found defects
	var c reading
	in := document(record, &found)
	if in == nil {
		return unread, errors.New("the record is no object")
	}
	read(in, &c)
	if len(found.list) > 0 {
		return unread, fmt.Errorf("the record has a defect: %s %s", found.list[0].Where, found.list[0].Reason)
	}
	c.settle()
	return c.Label.Normal(), nil
}

// readDataClass reads a record of data-class.v1. Its levels are those of the draft; a level above internal is
// sensitive, in a way that only scopes name. Labels of organisations have no meaning that the draft gives.
func readDataClass(in *object, c *reading) {
	const class, labels = "class", "labels"
	levels := []string{public, "internal", "confidential", "restricted"}
	value, _ := in.get(class)
	level, ok := rawjson.String(value)
	switch {
	case !ok:
		in.found.add(class, "is no string")
	case level == levels[0]:
	case level == levels[1]:
		c.Label.Private = true
	case level == levels[2], level == levels[3]:
		c.unnamed = true
	default:
		in.found.add(class, isNotOneOf(level, levels))
	}
	for _, scope := range texts(in, "regulatory") {
		c.Label.Sensitivity = c.Label.Sensitivity.Union(label.SetOf(label.RegulatedBy(scope)))
	}
	c.unnamed = c.unnamed || len(texts(in, labels)) > 0
}

// texts returns the texts of a member that is absent or an array of texts.
func texts(in *object, name string) (all []string) {
	value, ok := in.get(name)
	if !ok {
		return nil
	}
	if rawjson.Kind(value) != '[' {
		in.found.add(name, isNot(value, "an array"))
		return nil
	}
	for raw := range rawjson.Elements(value) {
		s, ok := rawjson.String(raw)
		switch {
		case !ok || s == "" || len(s) > maxScope:
			in.found.add(name, "holds a value that is no short text")
			return nil
		case len(all) == maxElements:
			in.found.add(name, tooMany)
			return nil
		}
		all = append(all, s)
	}
	return all
}

// Vouched returns the join of all records that a claim refers to and that are in trusted places. A record of a known
// type that cannot be had or read there counts as the worst of its type, and is a defect. References that the claim
// leaves out count as the worst of all types.
func (w Words) Vouched(ctx context.Context, c Claim) (l label.Label, found []Defect) {
	if w.Records == nil || len(c.Evidence) == 0 {
		return l, nil
	}
	if c.Beyond {
		for _, kind := range []string{FIDES, DataClass} {
			_, worst := scheme(kind)
			l = label.Join(l, worst)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, recordsTime)
	defer cancel()
	n := 0
	for _, e := range c.Evidence {
		read, one := scheme(e.Type)
		if read == nil || !w.Records.Holds(e) {
			continue
		}
		err := errManyRecords
		if n++; n <= maxRecords {
			var record []byte
			if record, err = w.Records.Record(ctx, e); err == nil {
				one, err = e.Label(record)
			}
		}
		if l = label.Join(l, one); err != nil {
			found = append(found, Defect{Where: evidenceRef, Reason: fmt.Sprintf("of type %s: %v", e.Type, err)})
		}
	}
	return l, found
}

var errManyRecords = fmt.Errorf("more than %d records belong to one result", maxRecords)
