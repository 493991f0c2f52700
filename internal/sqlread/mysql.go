package sqlread

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the parser's values

	"github.com/weir-mcp/weir/internal/pattern"
)

// mySQL parses the text as MySQL does in its usual mode, walks over the tree, and checks the names before brackets a
// second time among the tokens, where quotes of any kind may be those of a name, as in the mode ANSI_QUOTES.
func mySQL(text string) bool {
	// A backslash is a character or not, by the mode NO_BACKSLASH_ESCAPES; two hyphens begin a comment only before a
	// blank.
	if strings.Contains(text, `\`) || !mySafeHyphens(text) || !mySafeQuotes(text) {
		return false
	}
	tokens, ok := liteTokens(text)
	if !ok || len(tokens) == 0 || !calls(tokens, myWords, myFunctions) {
		return false
	}
	statements, warnings, err := parser.New().Parse(text, "", "")
	if err != nil || len(warnings) > 0 || len(statements) != 1 {
		return false
	}
	w := &myWalk{}
	switch s := statements[0].(type) {
	case *ast.SelectStmt, *ast.SetOprStmt, *ast.ShowStmt:
	case *ast.ExplainStmt:
		switch s.Stmt.(type) {
		case *ast.SelectStmt, *ast.SetOprStmt, *ast.ShowStmt: // DESCRIBE is a SHOW inside
		default:
			return false
		}
	default:
		return false
	}
	statements[0].Accept(w)
	return !w.acts
}

// mySafeHyphens reports whether every two hyphens are a comment to every version.
func mySafeHyphens(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "--")
		if !found {
			return true
		}
		if rest != "" && strings.IndexByte(" \t\r\n", rest[0]) < 0 {
			return false
		}
		text = rest
	}
}

// mySafeQuotes reports whether each backtick is one in every character set of a client. In gbk, big5 and sjis it may be
// the second half of a character whose first half ends one of ours.
func mySafeQuotes(text string) bool {
	for i := range len(text) - 1 {
		if text[i] >= 0x80 && text[i+1] == '`' {
			return false
		}
	}
	return true
}

// mySequences are the columns of every sequence in MariaDB's mode ORACLE. The first one advances it.
var mySequences = pattern.Words(`nextval currval`)

// A myWalk is a walk over a tree that looks for anything that is not on the list.
type myWalk struct{ acts bool }

// Enter looks at one node.
func (w *myWalk) Enter(n ast.Node) (ast.Node, bool) {
	w.acts = w.acts || !w.reads(n)
	return n, w.acts
}

// Leave goes on.
func (w *myWalk) Leave(n ast.Node) (ast.Node, bool) { return n, !w.acts }

func (w *myWalk) reads(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectStmt:
		return n.SelectIntoOpt == nil && (n.LockInfo == nil || n.LockInfo.LockType == ast.SelectLockNone) && len(n.TableHints) == 0
	case *ast.ShowStmt:
		return myShows[n.Tp]
	case *ast.VariableExpr:
		return n.Value == nil
	case *ast.ColumnName:
		return !mySequences()[n.Name.L]
	case *ast.FuncCallExpr:
		return n.Schema.L == "" && myFunctions()[n.FnName.L]
	case *ast.AggregateFuncExpr:
		return myFunctions()[strings.ToLower(n.F)]
	case *ast.WindowFuncExpr:
		return myFunctions()[strings.ToLower(n.Name)]
	case *ast.SetOprStmt, *ast.SetOprSelectList, *ast.ExplainStmt, *ast.Join, *ast.TableName, *ast.OnCondition, *ast.TableSource,
		*ast.WildCardField, *ast.SelectField, *ast.FieldList, *ast.TableRefsClause, *ast.ByItem, *ast.GroupByClause, *ast.HavingClause,
		*ast.OrderByClause, *ast.CommonTableExpression, *ast.WithClause, *ast.Limit, *ast.WindowSpec, *ast.PartitionByClause, *ast.FrameClause,
		*ast.FrameBound, *ast.BetweenExpr, *ast.BinaryOperationExpr, *ast.WhenClause, *ast.CaseExpr, *ast.SubqueryExpr, *ast.CompareSubqueryExpr,
		*ast.TableNameExpr, *ast.ColumnNameExpr, *ast.DefaultExpr, *ast.ExistsSubqueryExpr, *ast.PatternInExpr, *ast.IsNullExpr,
		*ast.IsTruthExpr, *ast.PatternLikeOrIlikeExpr, *ast.ParenthesesExpr, *ast.PositionExpr, *ast.PatternRegexpExpr, *ast.RowExpr,
		*ast.UnaryOperationExpr, *ast.MatchAgainst, *ast.SetCollationExpr, *ast.FuncCastExpr, *ast.TrimDirectionExpr, *ast.TimeUnitExpr,
		*ast.GetFormatSelectorExpr, ast.ParamMarkerExpr, ast.ValueExpr:
		return true
	}
	return false
}

