package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	_ "modernc.org/sqlite"
)

// serveSQL runs statements, under the names that servers of databases give to that tool and its argument.
func serveSQL(driver string) func(context.Context, string) error {
	return func(ctx context.Context, place string) error {
		db, err := sql.Open(driver, place)
		if err != nil {
			return err
		}
		defer db.Close()
		s := mcp.NewServer(&mcp.Implementation{Name: "actors", Version: "1"}, nil)
		for tool, argument := range map[string]string{"execute_sql": "sql", "read_query": "query", "query": "sql"} {
			schema := json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, argument, argument))
			s.AddTool(&mcp.Tool{Name: tool, InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var args map[string]string
				if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
					return nil, err
				}
				text, err := run(ctx, db, args[argument])
				if err != nil {
					text = "error: " + err.Error()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: err != nil}, nil
			})
		}
		return s.Run(ctx, &mcp.StdioTransport{})
	}
}

// run returns the rows of a statement as text.
func run(ctx context.Context, db *sql.DB, statement string) (string, error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return "", err
		}
		for _, v := range values {
			fmt.Fprintf(&b, "%v\t", *v.(*any))
		}
		b.WriteByte('\n')
	}
	return b.String(), rows.Err()
}
