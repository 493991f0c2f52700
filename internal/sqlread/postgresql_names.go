package sqlread

import "github.com/weir-mcp/weir/internal/pattern"

// The parts of read-only statements of PostgreSQL.
var (
	pgVerbs = pattern.Words("SELECT WITH VALUES TABLE EXPLAIN SHOW")

	// pgNodes are the kinds of nodes of queries: none writes, locks, runs or changes a setting. Not on the list are
	// IntoClause, LockingClause, the statements that a common table expression may hold beside a query, functions of
	// XML and calls by name.
	pgNodes = pattern.Words(`SelectStmt ExplainStmt VariableShowStmt DefElem ResTarget ColumnRef A_Star String Integer Float Boolean BitString
		A_Const A_Expr
		BoolExpr NullTest BooleanTest SubLink CaseExpr CaseWhen CoalesceExpr MinMaxExpr SQLValueFunction TypeCast TypeName CollateClause A_ArrayExpr
		A_Indirection A_Indices RowExpr FuncCall NamedArgExpr List RangeVar RangeSubselect RangeFunction RangeTableSample JoinExpr Alias SortBy
		WindowDef WithClause CommonTableExpr CTESearchClause CTECycleClause GroupingFunc GroupingSet ParamRef ColumnDef
		JsonObjectConstructor JsonArrayConstructor JsonArrayQueryConstructor JsonObjectAgg JsonArrayAgg JsonAggConstructor JsonKeyValue JsonValueExpr
		JsonFormat JsonReturning JsonOutput JsonIsPredicate`)

	// pgFields are the members of these. Not on the list are intoClause and lockingClause.
	pgFields = pattern.Words(`targetList fromClause whereClause groupClause groupDistinct havingClause windowClause valuesLists sortClause
		limitOffset limitCount
		limitOption withClause op all larg rarg distinctClause query options defname arg defaction defnamespace name val location fields sval ival fval boolval bsval
		isnull kind lexpr rexpr boolop args nulltesttype argisrow booltesttype subLinkType subLinkId testexpr operName subselect defresult expr result
		typmod names typemod typmods arrayBounds elements indirection is_slice lidx uidx row_format funcname agg_order agg_filter
		over agg_within_group agg_star agg_distinct func_variadic funcformat argnumber items catalogname schemaname relname inh relpersistence alias
		lateral subquery ordinality is_rowsfrom functions coldeflist relation method repeatable jointype isNatural usingClause join_using_alias quals
		aliasname colnames node sortby_dir sortby_nulls useOp refname partitionClause orderClause frameOptions startOffset endOffset ctes recursive
		ctename aliascolnames ctematerialized ctequery search_clause cycle_clause search_col_list search_breadth_first search_seq_column
		cycle_col_list cycle_mark_column cycle_mark_value cycle_mark_default cycle_path_column content number colname typeName is_local is_not_null
		collClause collname exprs absent_on_null unique output format returning format_type encoding raw_expr formatted_expr key value
		constructor item_type unique_keys list_end list_start rexpr_list_start rexpr_list_end type`)

	pgOptions = pattern.Words("analyze verbose costs settings generic_plan buffers serialize wal timing summary memory format")

	// pgColumns are columns that built-in functions in FROM return.
	pgColumns = pattern.Words("key value ordinality elem item lexeme positions weights word nentry abbrev")

	// pgOperators are the built-in operators, and those of pgvector and pg_trgm.
	pgOperators = pattern.Words("!! !~ !~* !~~ !~~* # ## #- #> #>> % & && &< &<| &> * + - -> ->> -|- / < <-> << <<= <<| <= <> <@ <^ = > >= >> >>= >^ ? ?# ?& ?- ?-| ?| ?|| " +
		"@ @-@ @> @? @@ @@@ ^ ^@ | |&> |/ |>> || ||/ ~ ~* ~= ~~ ~~* != <=> <#> <+> <% %> <<% %>> <<-> <->> BETWEEN")

	pgTypes = pattern.Words(`bool boolean int2 int4 int8 smallint integer bigint int oid numeric decimal float4 float8 real double text
		varchar bpchar char name
		bytea bit varbit date time timetz timestamp timestamptz interval json jsonb jsonpath uuid xml money inet cidr macaddr macaddr8 point line lseg box path polygon
		circle tsvector tsquery int4range int8range numrange tsrange tstzrange daterange int4multirange int8multirange nummultirange tsmultirange
		tstzmultirange datemultirange regclass regproc regprocedure regtype regrole regnamespace regconfig regoper regoperator regdictionary
		regcollation pg_lsn xid xid8 cid tid record citext hstore ltree lquery ltxtquery vector halfvec sparsevec geometry geography box2d box3d`)

	// pgFunctions only compute, or return metadata of the database. Not on the list are functions that write, lock,
	// wait, signal, read files, open connections, set something, take SQL in a text, or draw from sequences, and all
	// unknown ones.
	pgFunctions = pattern.Words(pgAggregates, pgText, pgNumbers, pgTimes, pgArrays, pgDocuments, pgRanges, pgCatalog, pgExtensions)
)

