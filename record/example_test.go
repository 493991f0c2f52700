package record_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weir-mcp/weir/record"
)

func ExampleNewLines() {
	e := record.New(record.Decision, time.Unix(0, 0).UTC())
	e.Server, e.Name, e.Effect = "mail", "send", "block"
	e.ID = "1"
	if err := record.NewLines(os.Stdout).Record(context.Background(), e); err != nil {
		fmt.Println(err)
	}
	// Output: {"v":1,"id":"1","time":"1970-01-01T00:00:00Z","kind":"decision","server":"mail","name":"send","effect":"block"}
}
