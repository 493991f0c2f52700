package sqlread

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// NoSecrets reports whether the result of a statement holds no credentials, judged by its words: it only reads, and no
// word in it, be it a name or a part of a text, is that of a table, a view, a column, a setting or a function of the
// system by which passwords are told, or speaks of secrets; or it returns no rows. Of a table of the user's own whose
// columns it does not name, nothing is known.
func (r *Reader) NoSecrets(text, dialect string) bool {
	if !slices.Contains(Dialects(), dialect) || !sameForAll(text) {
		return false
	}
	lower := strings.ToLower(text)
	if strings.Contains(lower, "u&") { // names in escapes
		return false
	}
	words := strings.FieldsFunc(lower, func(c rune) bool { return c < 0x80 && !wordByte(byte(c)) })
	all := len(words) > 1 && words[0] == "show" && words[1] == "all"
	if all || slices.ContainsFunc(words, tellsSecrets) {
		return false
	}
	silent := len(words) > 0 && silentVerbs()[strings.ToLower(firstWord(text))] && !slices.Contains(words, "returning")
	return silent || r.ReadOnly(text, dialect)
}

func tellsSecrets(word string) bool {
	return secretNames()[word] || slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(word, part) })
}

var (
	// silentVerbs begin statements that return no rows.
	silentVerbs = pattern.Words("insert update delete create alter drop truncate grant revoke comment vacuum begin commit rollback")

	// secretNames are names in the catalogues of PostgreSQL and MySQL, and of common extensions, under which passwords,
	// keys, connections or statements of others stand.
	secretNames = pattern.Words(`umoptions srvoptions pg_options_to_table pg_subscription pg_stat_subscription pg_stat_wal_receiver pg_settings pg_file_settings pg_hba_file_rules pg_db_role_setting
		pg_show_all_settings current_setting pg_stat_activity pg_stat_statements pg_prepared_statements pg_largeobject pg_stats pg_statistic pg_stat_get_activity
		auth http_request_queue _http_response
		mysql authentication_string performance_schema processlist grants user_attributes slave_master_info replication_connection_configuration`)

	// secretParts are parts of such names, and of those of columns and tables in which people keep credentials.
	secretParts = []string{"pg_authid", "pg_shadow", "user_mapping", "foreign_server", "secret", "password", "passwd", "passphrase", "passwort", "credential", "apikey", "api_key", "access_key", "accesskey", "private_key",
		"privatekey", "signing_key", "encryption_key", "access_token", "accesstoken", "refresh_token", "refreshtoken", "auth_token", "authtoken", "api_token",
		"apitoken", "session_token", "reset_token", "bearer", "conninfo", "totp"}
)