const (
	pgAggregates = `array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp cume_dist dense_rank every first_value json_agg
		json_object_agg jsonb_agg jsonb_object_agg lag last_value lead max min mode nth_value ntile percent_rank percentile_cont percentile_disc range_agg
		range_intersect_agg rank regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy row_number stddev
		stddev_pop stddev_samp string_agg sum var_pop var_samp variance any_value json_agg_strict jsonb_agg_strict json_object_agg_unique grouping`

	pgText = `ascii bit_length btrim char_length character_length chr concat concat_ws convert convert_from convert_to decode encode format initcap left
		length like_escape lower lpad ltrim md5 normalize is_normalized octet_length overlay parse_ident position quote_ident quote_literal quote_nullable
		regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat
		replace reverse right rpad rtrim sha224 sha256 sha384 sha512 split_part starts_with string_to_array string_to_table strpos substr substring
		similar_escape similar_to_escape to_ascii to_hex to_bin to_oct translate trim unistr upper casefold get_bit get_byte bit_count crc32 text varchar`

	pgNumbers = `abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot cotd degrees div erf erfc exp factorial
		floor gcd gamma lcm lgamma ln log log10 min_scale mod pi pow power radians random random_normal round scale sign sin sind sinh sqrt tan tand
		tanh trim_scale trunc width_bucket to_number to_char num_nonnulls num_nulls int2 int4 int8 float4 float8 numeric gen_random_uuid uuidv4 uuidv7
		uuid_extract_timestamp uuid_extract_version`

	pgTimes = `age clock_timestamp date date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days justify_hours justify_interval
		make_date make_interval make_time make_timestamp make_timestamptz now overlaps statement_timestamp timeofday timezone to_date to_timestamp
		transaction_timestamp timestamp timestamptz time interval`

	pgArrays = `array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions array_prepend
		array_remove array_replace array_reverse array_sample array_shuffle array_sort array_to_string array_upper cardinality generate_series
		generate_subscripts trim_array unnest enum_first enum_last enum_range`

	pgDocuments = `array_to_json json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text
		json_extract_path json_extract_path_text json_object json_object_keys json_populate_record json_populate_recordset json_strip_nulls
		json_to_record json_to_recordset json_typeof jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
		jsonb_build_object jsonb_contains jsonb_each jsonb_each_text jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path
		jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz
		jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz
		jsonb_populate_record jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset
		jsonb_typeof row_to_json to_json to_jsonb array_to_tsvector get_current_ts_config numnode phraseto_tsquery plainto_tsquery querytree setweight
		strip to_tsquery to_tsvector ts_delete ts_filter ts_headline ts_rank ts_rank_cd tsvector_to_array websearch_to_tsquery json_to_tsvector
		jsonb_to_tsvector`

	pgRanges = `daterange int4range int8range numrange tsrange tstzrange isempty lower_inc lower_inf upper_inc upper_inf range_merge multirange abbrev broadcast
		family host hostmask inet_merge inet_same_family masklen netmask network set_masklen area box center circle diagonal diameter height isclosed
		isopen lseg npoints path point polygon radius slope width`

	pgCatalog = `current_catalog current_database current_query current_role current_schema current_schemas current_setting current_user session_user user version
		col_description obj_description shobj_description format_type has_any_column_privilege has_column_privilege has_database_privilege
		has_function_privilege has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege has_tablespace_privilege
		has_type_privilege inet_client_addr inet_client_port inet_server_addr inet_server_port pg_backend_pid pg_blocking_pids pg_client_encoding
		pg_collation_for pg_collation_is_visible pg_column_compression pg_column_size pg_conf_load_time pg_database_size pg_describe_object
		pg_encoding_to_char pg_char_to_encoding pg_function_is_visible pg_get_constraintdef pg_get_expr pg_get_function_arg_default
		pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result pg_get_functiondef pg_get_indexdef pg_get_keywords
		pg_get_partition_constraintdef pg_get_partkeydef pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef pg_get_triggerdef
		pg_get_userbyid pg_get_viewdef pg_has_role pg_identify_object pg_index_column_has_property pg_index_has_property pg_indexam_has_property
		pg_indexes_size pg_is_in_recovery pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible
		pg_options_to_table pg_partition_ancestors pg_partition_root pg_partition_tree pg_postmaster_start_time pg_relation_filenode
		pg_relation_is_publishable pg_relation_size pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_sequence_parameters pg_size_bytes
		pg_size_pretty pg_statistics_obj_is_visible pg_table_is_visible pg_table_size pg_tablespace_location pg_tablespace_size pg_timezone_abbrevs
		pg_timezone_names pg_total_relation_size pg_type_is_visible pg_typeof pg_wal_lsn_diff pg_current_wal_lsn pg_last_wal_receive_lsn
		pg_last_wal_replay_lsn pg_last_xact_replay_timestamp row_security_active to_regclass to_regcollation to_regnamespace to_regoper
		to_regoperator to_regproc to_regprocedure to_regrole to_regtype txid_current_if_assigned pg_current_xact_id_if_assigned aclexplode
		acldefault makeaclitem currval lastval pg_stat_get_numscans pg_stat_get_live_tuples pg_stat_get_dead_tuples pg_stat_get_last_vacuum_time
		pg_stat_get_last_autovacuum_time pg_stat_get_last_analyze_time`

	pgExtensions = `similarity word_similarity strict_word_similarity show_trgm unaccent levenshtein levenshtein_less_equal soundex difference metaphone dmetaphone
		dmetaphone_alt digest hmac akeys avals skeys svals hstore_to_json hstore_to_jsonb nlevel subpath subltree lca uuid_generate_v4
		uuid_generate_v1 cosine_distance l2_distance l1_distance inner_product vector_dims vector_norm l2_normalize time_bucket
		st_area st_asgeojson st_astext st_aswkt st_azimuth st_boundary st_buffer st_centroid st_closestpoint st_collect st_contains st_convexhull
		st_coveredby st_covers st_crosses st_difference st_disjoint st_distance st_distancesphere st_dwithin st_envelope st_equals st_extent
		st_geogfromtext st_geohash st_geomfromgeojson st_geomfromtext st_geometrytype st_intersection st_intersects st_isempty st_isvalid
		st_length st_makeenvelope st_makeline st_makepoint st_npoints st_overlaps st_perimeter st_point st_setsrid st_simplify st_srid st_touches
		st_transform st_union st_within st_x st_xmax st_xmin st_y st_ymax st_ymin`
)
