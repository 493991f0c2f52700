package sqlread

import "github.com/weir-mcp/weir/internal/pattern"

// The parts of read-only statements of SQLite.
var (
	// liteWords are keywords that stand before a bracket and call nothing.
	liteWords = pattern.Words(`all and as between by case cast cross distinct else end except exclude exists filter from full group glob having in inner intersect is isnull
		join left like limit match materialized natural not notnull offset on or order outer over partition preceding range recursive
		regexp right rows select then union unbounded using values when where window with collate escape between both returning`)

	// liteFunctions compute. Not on the list are load_extension, readfile, writefile, edit, fts3_tokenizer, and all
	// that nobody listed.
	liteFunctions = pattern.Words(`abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling changes char coalesce concat concat_ws cos cosh count cume_dist date
		datetime degrees dense_rank exp first_value floor format glob group_concat hex if ifnull iif instr json json_array json_array_length json_each
		json_error_position json_extract json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote json_remove
		json_replace json_set json_tree json_type json_valid jsonb jsonb_array jsonb_each jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert
		jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set jsonb_tree julianday lag last_insert_rowid last_value lead length like likelihood likely
		ln log log10 log2 lower ltrim max median min mod nth_value ntile nullif octet_length percent_rank percentile percentile_cont percentile_disc pi
		pow power printf quote radians random randomblob rank replace round row_number rtrim sign sin sinh soundex sqlite_version sqrt
		string_agg strftime substr substring subtype sum tan tanh time timediff total total_changes trim trunc typeof unhex unicode unistr
		unistr_quote unixepoch unlikely upper zeroblob bm25 highlight snippet offsets matchinfo rtreecheck generate_series`)

	// litePragmas tell something and change nothing.
	litePragmas = pattern.Words(`table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check database_list collation_list
		function_list module_list pragma_list compile_options integrity_check quick_check`)

	// liteReaching are tables of SQLite's own shell and of known extensions that reach files, hosts or pages when they
	// are queried, with their arguments in WHERE. They need no bracket.
	liteReaching = pattern.Words(`fsdir fsdir_depth zipfile sqlite_dbpage sqlite_dbdata sqlite_dbptr completion csv vsv lines lines_read fileio fileio_ls fileio_scan lsdir lsdir_recursive readfile writefile edit
		http_get http_post http_do http_get_body http_post_body http_do_body http_get_headers load_extension shell shell_exec system exec`)
)
