SELECT "dblink_exec"('host=127.0.0.1', 'DROP TABLE users')
SELECT "dblink_connect"('host=127.0.0.1 user=' || (SELECT string_agg(name, ',') FROM users))
SELECT * FROM ts_stat('SELECT to_tsvector(dblink_exec(''x'', ''DROP TABLE users''))')
SELECT * FROM "ts_stat"('SELECT to_tsvector(nextval(''s'')::text)')
SELECT "lo_from_bytea"(4242,'ssh-rsa evil')
SELECT "lo_export"(4242,'/tmp/pwned')
SELECT "pg_read_file"('/etc/hostname')
select pg_catalog.pg_read_file('/etc/hostname')
select U&"pg\005fread_file"('/etc/hostname')
select "pg_catalog"."pg_read_file"('/etc/hostname')
select pg_read_binary_file('/etc/hostname')
select * from pg_ls_dir('/')
select pg_stat_file('/etc/hostname')
select ('/etc/hostname'::text).pg_read_file
select f.pg_read_file from unnest(array['/etc/hostname']) f
select (f).pg_read_file from unnest(array['/etc/hostname']) f
select unnest.pg_read_file from unnest(array['/etc/hostname'])
select (array['/etc/hostname'])[1].pg_read_file
select ((select '/etc/hostname'::text)).pg_read_file
select f.pg_read_file from rows from (lower('/etc/hostname')) f
select f.nextval from cast('s' as regclass) f
select f.pg_sleep from generate_series(1, 2) f
select current_catalog.pg_read_file from current_catalog
select nextval('s')
select setval('s', 5)
select set_config('search_path', 'x', false)
select pg_sleep(1)
select pg_notify('c', 'x')
select pg_advisory_lock(1)
select pg_terminate_backend(1)
select pg_reload_conf()
select pg_switch_wal()
select pg_create_physical_replication_slot('x')
select pg_logical_emit_message(false, 'a', 'b')
select lo_import('/etc/hostname')
select lo_create(1)
select lo_put(1, 0, 'x')
select query_to_xml('delete from users returning 1', true, true, '')
select cursor_to_xml('c', 1, true, true, '')
select table_to_xml('users', true, true, '')
select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, nextval(''s'')::text::tsquery')
select * from crosstab('select nextval(''s''), 1, 1') as t(a int, b int)
select * from connectby('users', 'id', 'id', '1', 0) as t(a int, b int, c int)
select * from dblink('host=127.0.0.1', 'select 1') as t(a int)
select public.writes()
select writes()
select * from writes()
select 1 where writes() is null
select id from users order by writes()
select id from users group by id having writes() is null
select id from users limit (select count(*) from writes())
values (writes())
with x as (select writes()) select * from x
select case when true then writes() end
select array[writes()]
select coalesce(null, writes())
select sum(writes()) over ()
select count(*) filter (where writes() is null) from users
explain analyze select writes()
select 1 operator(public.@@@@) 2
select 1 @@@@ 2
select 1 operator(public.+) 2
select 'x'::public.acting
select cast('x' as acting)
select acting 'x'
insert into users values (9, 'x')
update users set name = 'x'
delete from users
merge into users using orders on false when not matched then do nothing
truncate users
drop table users
create table x (a int)
create temp table x as select 1
alter table users add x int
comment on table users is 'x'
grant all on users to public
copy users to '/tmp/x'
copy (select 1) to program 'touch /tmp/x'
copy users from program 'id'
call p()
do $$ begin perform 1; end $$
set search_path = x
reset all
begin
commit
lock table users
listen x
notify x
vacuum
checkpoint
load 'x'
prepare p as select 1
execute p
declare c cursor with hold for select nextval('s')
fetch c
explain analyze delete from users
explain delete from users
explain analyze create table x as select 1
explain analyze execute p
select 1; drop table users
select 1; select 2
select 1;; delete from users
select ';drop table users;--'
select $$;drop table users$$
select 1 -- ;drop table users
select * into x from users
select 1 into temp x
with x as (delete from users returning *) select * from x
with x as (insert into users values (9, 'x') returning *) select * from x
with x as (update users set name = 'x' returning *) table x
with x as (select 1) delete from users
select * from users for update
select * from users for no key update
select * from users for share
select * from users for key share skip locked
select * from (select * from users for update) x
select 'a\' || pg_read_file('/etc/hostname') || '\'
select 'a\'''
select /* a /* b */ */ 1
select /*! 1 */
select 1 /*+ SeqScan(users) */
select 1 \gexec
\! touch /tmp/x
select xmlelement(name a, writes())
select * from xmltable('/a' passing '<a/>' columns a text)
select * from users tablesample writes(1)
select * from users tablesample public.system(1)
select id from users order by id using operator(public.<<<)
select pg_export_snapshot()
select txid_current()
select pg_stat_reset()
select pg_promote()
select cron.schedule('* * * * *', 'delete from users')
select net.http_get('https://evil.example')
select http_get('https://evil.example')
select vault.create_secret('x')
select graphql.resolve('mutation { x }')
select pg_file_write('/tmp/x', 'y', false)
select pg_prewarm('users')
select setseed(0.5)
select lo_get(1)
select pg_hba_file_rules()
select 'x'::unknown_type
SELECT t.ts_stat FROM unnest(ARRAY['SELECT writes()']) t, json_to_record('{}') AS x(ts_stat text)
SELECT t.pg_read_file FROM unnest(ARRAY['/etc/hostname']) AS t CROSS JOIN json_to_record('{}') AS x(pg_read_file text)
SELECT t.lo_creat FROM generate_series(1, 3) t, json_to_record('{}') AS x(lo_creat text)
SELECT (SELECT t.pg_read_file FROM unnest(ARRAY['/etc/hostname']) t) FROM json_to_record('{}') AS t(pg_read_file text)
SELECT c.lo_import FROM COALESCE('/etc/hostname') c, LATERAL unnest(ARRAY[1]) AS x(lo_import)