// The parts of read-only statements of MySQL.
var (
	myShows = map[ast.ShowStmtType]bool{
		ast.ShowEngines: true, ast.ShowDatabases: true, ast.ShowTables: true, ast.ShowTableStatus: true, ast.ShowColumns: true,
		ast.ShowWarnings: true, ast.ShowErrors: true, ast.ShowCharset: true, ast.ShowCollation: true, ast.ShowVariables: true,
		ast.ShowStatus: true, ast.ShowCreateTable: true, ast.ShowCreateView: true, ast.ShowCreateDatabase: true, ast.ShowGrants: true,
		ast.ShowTriggers: true, ast.ShowProcedureStatus: true, ast.ShowFunctionStatus: true, ast.ShowIndex: true, ast.ShowProcessList: true,
		ast.ShowEvents: true, ast.ShowPlugins: true, ast.ShowPrivileges: true, ast.ShowOpenTables: true,
	}

	// myWords are keywords that stand before a bracket and call nothing.
	myWords = pattern.Words(`all and any as between by case cross distinct distinctrow div else end except exists explain format from full
		group having in inner
		intersect interval is join lateral left like limit materialized mod natural not null of offset on or order outer over partition range recursive
		regexp right rlike rollup row rows select separator some straight_join then union using value values when where window with xor analyze use force ignore
		index key for escape both leading trailing describe desc asc show binary
		char varchar decimal dec numeric float double real signed unsigned integer int date datetime time timestamp year nchar against match table
		true false unknown is sounds collate second minute hour day week month quarter year microsecond`)

	// myFunctions compute. Not on the list are load_file, sleep, benchmark, get_lock and its like, waits for replicas,
	// sequences, last_insert_id with its argument, functions of keys and files, and all that nobody listed.
	myFunctions = pattern.Words(myAggregates, myTexts, myMath, myDates, myOthers)
)

const (
	myAggregates = `avg bit_and bit_or bit_xor count cume_dist dense_rank first_value group_concat json_arrayagg json_objectagg lag last_value lead max min
		nth_value ntile percent_rank rank row_number std stddev stddev_pop stddev_samp sum var_pop var_samp variance any_value grouping
		approx_count_distinct`
	myTexts = `ascii bin bit_count bit_length char char_length character_length charset coercibility collation concat concat_ws elt export_set
		field find_in_set format format_bytes from_base64 hex insert instr lcase left length locate lower lpad ltrim make_set mid oct octet_length ord position
		quote regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rpad rtrim soundex space strcmp substr substring
		substring_index to_base64 trim ucase unhex upper weight_string md5 sha sha1 sha2 crc32 compress uncompress uncompressed_length
		like ilike convert cast binary match`
	myMath = `abs acos asin atan atan2 ceil ceiling conv cos cot degrees exp floor greatest least ln log log10 log2 mod pi pow power radians rand round sign
		sin sqrt tan truncate uuid uuid_short uuid_to_bin bin_to_uuid is_uuid`
	myDates = `adddate addtime convert_tz curdate current_date current_time current_timestamp curtime date date_add date_format date_sub datediff
		day dayname dayofmonth dayofweek dayofyear extract from_days from_unixtime get_format hour last_day localtime localtimestamp makedate maketime
		microsecond minute month monthname now period_add period_diff quarter sec_to_time second str_to_date subdate subtime sysdate time
		time_format time_to_sec timediff timestamp timestampadd timestampdiff to_days to_seconds unix_timestamp utc_date utc_time utc_timestamp
		week weekday weekofyear year yearweek`
	myOthers = `case coalesce if ifnull nullif isnull interval json_array json_array_append json_array_insert json_contains json_contains_path
		json_depth json_extract json_insert json_keys json_length json_merge json_merge_patch json_merge_preserve json_object json_overlaps json_pretty
		json_quote json_remove json_replace json_search json_set json_storage_free json_storage_size json_type json_unquote json_valid json_value
		member memberof inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 is_ipv4_compat is_ipv4_mapped
		connection_id current_role current_user database found_rows row_count schema session_user system_user user version values
		default st_area st_asgeojson st_astext st_buffer st_centroid st_contains st_distance st_distance_sphere st_equals st_geomfromtext
		st_intersects st_length st_srid st_within st_x st_y point linestring polygon`
)
