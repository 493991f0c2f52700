SELECT 1
select * from users
SELECT id, name FROM users WHERE active ORDER BY name LIMIT 10;
select u.id, o.total from users u join orders o on o.user_id = u.id
select u.* from users u left join orders o on o.user_id = u.id where o.id is null
select comment from orders
select "comment", "update", "delete" from notes
select id from orders where comment = 'delete from users'
select count(*) from users
select count(distinct name), max(id), min(id) from users
select sum(total), avg(total) from orders
select name, count(*) as n from users group by name having count(*) > 1 order by n desc
select date_trunc('month', created_at) as month, sum(total) from orders group by 1 order by 1
select to_char(created_at, 'YYYY-MM-DD') from orders
select string_agg(name, ', ' order by name) from users
select string_agg(name, '; ') from users
select array_agg(id) from users
select * from users where name ilike '%ann%'
select * from users where name like 'a%' and name not like 'b%'
select * from users where name ~* '^a.*z$'
select * from users where name similar to '(a|b)%'
select * from users where id in (1, 2, 3)
select * from users where id = any(array[1,2,3])
select * from users where id = any('{1,2}'::int[])
select * from users where id between 1 and 10
select * from users where exists (select 1 from orders o where o.user_id = users.id)
select * from orders where created_at > now() - interval '7 days'
select * from orders where created_at >= current_date - 30
select extract(year from created_at), extract(epoch from created_at) from orders
select created_at at time zone 'UTC' from orders
select coalesce(name, 'unknown'), nullif(name, '') from users
select case when total > 100 then 'big' else 'small' end from orders
select greatest(1, 2), least(3, 4)
select id::text, cast(id as bigint), total::numeric(10,2) from orders
select 'users'::regclass::oid
select data->>'name', data->'a'->>'b', data#>>'{a,b}' from notes
select * from notes where data @> '{"a": 1}'
select * from notes where data ? 'a'
select jsonb_pretty(data) from notes
select jsonb_array_elements(data->'items') from notes
select k.key, k.value from notes n, jsonb_each(n.data) k
select e->>'id' from notes n cross join lateral jsonb_array_elements(n.data->'items') as e
select json_build_object('id', id, 'name', name) from users
select row_to_json(u) from users u
select jsonb_agg(to_jsonb(u)) from users u
select row_number() over (partition by user_id order by created_at desc) from orders
select sum(total) over w, lag(total) over w from orders window w as (partition by user_id order by id rows between 1 preceding and current row)
select rank() over (order by total desc), ntile(4) over (order by total) from orders
select percentile_cont(0.5) within group (order by total) from orders
select count(*) filter (where total > 10) from orders
with recent as (select * from orders order by id desc limit 5) select * from recent
with a as (select 1 as x), b as materialized (select x + 1 as y from a) select * from a, b
with recursive t(n) as (values (1) union all select n + 1 from t where n < 5) select sum(n) from t
select user_id, sum(total) from orders group by grouping sets ((user_id), ())
select user_id, id, sum(total) from orders group by rollup (user_id, id)
select user_id, sum(total), grouping(user_id) from orders group by cube (user_id)
select distinct on (user_id) user_id, total from orders order by user_id, total desc
select * from users union all select * from users
(select id from users) intersect (select user_id from orders) except (select 3)
values (1, 'a'), (2, 'b')
table users
select * from (values (1, 'a'), (2, 'b')) as t(id, name)
select * from users u, lateral (select count(*) as n from orders o where o.user_id = u.id) c
select g from generate_series(1, 5) g
select g.i from generate_series(1, 5) as g(i)
select u.n, u.ord from unnest(array['a','b']) with ordinality as u(n, ord)
select d::date from generate_series('2026-01-01'::date, '2026-01-05'::date, interval '1 day') d
select x.a from jsonb_to_recordset('[{"a":1}]') as x(a int)
select split_part(name, ' ', 1), upper(name), lower(name), length(name), substring(name from 1 for 2) from users
select trim(both ' ' from name), position('a' in name), overlay(name placing 'x' from 1), replace(name, 'a', 'b') from users
select regexp_replace(name, '\s+', ' ', 'g') from users
select md5(name), encode(sha256(name::bytea), 'hex') from users
select concat(name, ' ', id), name || '-' || id from users
select round(total, 2), floor(total), ceil(total), abs(total), mod(id, 2), id % 2 from orders
select random(), pi(), sqrt(2), power(2, 8), ln(2)
select age(created_at), date_part('dow', created_at) from orders
select make_date(2026, 1, 1), to_date('2026-01-01', 'YYYY-MM-DD'), to_timestamp(0)
select current_user, session_user, current_database(), version()
select current_timestamp, localtime, current_date
select * from information_schema.tables where table_schema = 'public'
select column_name, data_type from information_schema.columns where table_name = 'users'
select relname, n_live_tup from pg_stat_user_tables
select c.relname, pg_size_pretty(pg_total_relation_size(c.oid)) from pg_class c where c.relkind = 'r'
select pg_get_viewdef('v'::regclass)
select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) from pg_attribute a where a.attrelid = 'users'::regclass and not a.attisdropped
select indexname, indexdef from pg_indexes where tablename = 'users'
select conname, pg_get_constraintdef(oid) from pg_constraint
select obj_description('users'::regclass), col_description('users'::regclass, 1)
select pid, state, query from pg_stat_activity
select extname, extversion from pg_extension
select current_setting('server_version'), has_table_privilege('users', 'select')
explain select * from users
explain analyze select * from users
explain (analyze, buffers, format json) select * from users where id = 1
show server_version
show all
show search_path
select * from users -- the rest is a comment
/* all of them */ select * from users
select * from users tablesample system (10)
select * from users where name is not distinct from 'x'
select * from users where (id, name) in (select id, name from users)
select not true, true and false or true
select array[1,2] || array[3], array_length(array[1,2], 1), (array[1,2])[1]
select cardinality(array[1]), array_to_string(array['a'], ','), array_position(array['a'], 'a')
select int4range(1, 5) @> 3, tsrange(now()::timestamp, null)
select to_tsvector('english', name) @@ plainto_tsquery('english', 'ann') from users
select ts_rank(to_tsvector(name), to_tsquery('a')) from users
select bool_and(active), every(active), bit_or(id) from users
select stddev(total), variance(total), corr(total, id) from orders
select first_value(name) over (order by id), nth_value(name, 2) over (order by id) from users
select interval '1 day' * 2, date '2026-01-01' + 1, timestamp '2026-01-01 00:00'
select 1 as "from", 2 as "into"
select "users"."id" from "public"."users"
select u.id from public.users as u where u.name = 'O''Brien'
select e'a\nb', $$dollar quoted$$ from users where false
select b'101', x'1f', 1e5, 0.5, null, true
select * from users order by name collate "C" nulls last
select * from users fetch first 5 rows only
select * from users limit 5 offset 5
select * from only users
select uuid '00000000-0000-0000-0000-000000000000', gen_random_uuid()
select * from v
select count(*) from (select distinct name from users) s
select sum(case when active then 1 else 0 end)::float / count(*) from users
select (select max(total) from orders) as top
select inet '10.0.0.1' << inet '10.0.0.0/8', host(inet '10.0.0.1')
select format('%s is %s', name, id) from users
select string_to_array(name, ' '), unnest(string_to_array(name, ' ')) from users
select width_bucket(total, 0, 100, 5) from orders
select pg_typeof(id), pg_column_size(name) from users
select translate(name, 'a', 'b'), initcap(name), lpad(name, 5, '0'), reverse(name), repeat(name, 2) from users
select * from users natural join orders
select * from users full outer join orders on false
select null::date is null, true is true, false is not true
select row(1, 'a'), (1, 'a')
select tables.table_name from information_schema.tables tables
select oid, rolname from pg_roles
select pg_catalog.lower(name), pg_catalog.count(*) from users group by 1
select total - lag(total, 1, 0::numeric) over (partition by user_id order by created_at) as change from orders
select jsonb_path_query(data, '$.items[*]') from notes
select data - 'a', data || '{"b":1}', jsonb_set(data, '{a}', '2') from notes
select statement_timestamp(), clock_timestamp(), timeofday()
select regexp_matches(name, 'a', 'g'), regexp_split_to_array(name, ',') from users
select u.name as customer, count(o.id) as orders, sum(o.total) as revenue from users u join orders o on o.user_id = u.id where o.created_at >= date '2026-01-01' group by u.name having sum(o.total) > 0 order by revenue desc nulls last limit 20
select justify_interval(interval '40 days'), isfinite(now())
select lower(int4range(1, 5)), upper_inc(int4range(1, 5))
select array(select id from users order by id)
select 1 where not exists (table orders)
select max(id) over () - min(id) over () from users
select json_agg(row_to_json(t)) from (select id, name from users) t
select chr(65), ascii('a'), bit_length('a'), octet_length('a')
select date_bin('15 minutes', created_at, timestamp '2001-01-01') from orders
select coalesce(nullif(trim(name), ''), 'none') as name from users
select mode() within group (order by name) from users
select cume_dist() over (order by total), percent_rank() over (order by total) from orders
select * from pg_tables where schemaname not in ('pg_catalog', 'information_schema')
select setting, unit from pg_settings where name = 'work_mem'
SELECT a.id, b.n FROM json_to_record('{"id": 1}') AS a(id int), unnest(ARRAY[1, 2]) AS b(n)
