package sqlread_test

import (
	"testing"

	"github.com/weir-mcp/weir/internal/sqlread"
)

// TestNoSecrets tries statements by which credentials are told, however they are written, and others.
func TestNoSecrets(t *testing.T) {
	var r sqlread.Reader
	for _, c := range []struct {
		dialect, text string
		holds         bool // no credentials
	}{
		{"postgresql", `SELECT * FROM pg_authid`, false},
		{"postgresql", `TABLE "pg_authid"`, false},
		{"postgresql", `select rolname from PG_CATALOG.PG_SHADOW`, false},
		{"postgresql", `SELECT * FROM U&"pg\005fauthid"`, false},
		{"postgresql", `SELECT umoptions FROM x`, false},
		{"postgresql", `SELECT * FROM pg_options_to_table((SELECT o FROM x))`, false},
		{"postgresql", `SELECT * FROM information_schema._pg_user_mappings`, false},
		{"postgresql", `SELECT * FROM information_schema . "user_mapping_options"`, false},
		{"postgresql", `SELECT * FROM auth.users`, false},
		{"postgresql", `SHOW ALL`, false},
		{"postgresql", `show primary_conninfo`, false},
		{"postgresql", `SELECT current_setting('primary_' || 'conn' || 'info')`, false},
		{"postgresql", `SELECT subconninfo FROM pg_subscription`, false},
		{"postgresql", `SELECT api_key FROM accounts`, false},
		{"postgresql", `SELECT row_to_json(u)->>'passwordHash' FROM users u`, false},
		{"postgresql", `SELECT query FROM pg_stat_activity`, false},
		{"postgresql", `SELECT mine()`, false},
		{"postgresql", `SELECT 1; TABLE pg_authid`, false},
		{"postgresql", `INSERT INTO a SELECT 1 RETURNING *`, false},
		{"postgresql", `CALL tell()`, false},
		{"postgresql", `EXPLAIN ANALYZE SELECT mine()`, false},
		{"mysql", `SELECT * FROM mysql.user`, false},
		{"mysql", "SELECT * FROM `mysql`.`user`", false},
		{"mysql", `SHOW GRANTS FOR root`, false},
		{"mysql", `SELECT sql_text FROM performance_schema.events_statements_history`, false},
		{"sqlite", `SELECT password FROM users`, false},
		{"sqlite", `SELECT [access_token] FROM users`, false},
		{"other", `SELECT 1`, false},
		{"postgresql", `SELECT id, name FROM customers WHERE name ~ '^A\d+' ORDER BY 1`, true},
		{"postgresql", `SELECT count(*) FROM orders o JOIN users u ON u.id = o.user_id`, true},
		{"postgresql", `SHOW search_path`, true},
		{"postgresql", `SELECT table_name FROM information_schema.tables`, true},
		{"postgresql", `INSERT INTO orders (id) VALUES (1)`, true},
		{"postgresql", "-- a note\nUPDATE orders SET state = 'paid' WHERE id = 4", true},
		{"mysql", `SHOW TABLES`, true},
		{"mysql", `DESCRIBE orders`, true},
		{"mysql", `DELETE FROM orders WHERE id = 1`, true},
		{"sqlite", `SELECT tokens, model FROM usage`, true},
		{"sqlite", `PRAGMA table_info(orders)`, true},
	} {
		if got := r.NoSecrets(c.text, c.dialect); got != c.holds {
			t.Errorf("%s %q: %v", c.dialect, c.text, got)
		}
	}
}
